"""Driving a run: read where it stands, ask the next role, write down what came of it, until it ends."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.journal import Lease, Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driving import driving
from interlock.work.orchestration.beginning import begin, beside_notes
from interlock.work.orchestration.changes import Unticked, applied
from interlock.work.orchestration.desk import Desk, opened
from interlock.work.orchestration.planning import pieces
from interlock.work.orchestration.projecting import Found
from interlock.work.orchestration.proving import require_ready
from interlock.work.orchestration.reading import MACHINE
from interlock.work.orchestration.record import OPEN_MARKS, Run
from interlock.work.orchestration.steps import STEPS
from interlock.work.orchestration.visit import Visit, noted
from interlock.work.workshop import Workshop

__all__ = ["MACHINE", "begin", "drive"]

_PERSON = Actor(ActorKind.HUMAN, "somebody", Channel.FILE)


def drive(workshop: Workshop, id_: str) -> Run:
    """Drive a run until it ends or is to stop. Calling it again goes on where it was."""
    journal = workshop.journal
    with driving(journal, MACHINE, id_, workshop.state_directory, workshop.time_outs.wall) as right:
        desk = opened(workshop, id_, journal.machine_of(journal.instance(id_)))
        is_first = True
        if desk.run.outcome is None:
            require_ready(workshop, desk.run)
        try:
            while True:
                workshop.heed()
                _settle(_visit(desk, right.lease), is_first)
                is_first = False
                workshop.tell(desk.run)
                if workshop.pausing.is_set() and desk.run.outcome is None and desk.run.stopped is None:
                    workshop.heed()  # what somebody said is read; that it is to rest stays so
                    if not workshop.pausing.is_set():
                        continue
                if desk.run.outcome is not None or desk.run.stopped is not None or workshop.pausing.is_set():
                    return _rested(_visit(desk, right.lease))
                _step(_visit(desk, right.lease))
                right.renew()
        finally:
            desk.git.shut()


def _rested(visit: Visit) -> Run:
    """Whoever looks at the files from now on can know that they were written."""
    if visit.run.left or (visit.run.found and visit.run.projected):
        visit.note("written")
    return visit.desk.take_in()


def _visit(desk: Desk, lease: Lease) -> Visit:
    journal = desk.workshop.journal
    desk.take_in()
    instance = journal.instance(desk.run.id)
    return Visit(desk.workshop, desk, instance.snapshot, journal.machine_of(instance), lease)


def _step(visit: Visit) -> None:
    """One effect, and what came of it, written as one."""
    run = visit.run
    since = run.version
    events = STEPS[run.state](visit)
    if events is None:
        return

    def work(transaction: Transaction) -> None:
        meanwhile = transaction.history(run.id, since)
        is_moved = any(one.event != NOTED for one in meanwhile)  # by a person, who wants something else now
        for event in events:
            if not is_moved or _is_account(event):
                transaction.append(run.id, event, lease=visit.lease)

    visit.workshop.journal.transact(work)


def _is_account(event: Event) -> bool:
    """Whether it says what an agent cost, which counts also where its answer does not."""
    return event.name == NOTED and event.evidence is not None and event.evidence.data.get("type") == "invoked"


# The files of the session


def _settle(visit: Visit, is_whole: bool) -> None:
    """Before a step: take in what people changed in the files, and let them say what is so.

    All files are looked at when a driver begins, and after each agent; between two steps, those that people edit.
    """
    run = visit.run
    if run.state == "Initializing" or (run.outcome is not None and run.moves[-1][0] == "Initializing"):
        return  # where it goes on is not known yet, or never will be
    if run.is_foreign:  # its driver died: what is in the files may be the agent's
        visit.project()
        visit.note("released")
        visit.desk.take_in()
    elif run.outcome is None:
        found = visit.desk.papers.edits(run, visit.desk.last_projected, is_whole=is_whole)
        if found is not None:
            _read_back(visit, found)
    visit.project(is_whole=is_whole or run.outcome is not None)


def _read_back(visit: Visit, found: Found) -> None:
    """Take in what a person changed. What they may not change is told; the file says again what is so."""
    run, (changes, refused) = visit.run, found.edits
    for one in refused:
        visit.workshop.tell(one.sentence)
    if not found.texts:
        return
    has_more = any(one.mark in OPEN_MARKS for one in applied(run.plan.tasks, changes))

    def work(transaction: Transaction) -> None:
        for one in changes:
            if isinstance(one, Unticked):
                evidence = Evidence(task=one.task)
                transaction.append(run.id, Event("task_reopened", _PERSON, evidence=evidence), lease=visit.lease)
        for note in _notes_of(found, run):
            transaction.append(run.id, Event(NOTED, _PERSON, evidence=note.evidence), lease=visit.lease)
        if has_more and transaction.instance(run.id).state == "Complete":
            transaction.append(run.id, Event("tasks_edited", _PERSON), lease=visit.lease)

    visit.workshop.journal.transact(work)
    visit.desk.take_in()


def _notes_of(found: Found, run: Run) -> Iterator[Event]:
    """What is written down of edits: what counts, what does not, and what was written between our lines."""
    changes, refused = found.edits
    sentences = [one.sentence for one in refused][:50]
    for portion in pieces(changes):
        yield noted("read_back", changes=portion, files=found.hashes, refused=sentences)
    yield from beside_notes(found.beside(run))
