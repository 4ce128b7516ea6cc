"""PURE. The part of a record that threads, story loops and runs share: the driver's own notes, and a pause."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Self

import msgspec
from msgspec.structs import asdict

from interlock.journal import Entry
from interlock.machine import ActorKind
from interlock.work.budget import Amount
from interlock.work.budget.books import Books
from interlock.world.agents.result import NO_ATTEMPTS, Ending, FailedAgent

__all__ = [
    "PAUSED",
    "RESUMED",
    "Beginning",
    "DriverRecord",
    "OpenRun",
    "PaidRun",
    "Pause",
    "begin_run",
    "end_run",
    "is_pause",
    "take_note",
]

PAUSED: Final = "paused"
RESUMED: Final = "resumed"
_STOPPED: Final = "stopped"
"""The name that earlier versions gave to the pause of a run."""


class Pause(msgspec.Struct, frozen=True):
    """Why an instance is paused, who paused it, and the kind of cause."""

    reason: str
    by: str
    cause: str
    """`person`, `interrupt` (Ctrl+C), `budget`, `changed` (something it relies on), or `stuck`."""

    @property
    def needs_person(self) -> bool:
        """True if it paused by itself, so that a person has to look at it before it continues."""
        return self.cause not in ("person", "interrupt")


class Beginning(msgspec.Struct, frozen=True):
    """The branch of the person's that the work of a loop or run goes to, and the commit that it began on."""

    branch: str
    """Empty if nothing is committed and no branch was checked out."""
    commit: str


class PaidRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of an agent, as it was paid for; each system adds what it was for."""

    role: str
    agent: str
    ending: str
    seconds: float
    cost_usd: float
    tokens: int
    at: str
    """The time of its end."""

    @property
    def counts(self) -> bool:
        """True if it was an attempt at the work, and did not fail before."""
        return self.ending not in NO_ATTEMPTS


class OpenRun(msgspec.Struct, frozen=True):
    """A run that ended and that nothing was concluded from yet: a driver that dies now does not ask for it again."""

    ending: str
    exit_code: int | None
    promise: str | None
    said: str
    agent: str = ""
    percent: float = 0.0
    """The part of its context that the agent had used."""

    @property
    def is_finished(self) -> bool:
        return self.ending == Ending.FINISHED


class DriverRecord(msgspec.Struct):
    """An instance as its entries tell it, as far as every driver needs it."""

    id: str = ""
    state: str = ""
    outcome: str | None = None
    version: int = 0
    entered: int = 0
    """The entry by which it came to its state."""
    updated: str = ""
    paused: Pause | None = None
    books: Books = msgspec.field(default_factory=Books)
    """The use of its own agents."""
    limited: dict[str, float] = msgspec.field(default_factory=dict)
    """The time until which an agent has reached a limit, by name."""
    cooling: dict[str, float] = msgspec.field(default_factory=dict)
    """The time until which an agent that took too long is left out, while others can work."""
    failing: dict[str, FailedAgent] = msgspec.field(default_factory=dict)
    """The agents that only a person can bring back, until a person continues."""

    def copied(self) -> Self:
        """Return a copy that stays as it is while the record moves on."""
        return type(self)(**{name: _copied(value) for name, value in asdict(self).items()})


def _copied(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(next(iter(value.values()), None), list | set):  # one speaks for all
        return {key: one.copy() if isinstance(one, list | set) else one for key, one in value.items()}
    return value.copy() if isinstance(value, dict | list | set | Books) else value


def take_note(record: DriverRecord, entry: Entry, data: Mapping[str, Any]) -> None:
    """Take in a note that the driver writes for every system; other notes change nothing here."""
    handler = _NOTES.get(data.get("type", ""))
    if handler is not None:
        handler(record, entry, data)


def begin_run(record: DriverRecord, task: str, entry: Entry, data: Mapping[str, Any]) -> None:
    """Reserve what a run may use, as its note at the beginning says."""
    record.books.reserve(task, entry.time[:10], Amount.of(**data["reserved"]))


def end_run(record: DriverRecord, task: str, entry: Entry, data: Mapping[str, Any]) -> dict[str, Any]:
    """Count what a run used, as its note at the end says; return the fields of its `PaidRun`."""
    cost = data["cost_usd"] or 0.0
    record.books.settle(task, entry.time[:10], Amount.of(data["seconds"], data["tokens"], cost))
    told = {name: data[name] for name in ("role", "agent", "ending", "seconds", "tokens")}
    return {**told, "cost_usd": cost, "at": entry.time}


def is_pause(data: Mapping[str, Any]) -> bool:
    """True if this is the data of a note that pauses a loop or a run."""
    return data.get("type") in (PAUSED, _STOPPED)


def _paused(record: DriverRecord, entry: Entry, data: Mapping[str, Any]) -> None:
    reason = str(data.get("reason", "")) or "a person said so"
    record.paused = Pause(reason, entry.actor_id, data.get("cause") or _cause(entry, data))


def _cause(entry: Entry, data: Mapping[str, Any]) -> str:
    """The cause of a pause whose note does not name it: one of a person, or of an earlier version."""
    if entry.actor_kind == ActorKind.HUMAN:
        return "person"
    return "stuck" if data.get("halted") else "changed"


def _resumed(record: DriverRecord, entry: Entry, data: Mapping[str, Any]) -> None:
    record.paused = None


def _limited(record: DriverRecord, entry: Entry, data: Mapping[str, Any]) -> None:
    record.limited[data["agent"]] = float(data["until"])


def _cooling(record: DriverRecord, entry: Entry, data: Mapping[str, Any]) -> None:
    record.cooling[data["agent"]] = float(data["until"])


def _failing(record: DriverRecord, entry: Entry, data: Mapping[str, Any]) -> None:
    record.failing[data["agent"]] = FailedAgent(data["ending"], data["failure"], data["why"])


def _tried_again(record: DriverRecord, entry: Entry, data: Mapping[str, Any]) -> None:
    record.failing = {}


_NOTES: Mapping[str, Callable[[DriverRecord, Entry, Mapping[str, Any]], None]] = {
    PAUSED: _paused,
    _STOPPED: _paused,
    RESUMED: _resumed,
    "limited": _limited,
    "cooling": _cooling,
    "failing": _failing,
    "tried_again": _tried_again,
}
