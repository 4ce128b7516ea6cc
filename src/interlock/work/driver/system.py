"""The seam between the driver's loop and the systems that it drives: threads, story loops, orchestrator runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Protocol, TypeAlias, TypeVar

from interlock.errors import Refusal
from interlock.journal import Journal, Lease, Transaction
from interlock.machine import Event, Snapshot
from interlock.world.agents.running import StopSignal

__all__ = [
    "INTERRUPTED",
    "AfterCommit",
    "DriverStep",
    "LoopContext",
    "NoEvent",
    "Record",
    "StepFunction",
    "StepResult",
    "System",
]


INTERRUPTED = "it was interrupted"
"""Why an instance is paused after Ctrl+C."""


class NoEvent(Enum):
    """The result of a step that moves nothing."""

    RETRY = "retry"
    """It waited, was interrupted, or wrote a note: read the instance again and take its step."""
    STOP = "stop"
    """Only a person can continue."""


StepResult: TypeAlias = Event | Sequence[Event] | NoEvent
"""What came of a step: events that are appended in one transaction, or none."""
AfterCommit: TypeAlias = Callable[[], None]
"""Runs once the events of a step are in the journal."""


class LoopContext(Protocol):
    """The part of a driver's context that the loop itself uses."""

    @property
    def journal(self) -> Journal: ...
    @property
    def tell(self) -> Callable[[object], None]: ...
    @property
    def stop(self) -> StopSignal: ...
    @property
    def pausing(self) -> StopSignal: ...
    @property
    def refresh(self) -> Callable[[], None]: ...


class Record(Protocol):
    """What an instance's entries add up to, as far as the loop needs it."""

    @property
    def id(self) -> str: ...
    @property
    def version(self) -> int: ...


class DriverStep(Protocol):
    """One instance in one state, and the right to drive it."""

    @property
    def record(self) -> Record: ...
    @property
    def snapshot(self) -> Snapshot: ...


S = TypeVar("S", bound=DriverStep)
StepFunction: TypeAlias = Callable[[S], StepResult]


class System(Protocol[S]):
    """One instance of a system, as the loop drives it."""

    @property
    def steps(self) -> Mapping[str, StepFunction[S]]:
        """The step of each state that continues without a person."""

    def read(self, lease: Lease) -> S:
        """Read the instance as it is now."""

    def enter(self, step: S) -> bool:
        """Prepare to drive, once; False if it must not be driven now."""

    def settle(self, step: S) -> bool:
        """Settle effects, take in people's edits, write the files; True if the instance must be read again."""

    def is_paused(self, step: S) -> bool:
        """True if a note says that it is paused; a paused state is one without a step."""

    def pause(self, step: S) -> Sequence[Event] | None:
        """The events that record an interrupt; None if this state is not interrupted."""

    def overspent(self, step: S, refusal: Refusal) -> StepResult:
        """What follows from a day's budget that is used up."""

    def append(self, transaction: Transaction, step: S, events: Sequence[Event]) -> AfterCommit | None:
        """Append the events of a step."""

    def leave(self, step: S) -> None:
        """Called once at the end, with the instance as it is then."""

    def close(self) -> None:
        """Release what is held open, however driving ended."""
