"""Driving a thread: read where it stands, do the next thing, write down what came of it, until a person is needed."""

from __future__ import annotations

from interlock.errors import Conflict, Refusal
from interlock.journal import Lease, Transaction
from interlock.machine import Event
from interlock.machine.model import NOTED, OBSERVED
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.context import DriverContext
from interlock.work.threads.attending import attending, look, visit_of
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.effects import settle_effects
from interlock.work.threads.preflight import check_owner
from interlock.work.threads.projecting import project
from interlock.work.threads.reading import read_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.steps import STEPS, Step
from interlock.work.threads.ticket_link import claim_ticket
from interlock.work.tickets.threads import AT_WORK, rest

__all__ = ["drive"]


def drive(context: DriverContext, id_: str) -> Thread:
    """Drive a thread until a person is needed, it is paused, or it ends. Calling it again goes on where it was."""
    journal = context.journal
    with attending(context, id_) as right:
        if not _has_ticket(context, id_, right.lease):
            return read_thread(journal, id_)
        _try_again(context, id_, right.lease)
        while True:
            context.refresh()
            step = visit_of(context, id_, right.lease)
            project(step.context, step.thread)
            if settle_effects(step) or look(step):
                continue
            following = STEPS.get(step.thread.state)
            if following is None or step.snapshot.outcome is not None:
                return step.thread
            context.tell(step.thread)
            if not _made(step, _taken(step, following)) and _rests(step, id_):
                return read_thread(journal, id_)
            right.renew()


def _try_again(context: DriverContext, id_: str, lease: Lease) -> None:
    """Retry agents that failed before: driving the thread again means that a person fixed them."""
    step = visit_of(context, id_, lease)
    if step.thread.failing and step.thread.state == "Running":
        step.note("tried_again")


def _has_ticket(context: DriverContext, id_: str, lease: Lease) -> bool:
    """Whether the ticket that a thread at work is for is the thread's own; where it is not, the thread rests."""

    def claim(transaction: Transaction) -> str | None:
        if transaction.instance(id_).state not in AT_WORK:
            return None
        why = claim_ticket(transaction, id_)
        if why is not None:
            rest(transaction, id_, DRIVER, why, lease)
        return why

    why = context.journal.transact(claim)
    if why is None:
        return True
    context.tell(f"the thread rests: {why}")
    project(context, read_thread(context.journal, id_))
    return False


def _taken(step: ThreadStep, following: Step) -> Event | None:
    """What comes of a step; a loop that may use no more of the day's budget has come to its end."""
    try:
        return following(step)
    except Refusal as error:
        if error.code != "budget_exhausted" or step.thread.state not in ("Running", "Verifying"):
            raise
        return step.event("budget_exhausted", f"{error.message} {error.hint}")


def _made(step: ThreadStep, event: Event | None) -> bool:
    """Whether a step came to a move. A person who moved the thread meanwhile was first, and it is read again."""
    if event is None:
        return False
    try:
        step.context.journal.transact(lambda transaction: _append(transaction, step, event))
    except (Refusal, Conflict):
        if not _moved_meanwhile(step):
            raise
    return True


def _moved_meanwhile(step: ThreadStep) -> bool:
    """Whether anybody else wrote something since the visit began: the step's own notes are nobody else's."""
    later = step.context.journal.history(step.thread.id, step.thread.version)
    return any(one.event != NOTED or one.actor_id != DRIVER.id for one in later)


def _append(transaction: Transaction, step: ThreadStep, event: Event) -> None:
    if step.is_over(transaction):
        return  # also where it is possible again: what somebody paused and let go on is not paused once more
    if event.name == "checks_passed" and event.evidence is not None:
        if _is_configured(transaction, step):
            return  # something else was checked than what somebody has chosen now
        check_owner(transaction, step.thread.id, event.evidence.data["work_tree"])
    made = transaction.append(step.thread.id, event, lease=step.lease)
    if made.snapshot.state == "Stuck" and not (event.evidence and "diagnosis" in event.evidence.subjects):
        message = "Somebody set another limit meanwhile, and nobody has diagnosed what it ends."
        raise Conflict("conflict", message, "It is looked at again.")
    if event.name == "verification_stopped":
        transaction.append(step.thread.id, Event("pause", event.actor), lease=step.lease)


def _is_configured(transaction: Transaction, step: ThreadStep) -> bool:
    """Whether somebody chose since the visit began how the loop runs."""
    return any(one.event == OBSERVED for one in transaction.history(step.thread.id, step.thread.version))


def _rests(step: ThreadStep, id_: str) -> bool:
    """Whether nothing more is to be done now: it was stopped, or it waits for a person and nobody moved it."""
    if step.thread.state == "Running":  # it goes on to the next iteration, or to Paused
        return False
    if step.thread.state == "Verifying":  # nothing came of it: it was stopped, or has waited for the judge
        return step.context.stop.is_set() and not _moved_meanwhile(step)
    return step.context.stop.is_set() or step.context.journal.instance(id_).version == step.thread.version
