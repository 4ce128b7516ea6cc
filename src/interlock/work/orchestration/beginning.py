"""Begin a run: for a goal, after another one on the same directory, or on a directory that was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from interlock.errors import Refusal
from interlock.journal import Transaction
from interlock.machine import Event, Evidence
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.context import DriverContext
from interlock.work.driver.step import noted
from interlock.work.formats.hashing import sha256_of
from interlock.work.formats.quoting import sayable
from interlock.work.orchestration.changes import is_too_long
from interlock.work.orchestration.contracts import Role
from interlock.work.orchestration.edits import unreadable, with_plain_ends
from interlock.work.orchestration.planning import pieces
from interlock.work.orchestration.projected_files import FileEdits
from interlock.work.orchestration.reading import MACHINE
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import change, run_of
from interlock.work.orchestration.roles import role_file
from interlock.work.orchestration.run_cache import opened
from interlock.work.orchestration.run_files.names import PLAN, QUESTIONS, TASKS, is_session_id
from interlock.work.orchestration.session import OnDisk, beside_of, read_session
from interlock.work.orchestration.store import SessionFiles
from interlock.work.orchestration.values import CLOSED_MARKS, Mark, Task, TaskReport

__all__ = [
    "begin",
    "beside_notes",
    "found_on_disk",
    "role_hashes",
    "roles_now",
    "roles_of",
    "session_name",
    "with_edits",
]

_PERFORMERS = (Role.PLANNER, Role.QUESTIONER, Role.EXECUTOR, Role.REVIEWER)
_PORTION = 50_000
"""In characters, of which each has up to four bytes."""


def roles_of(context: DriverContext, given: Mapping[str, str | None], root: Path | None = None) -> dict[str, str]:
    """Return the agent of each role: as it was asked for, as the settings say, or as the role's file says.

    The files of the roles are those of the context's work tree, or of another one.
    """
    settings = context.settings
    worker = given.get("agent") or settings.text("agent.name")
    judge = given.get("judge") or given.get("agent") or settings.text("agent.judge") or worker
    found: dict[str, str] = {}
    for role in _PERFORMERS:
        file = role_file(role, context.ports.folder(root or context.root), settings.text("orchestrate.roles"))
        usual = judge if role is Role.REVIEWER else worker
        name, _, model = usual.partition(":")
        model = file.model or (model if file.agent in (None, name) else "")
        own = f"{file.agent or name}:{model}" if model else file.agent or name
        found[role] = given.get(role) or settings.text(f"orchestrate.{role}") or own
    return found


def role_hashes(context: DriverContext) -> dict[str, str]:
    """The hashes of the files that say who the roles are."""
    folder, where = context.ports.folder(context.root), context.settings.text("orchestrate.roles")
    return {str(role): role_file(role, folder, where).sha256 for role in _PERFORMERS}


def roles_now(context: DriverContext, run: Run) -> dict[str, str]:
    """The agents of a run that a person resumes; a role whose file has changed gets the agent that it names now."""
    now, hashes = roles_of(context, {}), role_hashes(context)
    changed = {role for role, sha256 in hashes.items() if run.files.get(role) != sha256} - {*run.chosen}
    return {role: now[role] if role in changed else name for role, name in run.roles.items()}


def session_name(context: DriverContext) -> str:
    """The name of a new session's directory, which no other session has or had."""
    journal = context.journal
    taken = tuple(run_of(journal.entries(instance=one.id, most=1)).session for one in journal.recent(MACHINE, 5))
    files = SessionFiles(context.ports, context.root, context.state_directory)
    return files.new_id(datetime.fromtimestamp(journal.now(), UTC), taken)


def begin(
    context: DriverContext,
    goal: str,
    session: str,
    roles: Mapping[str, str],
    parent: str | None = None,
    carries: Run | None = None,
    why: str = "",
    decided: Event | None = None,
) -> str:
    """A new run for a goal; there is one at a time, besides those that threads drive.

    One that carries another continues its plan on its directory, every task that is not over with a fresh start;
    with a reason why, it begins by planning. `decided` is the note of who wanted that.
    """
    data = {
        "goal": goal,
        "session": session,
        "roles": dict(roles),
        "files": role_hashes(context),
        "chosen": [role for role, name in roles_of(context, {}).items() if name != roles[role]],
        "base": (carries.base if carries is not None else "") or context.git.state(context.root).head or "",
        "follows": (carries.id or None) if carries is not None else None,
    }
    event = Event("created", DRIVER, evidence=Evidence(data=data))

    def work(transaction: Transaction) -> str:
        known = [one for one in transaction.open_instances(MACHINE) if one.parent == parent]
        if known:
            message = f"A run is under way: {known[-1].id}."
            raise Refusal("run_open", message, "`ralph orchestrate resume` continues it, `add` gives it more to do.")
        made = transaction.create(MACHINE, event, parent=parent).entry.instance
        for note in _carried(carries, why) if carries is not None else ():
            transaction.append(made, note)
        if decided is not None:
            transaction.append(made, decided)
        return made

    return context.journal.transact(work)


