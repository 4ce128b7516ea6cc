"""PURE. The pipeline: its order, where a group of tickets stands in it, and whether a group has come together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from interlock.errors import UsageError

if TYPE_CHECKING:
    from interlock.machine import Machine
    from interlock.work.tickets.ticket_table import TicketRow

__all__ = [
    "STUCK_HOURS",
    "AwaitedTicket",
    "Convergence",
    "Position",
    "convergence",
    "distance",
    "escalated",
    "is_earlier",
    "order",
    "position",
]

STUCK_HOURS = 48
"""The time after which a ticket that nobody moved is stuck."""
_LARGE = 3
"""The smallest estimate that is split before it is worked on: M."""
_PHASES = {
    "SPLIT": ["split", "triage", "research", "plan", "review", "implement", "pr"],
    "TRIAGE": ["triage", "research", "plan", "review", "implement", "pr"],
    "RESEARCH": ["research", "plan", "review", "implement", "pr"],
    "PLAN": ["plan", "review", "implement", "pr"],
    "REVIEW": ["review", "implement", "pr"],
    "HUMAN_GATE": ["human approval", "implement", "pr"],
    "IMPLEMENT": ["implement", "pr"],
    "COMPLETE": ["pr"],
    "TERMINAL": [],
}


class AwaitedTicket(msgspec.Struct, frozen=True, rename="camel"):
    """A ticket that a group waits for."""

    number: int
    title: str
    current_state: str
    distance_to_target: int


class Convergence(msgspec.Struct, frozen=True, rename="camel"):
    """Whether all tickets of a group have reached a state."""

    converged: bool
    target_state: str
    total: int
    ready: int
    blocking: list[AwaitedTicket]
    recommendation: str
    """`proceed`, `wait` or `escalate`."""


class Position(msgspec.Struct, frozen=True, rename="camel"):
    """Where a group stands in the pipeline, and what is left of it."""

    phase: str
    reason: str
    remaining_phases: list[str]
    tickets: list[int]
    converged: bool


def order(machine: Machine) -> list[str]:
    """The states that work passes through, in their order; those that it leaves the way by are none of them."""
    aside = {escalated(machine)}
    return [
        name
        for name, state in machine.states.items()
        if name not in aside and not (state.terminal and state.outcome != "success")
    ]


def escalated(machine: Machine) -> str | None:
    """The state in which a ticket waits for a person's help."""
    meaning = machine.form.intents.get("escalate")
    return meaning.commands.get("*") if meaning else None


def distance(machine: Machine, state: str, target: str) -> int:
    """How many states lie between; -1 where one of them is not on the way."""
    states = order(machine)
    return states.index(target) - states.index(state) if state in states and target in states else -1


def is_earlier(machine: Machine, state: str, target: str) -> bool:
    """Whether a state comes before another one on the way."""
    states = order(machine)
    return state in states and target in states and states.index(state) < states.index(target)


def convergence(machine: Machine, group: Sequence[TicketRow], target: str) -> Convergence:
    """Whether a group has reached a state: each of its tickets is there, or beyond it on the way."""
    if target not in machine.states:
        hint = f"One of: {', '.join(machine.states)}."
        raise UsageError("invalid_argument", f"There is no state {target[:80]!r}.", hint)
    states = order(machine)
    beyond = set(states[states.index(target) :]) if target in states else {target}
    late = [line for line in group if line.state not in beyond and line.outcome is None]
    waiting = [
        AwaitedTicket(line.number, line.title, line.state, distance(machine, line.state, target)) for line in late
    ]
    stuck = any(line.state == escalated(machine) for line in late)
    advice = "proceed" if not late else "escalate" if stuck else "wait"
    return Convergence(not late, target, len(group), len(group) - len(late), waiting, advice)


def position(group: Sequence[TicketRow]) -> Position:
    """The phase that a group is in: the first of the source system's rules that holds."""
    phase, reason, converged = next(
        (phase, reason, converged) for holds, phase, reason, converged in _RULES if holds(group)
    )
    return Position(phase, reason, _PHASES[phase], [line.number for line in group], converged)


def _any(*states: str) -> Callable[[Sequence[TicketRow]], bool]:
    return lambda group: any(line.state in states for line in group)


def _all(*states: str) -> Callable[[Sequence[TicketRow]], bool]:
    return lambda group: all(line.state in states for line in group)


def _large(group: Sequence[TicketRow]) -> bool:
    """Whether there is one to be split: large, still open, and not split already."""
    return any(line.size >= _LARGE and line.outcome is None and not line.parts for line in group)


_ENDED = ("In Review", "Done", "Canceled")
_RULES: tuple[tuple[Callable[[Sequence[TicketRow]], bool], str, str, bool], ...] = (
    (_large, "SPLIT", "a ticket of size M or larger is split first", False),
    (_any("Research Needed", "Research in Progress"), "RESEARCH", "research is not finished for all", False),
    (_all("Ready for Plan"), "PLAN", "all are ready for a plan", True),
    (_any("Plan in Progress"), "REVIEW", "a plan is being written", False),
    (_all("Plan in Review"), "HUMAN_GATE", "all plans wait for a person's approval", True),
    (_any("Plan in Review"), "REVIEW", "some plans wait for their review", False),
    (_any("In Progress"), "IMPLEMENT", "implementation is underway", True),
    (_all(*_ENDED), "TERMINAL", "all are in review or have ended", True),
    (_any("Human Needed"), "TERMINAL", "a ticket needs a person", False),
    (_any("Backlog"), "TRIAGE", "a ticket waits for triage", False),
    (_any("Ready for Plan"), "PLAN", "some are ready for a plan and others are not", False),
    (lambda group: True, "TRIAGE", "no other phase fits", False),
)
