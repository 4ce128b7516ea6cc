"""The driver: read an instance, take the step of its state, append what came of it, until a person is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from interlock.errors import Conflict, Refusal
from interlock.journal import Entry, Lease, Transaction
from interlock.machine import Event
from interlock.machine.model import NOTED, OBSERVED
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.system import AfterCommit, DriverStep, LoopContext, NoEvent, StepFunction, StepResult, System

__all__ = ["drive", "is_moved"]

S = TypeVar("S", bound=DriverStep)


def drive(system: System[S], context: LoopContext, lease: Lease, check_lease: Callable[[], None] = lambda: None) -> S:
    """Drive an instance until it ends, is paused, or needs a person. Calling it again continues.

    `check_lease` raises if the lease is lost: that ends driving too, and is not recorded as a pause.
    """
    try:
        if system.enter(system.read(lease)):
            while _advance(system, context, lease, check_lease):
                pass
            system.leave(system.read(lease))
        return system.read(lease)
    finally:
        system.close()


def _advance(system: System[S], context: LoopContext, lease: Lease, check_lease: Callable[[], None]) -> bool:
    """Take one step; False if there is none to take now."""
    check_lease()
    context.refresh()
    step = system.read(lease)
    if system.settle(step):
        return True
    since = step.record.version  # a step may write notes, and its record then moves on
    following = system.steps.get(step.snapshot.state)
    if following is None or step.snapshot.outcome is not None or system.is_paused(step):
        return False
    context.tell(step.record)
    if _is_interrupted(context) and (events := system.pause(step)) is not None:
        context.refresh()  # what a person decided in the journal is read there, and is no interrupt
        if not _is_interrupted(context):
            return True
        _commit(system, context, step, since, events)
        return False
    result = _take(system, step, following)
    if isinstance(result, NoEvent):
        return result is NoEvent.RETRY
    _commit(system, context, step, since, [result] if isinstance(result, Event) else result)
    return True


def _is_interrupted(context: LoopContext) -> bool:
    return context.pausing.is_set() or context.stop.is_set()


def _take(system: System[S], step: S, following: StepFunction[S]) -> StepResult:
    try:
        return following(step)
    except Refusal as error:
        if error.code != "budget_exhausted":
            raise
        return system.overspent(step, error)


def _commit(system: System[S], context: LoopContext, step: S, since: int, events: Sequence[Event]) -> None:
    """Append what came of a step, unless someone moved the instance meanwhile: then its step is taken again.

    That equals a driver that died just before it appended, and every step survives that.
    """
    id_ = step.record.id

    def work(transaction: Transaction) -> AfterCommit | None:
        if is_moved(transaction.history(id_, since)):
            return None
        return system.append(transaction, step, events) if events else None

    try:
        after = context.journal.transact(work)
    except (Refusal, Conflict):
        if all(one.event == NOTED and one.actor_id == DRIVER.id for one in context.journal.history(id_, since)):
            raise  # nobody else wrote, so it is our own mistake
        return
    if after is not None:
        after()


def is_moved(later: Sequence[Entry]) -> bool:
    """True if one of these entries moved the instance, and did not only note or observe something."""
    return any(one.event not in (NOTED, OBSERVED) for one in later)
