"""What drives a thread besides its own loop: one iteration of the thread is one whole run of a child.

A child is an instance of its own, below the thread. That it has met its goal is a claim, and verified like any other.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from interlock.errors import Refusal
from interlock.journal import Instance, Journal, Lease, Transaction
from interlock.machine import Event, Evidence
from interlock.machine.model import SUPERSEDED
from interlock.machine.states import shipped_state
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.step import noted
from interlock.work.driver.system import NoEvent, StepResult
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.iterating import misplaced, overdrawn
from interlock.work.threads.record import Thread

__all__ = ["CHILDREN", "Child", "ChildPart", "ChildView", "close_left", "run_child", "shown_child"]

CHILDREN = ("story", "orchestrator")
"""The names of these drivers, which are those of their machines."""


def _child(driver: str) -> Child:
    """The driver of that name; its system is imported for the threads that it drives only."""
    if driver == "story":
        from interlock.work.threads.story_driver import STORY

        return STORY
    from interlock.work.threads.orchestrator_driver import ORCHESTRATOR

    return ORCHESTRATOR


def run_child(step: ThreadStep) -> StepResult:
    """Drive the thread's child as far as it goes, and say what that means for the thread."""
    wrong = misplaced(step)
    if wrong is not None:
        return wrong
    over = overdrawn(step)
    if over is not None:
        return step.event("budget_exhausted", over)
    child = _child(step.config.driver)
    hindrance = child.hindrance(step)
    if hindrance is not None:
        return step.event("driver_failed", hindrance)
    step.tree.get_ready()
    id_ = _at_work(step, child)
    try:
        result = child.drive(step, id_)
    except Refusal:
        if not _is_closed(step, id_):
            raise
        result = NoEvent.RETRY  # somebody took the thread elsewhere, and its child was closed
    if _is_closed(step, id_):  # its agent has ended since, and only now is known what that cost
        step.write(_spent(step.context.journal, child, id_))
    return result


def _is_closed(step: ThreadStep, id_: str) -> bool:
    return step.context.journal.instance(id_).outcome == SUPERSEDED


def _at_work(step: ThreadStep, child: Child) -> str:
    """The child that works now: the one under way, one that a death left without a note, or a new one.

    One that has ended is taken once more where nothing was concluded of it: its driver died, or the verification of
    what it claimed was stopped.
    """
    thread, journal = step.thread, step.context.journal
    known = journal.instance(thread.child) if thread.child is not None else None
    if known is not None and known.machine == child.machine and known.outcome != SUPERSEDED:
        if known.outcome is not None and not thread.is_settled:
            return known.id
        if known.outcome is None and child.fits(step, known.id):
            if thread.is_settled:
                child.wake(step, known.id)
            return known.id
        if known.outcome is None:
            journal.transact(lambda transaction: _close(transaction, known, step.lease))
            step.catch_up()
    left = [one.id for one in journal.open_instances(child.machine) if one.parent == thread.id]
    if left:
        step.note("child", id=left[-1])
        return left[-1]
    return child.begin(step)


def _close(transaction: Transaction, known: Instance, lease: Lease | None = None) -> None:
    """Close a child, and note on its thread what it has used: nobody asks the child for that any more."""
    assert known.parent is not None
    transaction.append(known.id, Event(SUPERSEDED, DRIVER, evidence=Evidence()))
    transaction.append(known.parent, _spent(transaction, _child(known.machine), known.id), lease=lease)


def _spent(reader: Journal | Transaction, child: Child, id_: str) -> Event:
    return noted("child_spent", child=id_, spent=child.spent(reader, id_))


def close_left(transaction: Transaction, thread: str, driver: str) -> None:
    """Close what a thread drives no more: it stays where it is and takes no more events."""
    drives = driver if shipped_state("thread", transaction.instance(thread).state).tree is not None else None
    for machine in CHILDREN:
        for one in transaction.open_children(thread, machine) if machine != drives else ():
            _close(transaction, one)


def shown_child(journal: Journal, thread: Thread) -> ChildView | None:
    """The child that a thread has, or had last, as people see it."""
    if thread.child is None:
        return None
    known = journal.instance(thread.child)
    state, parts = _child(known.machine).parts(journal, known.id)
    return ChildView(known.machine, known.id, state, known.outcome, parts)


class ChildPart(msgspec.Struct, frozen=True):
    """One piece of a child's work: a story or a task, and where it stands."""

    id: str
    mark: str
    text: str


class Child(msgspec.Struct, frozen=True):
    """One kind of child."""

    machine: str
    begin: Callable[[ThreadStep], str]
    """A new one, with the work that the thread has for it; noted as the thread's child."""
    hindrance: Callable[[ThreadStep], str | None]
    """Why it must not go on before a person has looked; None where nothing is in its way."""
    fits: Callable[[ThreadStep, str], bool]
    """Whether one that is under way still is what the thread wants, or is to be closed for a new one."""
    wake: Callable[[ThreadStep, str], None]
    """Let one continue that paused by itself, because a person decided so; noted as the thread's child."""
    drive: Callable[[ThreadStep, str], StepResult]
    """Drive it as far as it goes, and return what that means for the thread."""
    parts: Callable[[Journal, str], tuple[str, tuple[ChildPart, ...]]]
    """The state it is in, and its work."""
    spent: Callable[[Journal | Transaction, str], tuple[float, float, int]]
    """The seconds, dollars and tokens that it has used."""


class ChildView(msgspec.Struct, frozen=True):
    """A child as people see it."""

    machine: str
    id: str
    state: str
    outcome: str | None
    parts: tuple[ChildPart, ...]
