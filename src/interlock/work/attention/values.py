"""PURE. What is told to people who ask how things stand."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from interlock.work.inspection.references import Reference
from interlock.work.sessions.summary import SessionSummary

__all__ = ["Attention", "Spending", "StuckItem", "WaitKind", "WaitingFor", "WaitingItem", "WorkingItem", "counted"]


class WaitKind(StrEnum):
    """What an instance waits for."""

    PERSON = "person"
    """A decision or an action of a person."""
    DRIVER = "driver"
    """Nobody works on it; whoever runs the command continues it."""
    WORK = "work"
    """Somebody works on it."""
    OTHERS = "others"
    """Something else ends first: other tickets, or a limit of an agent."""
    NOTHING = "nothing"
    """It has ended, or never does."""


class WaitingFor(msgspec.Struct, frozen=True):
    """What an instance waits for, and what to run next."""

    kind: WaitKind
    why: str
    since: str | None
    command: str = ""
    """The exact command that comes next; empty if there is none to run."""

    @property
    def is_persons(self) -> bool:
        """True if only a person can continue it."""
        return self.kind is WaitKind.PERSON

    @property
    def is_listed(self) -> bool:
        """True if people are told of it: it does not continue by itself, or a part of it does not."""
        return self.kind in (WaitKind.PERSON, WaitKind.DRIVER) or (self.kind is WaitKind.WORK and bool(self.command))


class WaitingItem(msgspec.Struct, frozen=True):
    """Something that goes no further without a person."""

    of: Reference | None
    """What waits; None where it is the repository's settings."""
    state: str
    why: str
    since: str | None
    command: str
    """What to type."""
    is_gate: bool = True
    """Whether it waits for a person; else anybody may continue it."""


class WorkingItem(msgspec.Struct, frozen=True):
    """Somebody at work."""

    of: Reference | None
    """What is worked on."""
    state: str
    """The state of what is worked on."""
    since: str
    driver: str
    """The process that drives it; empty where an agent works by itself."""
    session: SessionSummary | None
    """The agent's own; None where no agent is asked just now."""
    waits: str = ""
    """The agent limit or provider that it waits for, with the time; empty if none."""


class StuckItem(msgspec.Struct, frozen=True):
    """Something that does not move, though it should."""

    of: Reference | None
    why: str
    since: str | None
    command: str


class Spending(msgspec.Struct, frozen=True):
    """What one kind of work has used on a day (UTC), and what it may use; 0 is no limit."""

    what: str
    seconds: float
    tokens: int
    usd: float
    runs: int
    """How many runs of agents, or iterations, there were."""
    most_seconds: float = 0.0
    most_tokens: float = 0.0
    most_usd: float = 0.0
    most_runs: float = 0.0

    @property
    def share(self) -> float | None:
        """How much of the tightest limit is used, as a part of 1; None where there is no limit."""
        used = (self.seconds, self.tokens, self.usd, self.runs)
        most = (self.most_seconds, self.most_tokens, self.most_usd, self.most_runs)
        shares = [one / limit for one, limit in zip(used, most, strict=True) if limit]
        return max(shares) if shares else None


class Attention(msgspec.Struct, frozen=True):
    """What a person should know now."""

    waiting: tuple[WaitingItem, ...]
    """What their machines wait for a person with comes first, and what has waited longest."""
    more: int
    """How many more wait than are listed."""
    working: tuple[WorkingItem, ...]
    more_working: int
    stuck: tuple[StuckItem, ...]
    spending: tuple[Spending, ...]

    @property
    def count(self) -> int:
        """How many wait for a person; what only rests is not counted."""
        return counted(self.waiting, self.more)


def counted(waiting: Iterable[WaitingItem], more: int) -> int:
    """How many of these wait for a person, with those that are not listed."""
    return sum(one.is_gate for one in waiting) + more
