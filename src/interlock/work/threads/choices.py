"""PURE. What a person can do about a thread, in each of its states: what each choice does, and what it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final

import msgspec

from interlock.machine import ActorKind, Machine
from interlock.machine.form import NextCommand
from interlock.machine.states import shipped_state, target_of

__all__ = ["GATE_EVENTS", "Choice", "PersonNeed", "choices", "need_of", "next_command", "next_commands", "resets_files"]

_NEXT_IF_DRIVEN: Final = NextCommand("ralph thread pause {id}", "pause the loop")
_TERMINAL: Final = frozenset({"reject", "revise", "reconfigure", "resume", "withdraw"})
_CHECKPOINTS: Final = frozenset({("Stuck", "abandon")})
"""The moves that need a person at a terminal in one state only."""
GATE_EVENTS: Final = frozenset({"finalize", "assist", "approve", "commit"})
"""The events that are a gate wherever they are possible: an agent is refused before anything else."""
_RESET: Final = "reset_workspace"
_WORDS: Final = {
    "finalize": ("Finalize", "approve the spec as it is; it does not change from then on"),
    "assess": ("Assess", "let an agent review the spec"),
    "run": ("Start", "check the prerequisites, and record where the work begins"),
    "retry": ("Check again", "once it is mended"),
    "start": ("Run", "start the loop"),
    "pause": ("Pause", "let the loop rest; nothing is lost"),
    "resume": ("Resume", "go on from here"),
    "assist": ("Manual assist", "go on after you edited files yourself"),
    "ready": ("Ready for review", "look at the changes, then decide"),
    "polish": ("Polish", "add docs or tests first"),
    "polished": ("Polish is done", "what changed is proven again"),
    "approve": ("Approve", "the changes are right"),
    "prepare": ("Prepare the commit", "write its message"),
    "commit": ("Commit", "make the commit on the thread's branch"),
    "reject": ("Reject", "send it back to be mended"),
    "reverify": ("Verify again", "prove the files as they are now"),
    "withdraw": ("Withdraw", "take the approval back"),
    "reconfigure": ("Reconfigure", "choose other agents, iterations or budgets; changes are kept"),
    "reopen": ("Reopen", "open the spec again"),
    "revise": ("Revise spec", "the spec was wrong: back to Drafting"),
    "abandon": ("Abandon", "end it; no file is touched"),
}
"""What each event is called on a button, and what it does; what leads on comes first."""
_RESETS: Final = "the spec was wrong: the files go back to the baseline, and what is there now is kept first"
_REASONS: Final = {"reject": "What is wrong", "assist": "What you did", "abandon": "Why", "revise": "Why"}
_PAUSE: Final = "pause"


class PersonNeed(IntEnum):
    """The presence of a person that a move needs."""

    PERSON = 1
    TERMINAL = 2
    GATE = 3


class Choice(msgspec.Struct, frozen=True):
    """One thing that a person can do."""

    event: str
    """Empty where it only shows something."""
    label: str
    does: str
    """In the seed's words, where they are in its menu."""
    need: PersonNeed = PersonNeed.PERSON
    leads_to: str = ""
    key: str = ""
    """The letter of the seed's menu."""
    more: str = ""
    """What it does, where the seed's words are short."""
    reason: str = ""
    """What a person is asked to say with it; empty where nothing is."""
    must_say: bool = False

    @property
    def needs(self) -> str:
        """What it takes, in words; empty where it takes nothing but a person."""
        words = {PersonNeed.GATE: "a gate: you are shown exactly what you approve, with its hash, and asked for a code"}
        return words.get(self.need, "your word at a terminal or here" if self.need is PersonNeed.TERMINAL else "")


def choices(machine: Machine, state: str) -> list[Choice]:
    """What a person can do in a state: the seed's menu where it has one, else every edge that is a person's."""
    menu = machine.states[state].menu
    if menu:
        found = [_choice(machine, state, one.on, one.label, one.does, one.key) for one in menu]
        return [one for one in found if one is not None]
    return [one for event in _events(machine, state) if (one := _choice(machine, state, event)) is not None]


def _events(machine: Machine, state: str) -> Iterator[str]:
    """A person's events in the order of the words above."""
    yield from (event for event in _WORDS if _leads_to(machine, state, event) is not None)


def _leads_to(machine: Machine, state: str, event: str) -> str | None:
    """Where a person's event leads; a pause is all the events that pause a state."""
    to: str | None = state
    parts = shipped_state(machine.name, state).pause if event == _PAUSE else ()
    for name in parts or (event,):
        to = target_of(machine, to, name) if to is not None else None
    return to


def _choice(
    machine: Machine, state: str, event: str | None, label: str = "", does: str = "", key: str = ""
) -> Choice | None:
    if event is None:
        return Choice("", label, does, key=key)
    words = _WORDS.get(event)
    if words is None:
        return None
    if resets_files(machine, state, event):
        words = (words[0], _RESETS)
    return Choice(
        event=event,
        label=label or words[0],
        does=does or words[1],
        more=words[1] if does else "",
        need=need_of(machine, state, event),
        leads_to=_leads_to(machine, state, event) or "",
        key=key,
        reason=_REASONS.get(event, ""),
        must_say=event == "reject",
    )


def need_of(machine: Machine, state: str, event: str) -> PersonNeed:
    """Return what an event needs in a state, by the machine's gates and the list of events that need a terminal."""
    rules = machine.rules.get((state, event, ActorKind.HUMAN), ())
    if event in GATE_EVENTS or any(rule.transition is not None and rule.transition.gate for rule in rules):
        return PersonNeed.GATE
    return PersonNeed.TERMINAL if event in _TERMINAL or (state, event) in _CHECKPOINTS else PersonNeed.PERSON


def resets_files(machine: Machine, state: str, event: str) -> bool:
    """True if a person's move puts the files back to where the thread began."""
    rules = machine.rules.get((state, event, ActorKind.HUMAN), ())
    return any(rule.transition is not None and _RESET in rule.transition.effects for rule in rules)


def next_commands(state: str, *, is_driven: bool = False) -> Sequence[NextCommand]:
    """What a person can run for a thread, the likeliest first; `{id}` is the thread. None once it has ended."""
    known = shipped_state("thread", state)
    return [_NEXT_IF_DRIVEN] if is_driven and known.pause else known.next


def next_command(state: str, thread: str) -> str:
    """What to type for a thread that nobody drives."""
    found = [one.command for one in next_commands(state)] or ["ralph thread show {id}"]
    return found[0].replace("{id}", thread[-6:])
