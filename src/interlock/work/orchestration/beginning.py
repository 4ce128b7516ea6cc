"""How a run comes to be: for a goal, after another one on the same directory, or on a directory that was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from interlock.errors import Refusal
from interlock.journal import Transaction
from interlock.machine import Event, Evidence
from interlock.work.errands import DRIVER
from interlock.work.orchestration.changes import NotTaken
from interlock.work.orchestration.contracts import Role
from interlock.work.orchestration.desk import opened
from interlock.work.orchestration.papers.names import is_session_id
from interlock.work.orchestration.planning import pieces
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import change, run_of
from interlock.work.orchestration.roles import role_file
from interlock.work.orchestration.store import SessionFiles
from interlock.work.orchestration.values import Mark, Report
from interlock.work.orchestration.visit import noted
from interlock.work.quoting import sayable
from interlock.work.settings import Settings
from interlock.work.workshop import Workshop
from interlock.world.git import state

__all__ = ["MACHINE", "begin", "found_on_disk", "role_hashes", "roles_of", "session_name", "with_edits"]

MACHINE = "orchestrator"
_PERFORMERS = (Role.PLANNER, Role.QUESTIONER, Role.EXECUTOR, Role.REVIEWER)
_KEPT = (Mark.DONE, Mark.CLOSED, Mark.PENDING)


def roles_of(settings: Settings, given: Mapping[str, str | None], root: Path | None = None) -> dict[str, str]:
    """Which agent plays which role: what was asked for, what the settings say, or what its file says."""
    worker = given.get("agent") or settings.text("agent.name")
    judge = given.get("judge") or given.get("agent") or settings.text("agent.judge") or worker
    found: dict[str, str] = {}
    for role in _PERFORMERS:
        file = role_file(role, root, settings.text("orchestrate.roles"))
        usual = judge if role is Role.REVIEWER else worker
        name, _, model = usual.partition(":")
        model = file.model or (model if file.agent in (None, name) else "")
        own = f"{file.agent or name}:{model}" if model else file.agent or name
        found[role] = given.get(role) or settings.text(f"orchestrate.{role}") or own
    return found


def role_hashes(workshop: Workshop) -> dict[str, str]:
    """The hashes of the files that say who the roles are."""
    where = workshop.settings.text("orchestrate.roles")
    return {str(role): role_file(role, workshop.root, where).sha256 for role in _PERFORMERS}


def session_name(workshop: Workshop) -> str:
    """The name of a new session's directory, which none has, and no run before had."""
    journal = workshop.journal
    taken = tuple(run_of(journal.entries(instance=one.id, most=1)).session for one in journal.recent(MACHINE, 5))
    files = SessionFiles(workshop.root, workshop.state_directory)
    return files.new_id(datetime.fromtimestamp(journal.now(), UTC), taken)


def begin(
    workshop: Workshop,
    goal: str,
    session: str,
    roles: Mapping[str, str],
    parent: str | None = None,
    carries: Run | None = None,
    why: str = "",
) -> str:
    """A new run for a goal; there is one at a time, besides those that threads drive.

    One that carries another goes on with its plan on its directory, every task that is not over with a fresh start;
    with a reason why, it begins by planning.
    """
    data = {
        "goal": goal,
        "session": session,
        "roles": dict(roles),
        "files": role_hashes(workshop),
        "base": (carries.base if carries is not None else "") or state(workshop.root).head or "",
        "follows": (carries.id or None) if carries is not None else None,
    }
    event = Event("created", DRIVER, evidence=Evidence(data=data))

    def work(transaction: Transaction) -> str:
        known = [one for one in transaction.open_instances(MACHINE) if one.parent == parent]
        if known:
            message = f"A run is under way: {known[-1].id}."
            raise Refusal("run_open", message, "`ralph orchestrate resume` goes on with it, `add` gives it more to do.")
        made = transaction.create(MACHINE, event, parent=parent).entry.instance
        for note in _carried(carries, why) if carries is not None else ():
            transaction.append(made, note)
        return made

    return workshop.journal.transact(work)


def _carried(run: Run, why: str) -> Iterator[Event]:
    """What a run takes over: the plan, what was asked, the reports, and by which the files are known again."""
    tasks = tuple(one if one.mark in _KEPT else replace(one, mark=Mark.OPEN, attempt=1) for one in run.plan.tasks)
    for place, portion in enumerate(pieces(tasks)):
        yield noted("tasks", tasks=portion, is_first=place == 0)
    plan, told = run.plan, {"told": run.told, "why": sayable(why), "planning": run.planning}
    yield noted("carried", goal=plan.goal, text=plan.text, projected=run.projected, **told)
    for kind, values in (("wishes", run.wishes), ("cycles", run.cycles)):
        for some in pieces(values):
            yield noted("carried_more", **{kind: some})
    for report in (one for reports in run.reports.values() for one in reports):
        yield noted("carried_more", report=replace(report, part2=None))
        if report.part2 is not None:
            yield noted("carried_more", task=report.task, part2=report.part2)


# What is found


def with_edits(workshop: Workshop, run: Run) -> tuple[Run, tuple[NotTaken, ...]]:
    """A run that has ended, as a person edited its files since, and what of that does not count."""
    journal = workshop.journal
    desk = opened(workshop, run.id, journal.machine_of(journal.instance(run.id)))
    found = desk.papers.edits(desk.run, desk.last_projected)
    if found is None:
        return desk.run, ()
    changes, refused = found.edits
    change(desk.run, changes, desk.run.updated)
    desk.run.projected.update(found.hashes)
    return desk.run, refused


def found_on_disk(workshop: Workshop, session: str) -> Run | None:
    """A session that no run is known of, as its files say it, whoever wrote them; None where there is no directory.

    Refuses with `session_unreadable` what cannot be right in them.
    """
    files = SessionFiles(workshop.root, workshop.state_directory)
    if not is_session_id(session) or session not in files.sessions():
        return None
    disk = files.on_disk(session)
    if disk.problems:
        hint = "Mend that in the files, then say it again."
        raise Refusal("session_unreadable", f"{session} cannot be gone on with: {'; '.join(disk.problems[:5])}.", hint)
    reports: dict[str, list[Report]] = {}
    for report in sorted(disk.reports, key=lambda one: one.attempt):
        reports.setdefault(report.task, []).append(report)
    goal = disk.plan.goal.strip() or f"Finish the tasks of the session {session}"
    return Run(
        session=session,
        goal=goal,
        plan=replace(disk.plan, goal=goal),
        planning=dict(disk.planning),
        cycles=list(disk.cycles),
        reports=reports,
        projected=files.hashes(session),
    )