def _carried(run: Run, why: str) -> Iterator[Event]:
    """The notes of what a run takes over: the plan, questions, reports, and the hashes of its files."""
    tasks = tuple(_fresh(one) for one in run.plan.tasks)
    for place, portion in enumerate(pieces(tasks)):
        yield noted("tasks", tasks=portion, is_first=place == 0)
    plan, told = run.plan, {"told": run.told, "why": sayable(why), "planning": run.planning}
    yield noted("carried", goal=plan.goal, text=plan.text, **told)
    for kind, hashes in (("projected", run.projected), ("found", run.found)):
        for files in pieces(hashes.items()) if hashes else ():
            yield noted("carried_more", **{kind: dict(files)})
    yield from beside_notes(run.beside)
    for kind, values in (("wishes", run.wishes), ("cycles", run.cycles)):
        for some in pieces(values):
            yield noted("carried_more", **{kind: some})
    for report in (one for reports in run.reports.values() for one in reports):
        yield noted("carried_more", report=replace(report, part2=None))
        if report.part2 is not None:
            yield noted("carried_more", task=report.task, part2=report.part2)


def _fresh(task: Task) -> Task:
    """The task for a new run: its attempts are counted again from 1, and one that waits for its review still does."""
    if task.mark in CLOSED_MARKS:
        return task
    return replace(task, mark=Mark.PENDING if task.mark is Mark.PENDING else Mark.OPEN, attempt=1)


def beside_notes(files: Mapping[str, str]) -> Iterator[Event]:
    """The notes of files that people wrote into, in portions that fit into an entry each."""
    for name, text in files.items():
        for start in range(0, len(text) or 1, _PORTION):
            yield noted("beside", file=name, text=text[start : start + _PORTION], is_first=start == 0)


# What is found


def with_edits(context: DriverContext, run: Run) -> tuple[Run, FileEdits | None]:
    """A run that has ended, with what a person edited in its files since, and these edits."""
    journal = context.journal
    cache = opened(context, run.id, journal.machine_of(journal.instance(run.id)))
    found = cache.files.edits(cache.run, cache.last_projected)
    cache.run.projected.update(cache.files.as_left(cache.run))  # not an edit for the next run, either
    if found is not None:
        cache.run.beside.update(found.beside(cache.run))
        change(cache.run, found.edits[0], cache.run.updated)
        cache.run.projected.update(found.hashes)
    return cache.run, found


def found_on_disk(context: DriverContext, session: str) -> Run | None:
    """The session of a directory without a known run, as its files say it; None if there is no such directory.

    Refuses with `session_unreadable` what cannot be right in them.
    """
    files = SessionFiles(context.ports, context.root, context.state_directory)
    if not is_session_id(session) or session not in files.sessions():
        return None
    texts = files.texts(session)
    disk = read_session(texts)
    problems = [*disk.problems, *_problems(texts, disk)]
    if problems:
        hint = "Fix that in the files, then run the command again."
        raise Refusal("session_unreadable", f"{session} cannot be gone on with: {'; '.join(problems[:5])}.", hint)
    reports: dict[str, list[TaskReport]] = {}
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
        found={name: sha256_of(text) for name, text in texts.items()},
        beside={name: with_plain_ends(text) for name, text in texts.items() if beside_of(name, text)},
    )


def _problems(texts: Mapping[str, str], disk: OnDisk) -> Iterator[str]:
    """The reasons why a directory cannot become a run, apart from its tasks."""
    wrong = [one for name, text in texts.items() if (one := unreadable(name, text))]
    yield from (one.sentence.rstrip(".") for one in wrong)
    if not disk.plan.goal.strip() and not disk.plan.tasks:
        yield f"neither {PLAN} names a goal nor {TASKS} a task"
    parts = {
        PLAN: ((disk.plan.goal, disk.plan.text),),
        TASKS: disk.plan.tasks,
        QUESTIONS: disk.cycles,
        "a report": disk.reports,
    }
    yield from (
        f"{name} holds a part that is too long" for name, values in parts.items() if any(map(is_too_long, values))
    )
