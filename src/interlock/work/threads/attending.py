"""What driver and verbs of a thread have in common: the right to drive it, where it stands, and a look at its tree."""

from __future__ import annotations

from contextlib import AbstractContextManager

from interlock.errors import Refusal
from interlock.journal import Entry, Lease, Transaction
from interlock.machine import ActorKind, Event, Evidence
from interlock.machine.model import OBSERVED
from interlock.work.driving import Driving, driving
from interlock.work.errands import DRIVER
from interlock.work.threads.reading import MACHINE, read_thread
from interlock.work.threads.visit import Visit
from interlock.work.workshop import Workshop
from interlock.world.git import state, tree_hash

__all__ = ["attending", "is_told", "look", "visit_of"]

_WATCHED = frozenset({"Implemented", "Polishing", "PendingReview", "Approved", "ReadyToCommit"})
"""The states in which the tree is as it was proven or approved, unless somebody changes it."""


def attending(workshop: Workshop, id_: str) -> AbstractContextManager[Driving]:
    """Be the only one who sends agents for a thread."""
    return driving(workshop.journal, MACHINE, id_, workshop.state_directory, workshop.time_outs.wall)


def is_told(entry: Entry) -> bool:
    """Whether somebody said by this entry that a thread is to rest or to end: its driver hears of it at once."""
    return entry.event in ("pause", "abandon") and entry.actor_kind == ActorKind.HUMAN


def visit_of(workshop: Workshop, id_: str, lease: Lease | None) -> Visit:
    thread = read_thread(workshop.journal, id_)  # first: whoever moves it between the two is found to have done so
    instance = workshop.journal.instance(id_)
    return Visit(workshop, thread, instance.snapshot, workshop.journal.machine_of(instance), lease)


def look(visit: Visit) -> bool:
    """Look whether the tree still is what was proven of it; where it is not, that is written down, and read again."""
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
    if not visit.workshop.journal.transact(lambda transaction: _observe(transaction, visit, event)):
        return True
    visit.workshop.tell("the files are not those that were proven; `ralph thread reverify` proves them again")
    return True


def _observe(transaction: Transaction, visit: Visit, event: Event) -> bool:
    """Write down what was seen, unless somebody moved the thread since it was read."""
    if visit.is_over(transaction):
        return False
    transaction.append(visit.thread.id, event, lease=visit.lease)
    return True
