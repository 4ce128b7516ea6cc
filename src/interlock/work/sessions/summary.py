"""PURE. A session in a line, and its time in each state: what every face shows of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from interlock.machine import Machine
    from interlock.work.sessions.record import SessionRecord

__all__ = ["SessionSummary", "Share", "shares_of", "summary_of"]

_MOST_SHARES = 200
_STEP_SECONDS = 10.0
_LEAST_OPEN = 0.06
"""How much of the bar the state has that a session is in: it is there, however short."""


class SessionSummary(msgspec.Struct, frozen=True):
    """A session in a line."""

    id: str
    state: str
    outcome: str | None
    agent: str
    role: str
    parent: str | None
    ticket: str | None
    """What the ticket was called when it began."""
    started: str
    updated: str
    since: str
    """When it came to the state that it is in."""
    completed: str | None
    error: str
    doing: str
    """What runs now, or was heard last."""
    findings: int
    off_path: int
    """How many of its moves are off the path."""
    quiet: float
    """For how many seconds nothing was heard."""
    usual: int | None
    """How many seconds its state takes at the most, where that is known."""

    @property
    def is_silent(self) -> bool:
        """Whether nothing was heard for longer than the state usually takes."""
        return self.usual is not None and self.quiet > self.usual


class Share(msgspec.Struct, frozen=True):
    """A part of a session's time."""

    state: str
    start: float
    """Where it begins, as a part of 1."""
    part: float
    seconds: float
    is_open: bool = False
    """Whether it goes on."""
    off_path: bool = False


def summary_of(record: SessionRecord, machine: Machine, now: float) -> SessionSummary:
    """A session as its record tells it now."""
    state = machine.states.get(record.state)
    usual = state.typical_seconds[-1] if state is not None and state.typical_seconds else None
    return SessionSummary(
        id=record.id,
        state=record.state,
        outcome=record.outcome,
        agent=record.agent or "",
        role=record.role or "",
        parent=record.parent,
        ticket=None if record.ticket_id is None else str(record.ticket_id),
        started=record.started,
        updated=record.updated,
        since=record.stays[-1].since if record.stays else record.started,
        completed=record.completed,
        error=str(record.error or ""),
        doing=_doing(record),
        findings=len(record.findings),
        off_path=sum(stay.off_path for stay in record.stays),
        quiet=record.quiet(now),
        usual=usual,
    )


def _doing(record: SessionRecord) -> str:
    running = [*record.running.values()]
    heard = running[-1] if running else record.last
    return heard.message if heard is not None and heard.type != "state_change" else ""


def shares_of(record: SessionRecord, now: float) -> list[Share]:
    """The time in each state, one after the other, as parts of a whole; of very many, in sum.

    A state that goes on is told in whole steps of some seconds, so that who looks at about the same time sees the same.
    """
    if not record.stays:
        return []
    now = now // _STEP_SECONDS * _STEP_SECONDS
    known = record.durations(now)
    if len(known) > _MOST_SHARES:
        spans = [(state, seconds, False, False) for state, seconds in record.totals(now).items()]
    else:
        is_open = record.outcome is None
        last = len(known) - 1
        shown = known if is_open else known[:-1]  # a state that ends the session takes no time
        spans = [
            (stay.state, seconds, is_open and place == last, stay.off_path)
            for place, (stay, seconds) in enumerate(shown)
        ]
    return _placed(spans)


def _placed(spans: list[tuple[str, float, bool, bool]]) -> list[Share]:
    whole = sum(seconds for _, seconds, _, _ in spans)
    weights = [seconds / whole if whole else 1 / len(spans) for _, seconds, _, _ in spans]
    weights = [
        max(weight, _LEAST_OPEN) if is_open else weight
        for weight, (_, _, is_open, _) in zip(weights, spans, strict=True)
    ]
    found: list[Share] = []
    start, total = 0.0, sum(weights)
    for weight, (state, seconds, is_open, off_path) in zip(weights, spans, strict=True):
        part = weight / total
        found.append(Share(state, start, part, seconds, is_open, off_path))
        start += part
    return found
