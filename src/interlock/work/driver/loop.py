"""The driver: read an instance, take the step of its state, append what came of it, until a person is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from interlock.errors import Conflict, Refusal
from interlock.journal import Lease, Transaction
from interlock.machine import Event
from interlock.machine.model import NOTED
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.context import DriverContext
from interlock.work.driver.step import DriverStep
from interlock.work.driver.system import AfterCommit, NoEvent, StepFunction, StepResult, System

__all__ = ["drive"]

S = TypeVar("S", bound=DriverStep[Any, Any])


def drive(system: System[S], context: DriverContext, lease: Lease, check_lease: Callable[[], None] = lambda: None) -> S:
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


def _advance(system: System[S], context: DriverContext, lease: Lease, check_lease: Callable[[], None]) -> bool:
    """Take one step; False if there is none to take now."""
    check_lease()
    context.refresh()
    step = system.read(lease)
    if system.settle(step):
        return True
    following = _following(system, step)
    if following is None:
        return False
    context.report(step.record.copied())  # whoever watches may keep it
    if context.is_interrupted and (events := system.pause(step)) is not None:
        context.refresh()  # a person's decision in the journal is read there, and is not an interrupt
        if not context.is_interrupted:
            return True
        _commit(system, context, step, events)
        return False
    result = _take(system, step, following)
    if isinstance(result, NoEvent):
        return result is NoEvent.RETRY
    _commit(system, context, step, [result] if isinstance(result, Event) else result)
    return True


def _following(system: System[S], step: S) -> StepFunction[S] | None:
    is_over = step.snapshot.outcome is not None or step.record.paused is not None
    return None if is_over else system.next(step)


def _take(system: System[S], step: S, following: StepFunction[S]) -> StepResult:
    try:
        return following(step)
    except Refusal as error:
        if error.code != "budget_exhausted":
            raise
        return system.overspent(step, error)


def _commit(system: System[S], context: DriverContext, step: S, events: Sequence[Event]) -> None:
    """Append what came of a step, unless someone moved the instance meanwhile: then its step is taken again.

    That equals a driver that died just before it appended, and every step survives that.
    """

    def work(transaction: Transaction) -> AfterCommit | None:
        return system.append(transaction, step, events) if events and not step.is_over(transaction) else None

    try:
        after = context.journal.transact(work)
    except (Refusal, Conflict):
        later = context.journal.history(step.fold.id, step.since)
        if all(one.event == NOTED and one.actor_id == DRIVER.id for one in later):
            raise  # nobody else wrote, so it is our own mistake
        return
    if after is not None:
        after()
