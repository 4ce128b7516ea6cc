"""Driving a thread: its steps and files, as the driver's loop uses them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from interlock.errors import Conflict, Refusal
from interlock.journal import Lease, Transaction
from interlock.machine import Event
from interlock.machine.model import OBSERVED
from interlock.work.driver import loop as driver
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.context import DriverContext
from interlock.work.driver.fold import Fold
from interlock.work.driver.system import StepFunction, StepResult
from interlock.work.threads.attending import attending, look
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.effects import settle_effects
from interlock.work.threads.preflight import check_owner
from interlock.work.threads.projecting import project
from interlock.work.threads.record import Thread
from interlock.work.threads.replay import take
from interlock.work.threads.steps import STEPS
from interlock.work.threads.ticket_link import claim_ticket
from interlock.work.tickets.threads import pause_events, rest

__all__ = ["drive"]


def drive(context: DriverContext, id_: str) -> Thread:
    """Drive a thread until a person is needed, it is paused, or it ends. Calling it again continues."""
    with attending(context, id_) as held:
        system = _ThreadSystem(held.context, Fold(id_, Thread, take))
        return driver.drive(system, held.context, held.lease, held.check).thread


class _ThreadSystem(msgspec.Struct, frozen=True):
    """One thread, as the loop drives it."""

    context: DriverContext
    fold: Fold[Thread]

    def read(self, lease: Lease) -> ThreadStep:
        return ThreadStep.read(self.context, self.fold, lease)

    def next(self, step: ThreadStep) -> StepFunction[ThreadStep] | None:
        return STEPS.get(step.snapshot.state)

    def enter(self, step: ThreadStep) -> bool:
        """Claim the ticket; if another thread or person has it, the thread is paused."""
        why = self.context.journal.transact(lambda transaction: _claim(transaction, step))
        if why is not None:
            self.context.report(f"the thread rests: {why}")
            project(self.context, step.catch_up())
            return False
        if step.thread.failing and step.thread.state in STEPS:
            step.note("tried_again")  # driving it again means that a person fixed its agents
        return True

    def settle(self, step: ThreadStep) -> bool:
        project(self.context, step.thread)
        return settle_effects(step) or look(step)

    def pause(self, step: ThreadStep) -> Sequence[Event] | None:
        return [Event(name, DRIVER) for name in pause_events(step.thread.state)] or None

    def overspent(self, step: ThreadStep, refusal: Refusal) -> StepResult:
        if not pause_events(step.thread.state):
            raise refusal
        return step.event("budget_exhausted", f"{refusal.message} {refusal.hint}")

    def append(self, transaction: Transaction, step: ThreadStep, events: Sequence[Event]) -> None:
        for event in events:
            _append(transaction, step, event)

    def leave(self, step: ThreadStep) -> None:
        project(self.context, step.thread)

    def close(self) -> None:
        """Nothing is held open."""


def _claim(transaction: Transaction, step: ThreadStep) -> str | None:
    """Claim the thread's ticket, or pause the thread and return why it cannot be claimed."""
    if not pause_events(transaction.instance(step.thread.id).state):
        return None
    why = claim_ticket(transaction, step.thread.id)
    if why is not None:
        rest(transaction, step.thread.id, DRIVER, why, step.lease)
    return why


def _append(transaction: Transaction, step: ThreadStep, event: Event) -> None:
    if event.name == "checks_passed" and event.evidence is not None:
        if _is_configured(transaction, step):
            return  # something else was checked than what a person has chosen now
        check_owner(transaction, step)
    made = transaction.append(step.thread.id, event, lease=step.lease)
    if made.snapshot.state == "Stuck" and not (event.evidence and "diagnosis" in event.evidence.subjects):
        message = "Somebody set another limit meanwhile, and nobody has diagnosed what it ends."
        raise Conflict("conflict", message, "It is looked at again.")


def _is_configured(transaction: Transaction, step: ThreadStep) -> bool:
    """True if a person chose since the step began how the loop runs."""
    return any(one.event == OBSERVED for one in transaction.history(step.thread.id, step.since))
