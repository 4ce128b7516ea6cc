"""Driving a run: read where it stands, ask the next role, write down what came of it, until it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from interlock.errors import Refusal
from interlock.journal import Lease, Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driver import loop as driver
from interlock.work.driver.context import DriverContext
from interlock.work.driver.driver_lease import hold_driver_lease
from interlock.work.driver.step import noted
from interlock.work.driver.system import NoEvent, StepFunction, StepResult, interrupt_events
from interlock.work.orchestration.agent_place import commit_verified, end_tree, placed
from interlock.work.orchestration.beginning import begin, beside_notes
from interlock.work.orchestration.changes import Unticked, applied
from interlock.work.orchestration.driver_step import RunStep
from interlock.work.orchestration.planning import pieces
from interlock.work.orchestration.projected_files import FileEdits
from interlock.work.orchestration.proving import require_ready
from interlock.work.orchestration.reading import MACHINE
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.orchestration.run_cache import RunCache, opened
from interlock.work.orchestration.steps import STEPS
from interlock.work.orchestration.values import OPEN_MARKS

__all__ = ["MACHINE", "begin", "drive"]

_PERSON = Actor(ActorKind.HUMAN, "somebody", Channel.FILE)


def drive(context: DriverContext, id_: str) -> Run:
    """Drive a run until it ends or is stopped. Calling it again continues."""
    journal = context.journal
    with hold_driver_lease(context, MACHINE, id_) as held:
        inside, target = placed(held.context, run_of(journal.history(id_)), held.lease)
        cache = opened(inside, id_, journal.machine_of(journal.instance(id_)), context.root, target)
        return driver.drive(_RunSystem(inside, cache), inside, held.lease, held.check).run


class _RunSystem(msgspec.Struct):
    """One run, as the driver's loop drives it."""

    context: DriverContext
    cache: RunCache
    _is_first: bool = True

    def read(self, lease: Lease) -> RunStep:
        return RunStep.read(self.context, self.cache.fold, lease, self.cache)

    def next(self, step: RunStep) -> StepFunction[RunStep] | None:
        return STEPS.get(step.snapshot.state)

    def enter(self, step: RunStep) -> bool:
        if step.run.outcome is None:
            require_ready(step.context, step.run)
            if step.run.failing:
                step.note("tried_again")  # driving it again means that a person fixed its agents
        return True

    def settle(self, step: RunStep) -> bool:
        is_first, self._is_first = self._is_first, False
        commit_verified(step)
        return _settle(step, is_first)

    def pause(self, step: RunStep) -> Sequence[Event]:
        return interrupt_events(self.context)

    def overspent(self, step: RunStep, refusal: Refusal) -> StepResult:
        step.pause(f"{refusal.message} {refusal.hint}".removesuffix("."), "budget")
        return NoEvent.RETRY

    def append(self, transaction: Transaction, step: RunStep, events: Sequence[Event]) -> None:
        for event in events:
            transaction.append(step.run.id, event, lease=step.lease)

    def leave(self, step: RunStep) -> None:
        """Report how it ended, and note that the files were written, for whoever looks at them from now on."""
        if step.run.outcome is not None or step.run.paused is not None:
            step.context.report(step.run.copied())
        if step.run.left or (step.run.found and step.run.projected):
            step.note("written")
        if self.cache.target is not None and step.run.outcome == "success":
            self.cache.git.shut()
            end_tree(self.cache.target, step.run)

    def close(self) -> None:
        self.cache.git.shut()


# The files of the session


def _settle(step: RunStep, is_whole: bool) -> bool:
    """Take in what people changed in the files, and write what is so; True if an edit was taken in.

    All files are looked at when a driver begins, and after each agent; between two steps, those that people edit.
    """
    run = step.run
    if run.state == "Initializing" or (run.outcome is not None and run.moves[-1][0] == "Initializing"):
        return False  # where it goes on is not known yet, or never will be
    is_edited = False
    if run.is_foreign:  # its driver died: what is in the files may be the agent's
        step.project()
        step.note("released")
    elif run.outcome is None:
        found = step.cache.files.edits(run, step.cache.last_projected, is_whole=is_whole)
        is_edited = found is not None and _read_back(step, found)
    step.project(is_whole=is_whole or run.outcome is not None)
    return is_edited


def _read_back(step: RunStep, found: FileEdits) -> bool:
    """Take in what a person changed; True if anything counts. What they may not change is told."""
    run, (changes, refused) = step.run, found.edits
    for one in refused:
        step.context.report(one.sentence)
    if not found.texts:
        return False
    has_more = any(one.mark in OPEN_MARKS for one in applied(run.plan.tasks, changes))

    def work(transaction: Transaction) -> None:
        for one in changes:
            if isinstance(one, Unticked):
                evidence = Evidence(task=one.task)
                transaction.append(run.id, Event("task_reopened", _PERSON, evidence=evidence), lease=step.lease)
        for note in _notes_of(found, run):
            transaction.append(run.id, Event(NOTED, _PERSON, evidence=note.evidence), lease=step.lease)
        if has_more and transaction.instance(run.id).state == "Complete":
            transaction.append(run.id, Event("tasks_edited", _PERSON), lease=step.lease)

    step.context.journal.transact(work)
    step.catch_up()
    return True


def _notes_of(found: FileEdits, run: Run) -> Iterator[Event]:
    """What is written down of edits: what counts, what does not, and what was written between our lines."""
    changes, refused = found.edits
    sentences = [one.sentence for one in refused][:50]
    for portion in pieces(changes):
        yield noted("read_back", changes=portion, files=found.hashes, refused=sentences)
    yield from beside_notes(found.beside(run))
