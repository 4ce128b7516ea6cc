"""Driving a run: read where it stands, ask the next role, write down what came of it, until it ends."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.journal import Lease, Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driver.context import DriverContext
from interlock.work.driver.driver_lease import hold_driver_lease
from interlock.work.orchestration.beginning import begin, beside_notes
from interlock.work.orchestration.changes import Unticked, applied
from interlock.work.orchestration.driver_step import RunStep, noted
from interlock.work.orchestration.planning import pieces
from interlock.work.orchestration.projecting import FileEdits
from interlock.work.orchestration.proving import require_ready
from interlock.work.orchestration.reading import MACHINE
from interlock.work.orchestration.record import OPEN_MARKS, Run
from interlock.work.orchestration.run_cache import RunCache, opened
from interlock.work.orchestration.steps import STEPS

__all__ = ["MACHINE", "begin", "drive"]

_PERSON = Actor(ActorKind.HUMAN, "somebody", Channel.FILE)


def drive(context: DriverContext, id_: str) -> Run:
    """Drive a run until it ends or is to stop. Calling it again goes on where it was."""
    journal = context.journal
    with hold_driver_lease(journal, MACHINE, id_, context.state_directory, context.time_outs.wall) as right:
        desk = opened(context, id_, journal.machine_of(journal.instance(id_)))
        is_first = True
        if desk.run.outcome is None:
            require_ready(context, desk.run)
        try:
            while True:
                context.refresh()
                _settle(_visit(desk, right.lease), is_first)
                is_first = False
                context.tell(desk.run)
                if context.pausing.is_set() and desk.run.outcome is None and desk.run.stopped is None:
                    context.refresh()  # what somebody said is read; that it is to rest stays so
                    if not context.pausing.is_set():
                        continue
                if desk.run.outcome is not None or desk.run.stopped is not None or context.pausing.is_set():
                    return _rested(_visit(desk, right.lease))
                _step(_visit(desk, right.lease))
                right.renew()
        finally:
            desk.git.shut()


def _rested(step: RunStep) -> Run:
    """Whoever looks at the files from now on can know that they were written."""
    if step.run.left or (step.run.found and step.run.projected):
        step.note("written")
    return step.desk.take_in()


def _visit(desk: RunCache, lease: Lease) -> RunStep:
    journal = desk.context.journal
    desk.take_in()
    instance = journal.instance(desk.run.id)
    return RunStep(desk.context, desk, instance.snapshot, journal.machine_of(instance), lease)


def _step(step: RunStep) -> None:
    """One effect, and what came of it, written as one."""
    run = step.run
    since = run.version
    events = STEPS[run.state](step)
    if events is None:
        return

    def work(transaction: Transaction) -> None:
        meanwhile = transaction.history(run.id, since)
        is_moved = any(one.event != NOTED for one in meanwhile)  # by a person, who wants something else now
        for event in events:
            if not is_moved or _is_account(event):
                transaction.append(run.id, event, lease=step.lease)

    step.context.journal.transact(work)


def _is_account(event: Event) -> bool:
    """Whether it says what an agent cost, which counts also where its answer does not."""
    return event.name == NOTED and event.evidence is not None and event.evidence.data.get("type") == "invoked"


# The files of the session


def _settle(step: RunStep, is_whole: bool) -> None:
    """Before a step: take in what people changed in the files, and let them say what is so.

    All files are looked at when a driver begins, and after each agent; between two steps, those that people edit.
    """
    run = step.run
    if run.state == "Initializing" or (run.outcome is not None and run.moves[-1][0] == "Initializing"):
        return  # where it goes on is not known yet, or never will be
    if run.is_foreign:  # its driver died: what is in the files may be the agent's
        step.project()
        step.note("released")
        step.desk.take_in()
    elif run.outcome is None:
        found = step.desk.papers.edits(run, step.desk.last_projected, is_whole=is_whole)
        if found is not None:
            _read_back(step, found)
    step.project(is_whole=is_whole or run.outcome is not None)


def _read_back(step: RunStep, found: FileEdits) -> None:
    """Take in what a person changed. What they may not change is told; the file says again what is so."""
    run, (changes, refused) = step.run, found.edits
    for one in refused:
        step.context.tell(one.sentence)
    if not found.texts:
        return
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
    step.desk.take_in()


def _notes_of(found: FileEdits, run: Run) -> Iterator[Event]:
    """What is written down of edits: what counts, what does not, and what was written between our lines."""
    changes, refused = found.edits
    sentences = [one.sentence for one in refused][:50]
    for portion in pieces(changes):
        yield noted("read_back", changes=portion, files=found.hashes, refused=sentences)
    yield from beside_notes(found.beside(run))
