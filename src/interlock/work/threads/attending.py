"""What driver and verbs of a thread have in common: the right to drive it, where it stands, and a look at its tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from interlock.journal import Entry, Lease, Transaction
from interlock.machine import ActorKind, Event, Evidence
from interlock.machine.model import OBSERVED
from interlock.machine.states import shipped_state, target_of
from interlock.work.driver.agent_run import DRIVER, end_orphaned_runs
from interlock.work.driver.context import DriverContext
from interlock.work.driver.driver_lease import DriverLease, hold_driver_lease
from interlock.work.driver.fold import Fold
from interlock.work.threads.children import CHILDREN
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.reading import MACHINE
from interlock.work.threads.record import Thread
from interlock.work.threads.replay import take

__all__ = ["attending", "is_told", "look", "step_of"]

_CHANGED = "tree_changed"


@contextmanager
def attending(context: DriverContext, id_: str) -> Iterator[DriverLease]:
    """Be the only one who sends agents for a thread; what a dead driver left of its child is ended first, too.

    Agents of a child carry the child's mark, and a child that was closed since is never driven again. Only the newest
    of each kind can have any: a driver has one child at a time, and the ones before it were looked at by its own lease.
    """
    with hold_driver_lease(context, MACHINE, id_) as held:
        for machine in CHILDREN:
            for child in context.journal.recent(machine, 1, parent=id_):
                end_orphaned_runs(context, child.id)
        yield held


def is_told(entry: Entry) -> bool:
    """Whether somebody said by this entry that a thread is to rest or to end: its driver hears of it at once."""
    return entry.event in ("pause", "abandon") and entry.actor_kind == ActorKind.HUMAN


def step_of(context: DriverContext, id_: str, lease: Lease | None) -> ThreadStep:
    """Read a thread for one step; a driver keeps its fold from one step to the next."""
    return ThreadStep.read(context, Fold(id_, Thread, take), lease)


def look(step: ThreadStep) -> bool:
    """Look whether the tree still is what was proven of it; where it is not, that is written down, and read again."""
    known = step.snapshot.subjects.get("tree")
    if shipped_state(MACHINE, step.thread.state).tree != "proven" or known is None:
        return False
    tree = step.tree.take().tree
    if tree == known:
        return False
    evidence = Evidence(subjects={"tree": tree})
    moves = target_of(step.machine, step.thread.state, _CHANGED, ActorKind.SYSTEM) is not None
    event = Event(_CHANGED if moves else OBSERVED, DRIVER, evidence=evidence)
    if not step.context.journal.transact(lambda transaction: _observe(transaction, step, event)):
        return True
    step.context.report("the files are not those that were proven; `ralph thread reverify` proves them again")
    return True


def _observe(transaction: Transaction, step: ThreadStep, event: Event) -> bool:
    """Write down what was seen, unless somebody moved the thread since it was read."""
    if step.is_over(transaction):
        return False
    transaction.append(step.thread.id, event, lease=step.lease)
    return True
