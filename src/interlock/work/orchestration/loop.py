"""Driving a run: read where it stands, ask the next role, write down what came of it, until it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.journal import Transaction
from interlock.machine import Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.errands import DRIVER, end_left_errands
from interlock.work.orchestration.planning import pieces
from interlock.work.orchestration.projecting import project
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.orchestration.steps import STEPS
from interlock.work.orchestration.values import Mark
from interlock.work.orchestration.visit import Visit
from interlock.work.sessions.verbs import is_present
from interlock.work.tickets.locks import process_holder
from interlock.work.workshop import Workshop
from interlock.world.git import state

__all__ = ["MACHINE", "begin", "drive"]

MACHINE = "orchestrator"
_LEASE_SECONDS = 600.0
_LONGEST = 86_400.0


def begin(
    workshop: Workshop,
    goal: str,
    session: str,
    roles: Mapping[str, str],
    parent: str | None = None,
    carries: Run | None = None,
) -> str:
    """A new run for a goal; one that goes on where another failed has its plan, and every open task a fresh start."""
    base = carries.base if carries is not None else state(workshop.root).head or ""
    data = {"goal": goal, "session": session, "roles": dict(roles), "base": base}
    event = Event("created", DRIVER, evidence=Evidence(data=data))

    def work(transaction: Transaction) -> str:
        made = transaction.create(MACHINE, event, parent=parent).entry.instance
        if carries is not None:
            for note in _carried(carries):
                transaction.append(made, note)
        return made

    return workshop.journal.transact(work)


def _carried(run: Run) -> Iterator[Event]:
    """What a run takes over from the one that failed: its plan, its questions and its reports."""
    tasks = tuple(
        one if one.mark in (Mark.DONE, Mark.CLOSED, Mark.PENDING) else replace(one, mark=Mark.OPEN, attempt=1)
        for one in run.plan.tasks
    )
    for place, portion in enumerate(pieces(tasks)):
        yield _note("tasks", tasks=msgspec.to_builtins(portion), is_first=place == 0)
    yield _note("carried", goal=run.plan.goal, text=run.plan.text, cycles=msgspec.to_builtins(run.cycles))
    for reports in run.reports.values():
        for report in reports:
            yield _note("report", report=msgspec.to_builtins(report))


def _note(type_: str, **data: Any) -> Event:
    plain = msgspec.json.decode(msgspec.json.encode({"type": type_, **data}))
    return Event(NOTED, DRIVER, evidence=Evidence(data=plain))


def drive(workshop: Workshop, id_: str) -> Run:
    """Drive a run until it ends or is to stop. Calling it again goes on where it was."""
    journal = workshop.journal
    seconds = _LEASE_SECONDS + (workshop.time_outs.wall or _LONGEST)
    lease = journal.acquire(f"{MACHINE}:{id_}", process_holder(), seconds, is_present)
    try:
        end_left_errands(journal, id_, workshop.state_directory)
        while True:
            entries, instance = journal.history(id_), journal.instance(id_)
            run = run_of(entries)
            visit = Visit(workshop, run, instance.snapshot, journal.machine_of(instance), lease)
            project(visit, entries)
            workshop.tell(run)
            if run.outcome is not None or run.stopped is not None or workshop.pausing.is_set():
                return run
            events = STEPS[run.state](visit)
            if events is not None:

                def work(transaction: Transaction, events: list[Event] = events) -> None:
                    for event in events:
                        transaction.append(id_, event, lease=lease)

                journal.transact(work)
            journal.renew(lease, seconds)
    finally:
        with suppress(InterlockError):  # the journal itself has failed, and says so
            journal.release(lease)
