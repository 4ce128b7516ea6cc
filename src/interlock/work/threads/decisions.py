"""What people decide about a thread, whatever face they use: which move a verb means, and how the loop is to run.

A decision is written and drives nothing; whoever made it says whether a driver is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from interlock.errors import UsageError
from interlock.machine import Machine, load_shipped
from interlock.machine.states import target_of
from interlock.work.driver.context import DriverContext
from interlock.work.gates.presence import Person
from interlock.work.settings.values import isolation_of
from interlock.work.threads.driver_step import default_config
from interlock.work.threads.reading import MACHINE, read_thread
from interlock.work.threads.record import Config, Thread
from interlock.work.threads.verbs import act, configure

__all__ = [
    "begin_polishing",
    "begin_review",
    "changed",
    "choose_configuration",
    "event_of",
    "looks_first",
    "starts_agents",
    "wants_driver",
]

_WITHOUT_AGENTS: Final = frozenset({"abandon", "approve", "commit", "reopen", "withdraw"})
_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {"start": ("run", "retry"), "run": ("start",)}
"""The events that a verb stands for; the others are named like their events."""
_WORDS: Final = ("driver", "selection", "isolation", "judge")
_NUMBERS: Final = ("iterations", "budget_minutes", "budget_usd", "budget_tokens")
_LONGEST: Final = 12
"""Digits of the largest number."""


def starts_agents(verb: str) -> bool:
    """Whether an agent may be started after a verb, so that the settings must be accepted first."""
    return verb not in _WITHOUT_AGENTS


def event_of(verb: str, thread: Thread) -> str:
    """The machine's event that a verb means in a thread's state; empty where it is only driven on."""
    machine, events = load_shipped(MACHINE), _EVENTS.get(verb, (verb,))
    possible = [one for one in events if target_of(machine, thread.state, one) is not None]
    return "" if not possible and _continues(machine, verb, thread.state) else next(iter(possible), events[0])


def _continues(machine: Machine, verb: str, state: str) -> bool:
    """True where a verb decides nothing: only the driver is gone, and the thread is driven again."""
    known = machine.states[state]
    has_begun = known.tree is not None
    match verb:
        case "resume":
            return known.driven
        case "run":
            return known.driven or known.terminal or has_begun
        case "start":
            return known.driven and (has_begun or _follows(machine, "run", state))
        case "assess":
            return known.driven and _follows(machine, verb, state)
    return False


def _follows(machine: Machine, event: str, state: str) -> bool:
    """True if a state is entered by an event."""
    return any(row.on == event and row.to == state for row in machine.transitions)


def changed(known: Config, given: Mapping[str, str | int | None]) -> Config:
    """How a loop is to run after somebody chose some of it; what is empty stays as it was."""
    words = {name: str(given[name]).strip() for name in _WORDS if str(given.get(name) or "").strip()}
    if "isolation" in words:
        words["isolation"] = isolation_of(words["isolation"])
    numbers = {name: _number(name, given[name]) for name in _NUMBERS if str(_said(given.get(name))).strip()}
    agents = tuple(one.strip() for one in str(given.get("agents") or "").split(",") if one.strip())
    return replace(known, **words, **numbers, **({"agents": agents} if agents else {}))


def _said(value: str | int | None) -> str | int:
    return "" if value is None else value


def _number(name: str, value: str | int | None) -> int:
    text = str(value).strip()
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST):
        raise UsageError("invalid_argument", f"{name} is {text[:20]!r}, and must be a number from 0 on.", "Mend it.")
    return int(text)


def choose_configuration(
    context: DriverContext,
    id_: str,
    person: Person,
    given: Mapping[str, str | int | None],
    mode: str | None,
) -> bool:
    """Choose how the loop runs; from Stuck and Paused the thread goes back to Configuring. True if it moved."""
    thread = read_thread(context.journal, id_)
    config = changed(thread.config or default_config(context.settings), given)
    is_resting = target_of(load_shipped(MACHINE), thread.state, "reconfigure") is not None
    if is_resting and "quick" in (thread.mode, mode):  # quick mode starts at once, so it must know before
        configure(context, id_, person, config, mode)
    if is_resting:
        act(context, id_, person, "reconfigure")
    configure(context, id_, person, config, mode)
    return is_resting


def begin_polishing(context: DriverContext, id_: str, person: Person) -> None:
    """Open a thread for docs and tests, unless it is open for them already."""
    if read_thread(context.journal, id_).state != "Polishing":
        act(context, id_, person, "polish")


def begin_review(context: DriverContext, id_: str, person: Person) -> None:
    """Take a thread whose implementation is done to its review; elsewhere, change nothing."""
    if read_thread(context.journal, id_).state == "Implemented":
        act(context, id_, person, "ready")


def wants_driver(event: str, thread: Thread) -> bool:
    """True if a thread may continue by itself after a move of a person."""
    return event != "abandon" and thread.outcome is None


def looks_first(event: str) -> bool:
    """True if the work tree must be looked at before a person is asked, because the move is about its files."""
    return event in ("approve", "commit")
