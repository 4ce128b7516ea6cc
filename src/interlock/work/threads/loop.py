"""Driving a thread: read where it stands, do the next thing, write down what came of it, until a person is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from interlock.errors import Conflict, InterlockError, NotFound, Refusal
from interlock.journal import Instance, Journal, Lease, Transaction
from interlock.machine import Event, Evidence
from interlock.machine.model import NOTED, OBSERVED
from interlock.work.errands import DRIVER, end_left_errands
from interlock.work.sessions.verbs import is_present
from interlock.work.threads.effects import settle_effects
from interlock.work.threads.preflight import check_owner
from interlock.work.threads.projecting import project
from interlock.work.threads.record import Thread
from interlock.work.threads.replay import thread_of
from interlock.work.threads.steps import STEPS
from interlock.work.threads.ticketed import claim_ticket
from interlock.work.threads.visit import Visit
from interlock.work.tickets.locks import process_holder
from interlock.work.tickets.threads import AT_WORK, rest
from interlock.work.workshop import Workshop
from interlock.world.git import state, tree_hash

__all__ = ["MACHINE", "drive", "driving", "find_thread", "look", "read_thread", "visit_of"]

MACHINE = "thread"
_LEASE_SECONDS = 600.0
_LONGEST = 86_400.0
_WATCHED = frozenset({"Implemented", "Polishing", "PendingReview", "Approved", "ReadyToCommit"})
"""The states in which the tree is as it was proven or approved, unless somebody changes it."""


def find_thread(journal: Journal, reference: str) -> Instance:
    """A thread by its id or a suffix of it."""
    found = journal.instance(reference)
    if found.machine != MACHINE:
        message = f"{found.id} is a {found.machine}, not a thread."
        raise NotFound("unknown_instance", message, "`ralph thread list` shows the threads.")
    return found


def read_thread(journal: Journal, id_: str) -> Thread:
    return thread_of(journal.history(id_))


def drive(workshop: Workshop, id_: str) -> Thread:
    """Drive a thread until a person is needed, it is paused, or it ends. Calling it again goes on where it was."""
    journal, seconds = workshop.journal, _lease_seconds(workshop)
    with driving(workshop, id_) as lease:
        if not _has_ticket(workshop, id_, lease):
            return read_thread(journal, id_)
        while True:
            visit = visit_of(workshop, id_, lease)
            project(visit.workshop, visit.thread)
            if settle_effects(visit) or look(visit):
                continue
            step = STEPS.get(visit.thread.state)
            if step is None or visit.snapshot.outcome is not None:
                return visit.thread
            workshop.tell(visit.thread)
            if not _made(visit, step(visit)) and _rests(visit, id_):
                return read_thread(journal, id_)
            journal.renew(lease, seconds)


def _has_ticket(workshop: Workshop, id_: str, lease: Lease) -> bool:
    """Whether the ticket that a thread at work is for is the thread's own; where it is not, the thread rests."""
    if workshop.journal.instance(id_).state not in AT_WORK:
        return True

    def claim(transaction: Transaction) -> str | None:
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


@contextmanager
def driving(workshop: Workshop, id_: str) -> Iterator[Lease]:
    """Be the only one who sends agents for a thread; what a driver that died left of its errands is ended first."""
    journal = workshop.journal
    lease = journal.acquire(f"{MACHINE}:{id_}", process_holder(), _lease_seconds(workshop), is_present)
    try:
        end_left_errands(journal, id_, workshop.state_directory)
        yield lease
    finally:
        with suppress(InterlockError):  # the journal itself has failed, and says so
            journal.release(lease)


def visit_of(workshop: Workshop, id_: str, lease: Lease | None) -> Visit:
    instance = workshop.journal.instance(id_)
    thread = read_thread(workshop.journal, id_)
    return Visit(workshop, thread, instance.snapshot, workshop.journal.machine_of(instance), lease)


def _lease_seconds(workshop: Workshop) -> float:
    """As long as the longest step: nobody on another host takes over while an agent works."""
    return _LEASE_SECONDS + (workshop.time_outs.wall or _LONGEST)


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
    later = visit.workshop.journal.history(visit.thread.id)[visit.thread.version :]
    return any(one.event != NOTED or one.actor_id != DRIVER.id for one in later)


def _append(transaction: Transaction, visit: Visit, event: Event) -> None:
    if event.name == "checks_passed" and event.evidence is not None:
        check_owner(transaction, visit.thread.id, event.evidence.data["work_tree"])
    transaction.append(visit.thread.id, event, lease=visit.lease)
    if event.name == "verification_stopped":
        transaction.append(visit.thread.id, Event("pause", event.actor), lease=visit.lease)


def _rests(visit: Visit, id_: str) -> bool:
    """Whether nothing more is to be done now: it was stopped, or it waits for a person and nobody moved it."""
    if visit.thread.state == "Running":  # it goes on to the next iteration, or to Paused
        return False
    if visit.thread.state == "Verifying":  # nothing came of it: it was stopped, or has waited for the judge
        return visit.workshop.stop.is_set()
    return visit.workshop.stop.is_set() or visit.workshop.journal.instance(id_).version == visit.thread.version


def look(visit: Visit) -> bool:
    """Look whether the tree still is what was proven of it; whether it was not, and that is written down now."""
    known = visit.snapshot.subjects.get("tree")
    if visit.thread.state not in _WATCHED or known is None:
        return False
    there = state(visit.root)
    if there.hidden:
        message = f"Git was told not to look at {there.hidden[0]!r}, and it was changed; no hash covers that."
        hint = "`git update-index --no-assume-unchanged --no-skip-worktree FILE` lets git look again."
        raise Refusal("files_hidden", message, hint)
    if there.branch != visit.thread.branch:
        message = f"{there.branch or 'No branch'} is checked out, and the thread's work is on {visit.thread.branch}."
        raise Refusal("wrong_branch", message, f"`git switch {visit.thread.branch}` goes there.")
    tree = tree_hash(visit.root)
    if tree == known:
        return False
    evidence = Evidence(subjects={"tree": tree})
    approved = visit.thread.state in ("Approved", "ReadyToCommit")
    event = Event("tree_changed" if approved else OBSERVED, DRIVER, evidence=evidence)
    visit.workshop.journal.append(visit.thread.id, event, lease=visit.lease)
    visit.workshop.tell("the files are not those that were proven; `ralph thread reverify` proves them again")
    return True
