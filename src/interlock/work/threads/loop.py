"""Driving a thread: read where it stands, do the next thing, write down what came of it, until a person is needed."""

from __future__ import annotations

from interlock.errors import Conflict, Refusal
from interlock.journal import Lease, Transaction
from interlock.machine import Event
from interlock.machine.model import NOTED, OBSERVED
from interlock.work.errands import DRIVER
from interlock.work.threads.attending import attending, look, visit_of
from interlock.work.threads.effects import settle_effects
from interlock.work.threads.preflight import check_owner
from interlock.work.threads.projecting import project
from interlock.work.threads.reading import read_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.steps import STEPS, Step
from interlock.work.threads.ticketed import claim_ticket
from interlock.work.threads.visit import Visit
from interlock.work.tickets.threads import AT_WORK, rest
from interlock.work.workshop import Workshop

__all__ = ["drive"]


def drive(workshop: Workshop, id_: str) -> Thread:
    """Drive a thread until a person is needed, it is paused, or it ends. Calling it again goes on where it was."""
    journal = workshop.journal
    with attending(workshop, id_) as right:
        if not _has_ticket(workshop, id_, right.lease):
            return read_thread(journal, id_)
        _try_again(workshop, id_, right.lease)
        while True:
            workshop.heed()
            visit = visit_of(workshop, id_, right.lease)
            project(visit.workshop, visit.thread)
            if settle_effects(visit) or look(visit):
                continue
            step = STEPS.get(visit.thread.state)
            if step is None or visit.snapshot.outcome is not None:
                return visit.thread
            workshop.tell(visit.thread)
            if not _made(visit, _stepped(visit, step)) and _rests(visit, id_):
                return read_thread(journal, id_)
            right.renew()


def _try_again(workshop: Workshop, id_: str, lease: Lease) -> None:
    """Retry agents that failed before: driving the thread again means that a person fixed them."""
    visit = visit_of(workshop, id_, lease)
    if visit.thread.failing and visit.thread.state == "Running":
        visit.note("tried_again")


def _has_ticket(workshop: Workshop, id_: str, lease: Lease) -> bool:
    """Whether the ticket that a thread at work is for is the thread's own; where it is not, the thread rests."""

    def claim(transaction: Transaction) -> str | None:
        if transaction.instance(id_).state not in AT_WORK:
            return None
        why = claim_ticket(transaction, id_)
        if why is not None:
            rest(transaction, id_, DRIVER, why, lease)
        return why

    why = workshop.journal.transact(claim)
    if why is None:
        return True
    workshop.tell(f"the thread rests: {why}")
    project(workshop, read_thread(workshop.journal, id_))
    return False


def _stepped(visit: Visit, step: Step) -> Event | None:
    """What comes of a step; a loop that may use no more of the day's budget has come to its end."""
    try:
        return step(visit)
    except Refusal as error:
        if error.code != "budget_exhausted" or visit.thread.state not in ("Running", "Verifying"):
            raise
        return visit.event("budget_exhausted", f"{error.message} {error.hint}")


def _made(visit: Visit, event: Event | None) -> bool:
    """Whether a step came to a move. A person who moved the thread meanwhile was first, and it is read again."""
    if event is None:
        return False
    try:
        visit.workshop.journal.transact(lambda transaction: _append(transaction, visit, event))
    except (Refusal, Conflict):
        if not _moved_meanwhile(visit):
            raise
    return True


def _moved_meanwhile(visit: Visit) -> bool:
    """Whether anybody else wrote something since the visit began: the step's own notes are nobody else's."""
    later = visit.workshop.journal.history(visit.thread.id, visit.thread.version)
    return any(one.event != NOTED or one.actor_id != DRIVER.id for one in later)


def _append(transaction: Transaction, visit: Visit, event: Event) -> None:
    if visit.is_over(transaction):
        return  # also where it is possible again: what somebody paused and let go on is not paused once more
    if event.name == "checks_passed" and event.evidence is not None:
        if _is_configured(transaction, visit):
            return  # something else was checked than what somebody has chosen now
        check_owner(transaction, visit.thread.id, event.evidence.data["work_tree"])
    made = transaction.append(visit.thread.id, event, lease=visit.lease)
    if made.snapshot.state == "Stuck" and not (event.evidence and "diagnosis" in event.evidence.subjects):
        message = "Somebody set another limit meanwhile, and nobody has diagnosed what it ends."
        raise Conflict("conflict", message, "It is looked at again.")
    if event.name == "verification_stopped":
        transaction.append(visit.thread.id, Event("pause", event.actor), lease=visit.lease)


def _is_configured(transaction: Transaction, visit: Visit) -> bool:
    """Whether somebody chose since the visit began how the loop runs."""
    return any(one.event == OBSERVED for one in transaction.history(visit.thread.id, visit.thread.version))


def _rests(visit: Visit, id_: str) -> bool:
    """Whether nothing more is to be done now: it was stopped, or it waits for a person and nobody moved it."""
    if visit.thread.state == "Running":  # it goes on to the next iteration, or to Paused
        return False
    if visit.thread.state == "Verifying":  # nothing came of it: it was stopped, or has waited for the judge
        return visit.workshop.stop.is_set() and not _moved_meanwhile(visit)
    return visit.workshop.stop.is_set() or visit.workshop.journal.instance(id_).version == visit.thread.version
