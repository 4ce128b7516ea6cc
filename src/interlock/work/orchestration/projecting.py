"""The files of a session, made to say what the journal says of its run."""

from __future__ import annotations

from typing import Final

from interlock.journal import Entry
from interlock.machine import Machine
from interlock.work.orchestration.order import PLANNING
from interlock.work.orchestration.papers.transitions import transitions
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.session import Session, rendered
from interlock.work.orchestration.store import SessionFiles, sha256_of
from interlock.work.orchestration.values import Mark
from interlock.work.orchestration.visit import Visit

__all__ = ["project", "session_of"]

_PLANNED: Final = frozenset({"Executing", "Reviewing", "Complete", "Exit"})


def session_of(run: Run, entries: list[Entry], machine: Machine) -> Session:
    """What the files of a run's session say."""
    is_planned = run.state in _PLANNED or bool(run.plan.tasks)
    marks = dict.fromkeys(PLANNING, Mark.DONE if is_planned else Mark.OPEN)
    if not is_planned:
        marks["plan-init"] = Mark.WORKING if run.state == "Planning" else Mark.OPEN
    return Session(
        id=run.session,
        plan=run.plan,
        planning=marks,
        created=run.started,
        updated=run.updated,
        cycles=tuple(run.cycles),
        reports=tuple(report for reports in run.reports.values() for report in reports),
        transitions="".join(transitions(machine, run.session, entries)),
    )


def project(visit: Visit, entries: list[Entry]) -> None:
    """Write what differs, noted first. What somebody edited is kept aside and told: a run is steered by its verbs."""
    run, workshop = visit.run, visit.workshop
    wanted = rendered(session_of(run, entries, visit.machine))
    hashes = {name: sha256_of(text) for name, text in wanted.items()}
    fresh = {name: found for name, found in hashes.items() if run.projected.get(name, [""])[-1] != found}
    if fresh:
        visit.note("projected", files=fresh)
    ours = {found for known in run.projected.values() for found in known} | set(hashes.values())
    SessionFiles(workshop.root, workshop.state_directory).project(
        run.session, wanted, ours.__contains__, lambda restored: workshop.tell(restored.message)
    )
