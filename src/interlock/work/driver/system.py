"""The seam between the driver's loop and the systems that it drives: threads, story loops, runs and tickets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Protocol, TypeAlias, TypeVar

from interlock.errors import Refusal
from interlock.journal import Lease, Transaction
from interlock.machine import Event
from interlock.work.driver.context import DriverContext
from interlock.work.driver.record import PAUSED
from interlock.work.driver.step import DriverStep, noted

__all__ = ["AfterCommit", "NoEvent", "StepFunction", "StepResult", "System", "interrupt_events"]


class NoEvent(Enum):
    """The result of a step that moves nothing."""

    RETRY = "retry"
    """It waited, was interrupted, or wrote a note: read the instance again and take its step."""
    STOP = "stop"
    """Only a person can continue."""


StepResult: TypeAlias = Event | Sequence[Event] | NoEvent
"""The result of a step: events that are appended in one transaction, or none."""
AfterCommit: TypeAlias = Callable[[], None]
"""Runs once the events of a step are in the journal."""


S = TypeVar("S", bound=DriverStep[Any, Any])
StepFunction: TypeAlias = Callable[[S], StepResult]


class System(Protocol[S]):
    """One instance of a system, as the loop drives it."""

    def read(self, lease: Lease) -> S:
        """Read the instance as it is now."""

    def next(self, step: S) -> StepFunction[S] | None:
        """The step of its state; None if only a person can continue."""

    def enter(self, step: S) -> bool:
        """Prepare to drive, once; False if it must not be driven now."""

    def settle(self, step: S) -> bool:
        """Settle effects, take in people's edits, write the files; True if the instance must be read again."""

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


def interrupt_events(context: DriverContext) -> Sequence[Event]:
    """The events that record an interrupt by a note; none where the driver above records it."""
    return () if context.is_child else [noted(PAUSED, reason="it was interrupted", cause="interrupt")]
