"""PURE. The content of all files of a session, as one value: rendered to their texts, and read from any texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.work.orchestration.order import Resumed, faults, resumed
from interlock.work.orchestration.run_files.document import Beside
from interlock.work.orchestration.run_files.names import (
    PLAN,
    PROGRESS,
    QUESTIONS,
    TASKS,
    TRANSITIONS,
    instructions_name,
    report_name,
    report_of,
)
from interlock.work.orchestration.run_files.plan import parse_plan, render_instructions, render_plan
from interlock.work.orchestration.run_files.progress import ProgressRow, parse_progress, render_progress
from interlock.work.orchestration.run_files.questions import (
    AskingState,
    QuestionsHeader,
    parse_questions,
    render_questions,
)
from interlock.work.orchestration.run_files.reports import parse_report, render_report
from interlock.work.orchestration.run_files.tasks import parse_tasks, render_tasks
from interlock.work.orchestration.run_files.text import one_line
from interlock.work.orchestration.values import OPEN_MARKS, Cycle, Mark, Plan, Task, TaskReport, Verdict

__all__ = ["Known", "OnDisk", "SessionContent", "beside_of", "read_session", "rendered"]

_TITLE: Final = 80


class SessionContent(msgspec.Struct, frozen=True):
    """The state of a session, of which its files are made."""

    id: str
    plan: Plan
    planning: Mapping[str, Mark]
    created: str = ""
    updated: str = ""
    cycles: tuple[Cycle, ...] = ()
    asking: AskingState = AskingState.ACTIVE
    reports: tuple[TaskReport, ...] = ()
    transitions: str = ""
    """The lines of the log."""
    rules: str = ""
    """The rules for every agent of the session."""
    beside: Mapping[str, Mapping[str, Beside]] = msgspec.field(default_factory=dict)
    """The texts of people between our lines, by the file; see `beside_of`."""
    words: int = 0
    """Changes with the tasks' words and order, but not with their marks."""


Known = dict[str, tuple[object, str]]
"""The texts of files, each with what it was made of."""


def rendered(session: SessionContent, known: Known | None = None) -> dict[str, str]:
    """The text of each file, in the order in which they are written: the marks come last, after what they are for.

    With `known`, a file is rendered only if what it is made of differs from the last time.
    """
    known = {} if known is None else known
    found: dict[str, str] = {}
    for name, of, make in _files(session):
        was = known.get(name)
        if was is None or (was[0] is not of and was[0] != of) or not session.words:
            was = known[name] = (of, make())
        found[name] = was[1]
    return found


def _files(session: SessionContent) -> Iterator[tuple[str, object, Callable[[], str]]]:
    """Each file, what it is made of, and how to render it."""
    plan, beside = session.plan, session.beside
    title = one_line(plan.goal)[:_TITLE]
    overview = QuestionsHeader(session.id, session.created, session.updated, session.asking)
    yield PLAN, (plan.goal, plan.text), lambda: render_plan(plan.goal, plan.text)
    yield instructions_name(session.id), (plan.goal, session.words, session.rules), lambda: _instructions(session)
    if session.cycles:
        asked = overview, session.cycles, title, beside.get(QUESTIONS)
        yield QUESTIONS, asked, lambda: render_questions(*asked)
    for report in session.reports:
        yield report_name(report.task, report.attempt), report, partial(render_report, report)
    if session.transitions:
        yield TRANSITIONS, session.transitions, lambda: session.transitions
    yield TASKS, (session.words, beside.get(TASKS)), lambda: render_tasks(plan.tasks, beside.get(TASKS))
    marked = dict(session.planning), plan.tasks, beside.get(PROGRESS)
    yield PROGRESS, marked, lambda: render_progress(*marked)


def _instructions(session: SessionContent) -> str:
    files = dict.fromkeys(name for task in session.plan.tasks for name in task.files)
    return render_instructions(session.id, session.plan.goal, tuple(files), session.rules)


def beside_of(file: str, text: str) -> Mapping[str, Beside]:
    """A person's text between our lines of a file, to be kept when it is written again."""
    if file == PROGRESS:
        return parse_progress(text).beside
    if file == TASKS:
        return parse_tasks(text).beside
    return parse_questions(text).beside if file == QUESTIONS else {}


# What files say


class OnDisk(msgspec.Struct, frozen=True):
    """The content of the files, where the session continues, and what in them is wrong."""

    plan: Plan
    planning: Mapping[str, Mark]
    cycles: tuple[Cycle, ...]
    reports: tuple[TaskReport, ...]
    state: Resumed
    problems: tuple[str, ...] = ()


def read_session(texts: Mapping[str, str]) -> OnDisk:
    """A session by its files; any of them can be missing."""
    progress, listed = parse_progress(texts.get(PROGRESS, "")), parse_tasks(texts.get(TASKS, ""))
    goal, text = parse_plan(texts.get(PLAN, ""))
    reports = tuple(_reports(texts))
    problems = [
        f"{PROGRESS}, line {one.line}: [{one.value.box}] is no mark"
        for one in progress.blocks
        if one.value.mark is None
    ]
    problems += [f"{TASKS}: {one.sentence}" for one in faults([one.value for one in listed.blocks])]
    rows = {one.key: one.value for one in reversed(progress.blocks)}
    entries = {one.key: one.value for one in reversed(listed.blocks)}
    own: dict[str, list[TaskReport]] = {}
    for report in reports:
        own.setdefault(report.task, []).append(report)
    ids = dict.fromkeys((*listed.keys, *progress.keys))
    tasks = tuple(_task(id_, entries.get(id_), rows.get(id_), own.get(id_, [])) for id_ in ids)
    planning = {one.key: one.value.mark or Mark.OPEN for one in progress.planning}
    cycles = parse_questions(texts.get(QUESTIONS, "")).cycles
    return OnDisk(Plan(goal, text, tasks), planning, cycles, reports, resumed(planning, tasks), tuple(problems))


def _reports(texts: Mapping[str, str]) -> Iterator[TaskReport]:
    """The reports; the file's name decides which task and attempt one is for, not what is written in it."""
    for name in sorted(texts):
        of = report_of(name)
        report = parse_report(texts[name]) if of else None
        if of is not None and report is not None:
            yield replace(report, task=of[0], attempt=of[1])


def _task(id_: str, entry: Task | None, row: ProgressRow | None, own: Sequence[TaskReport]) -> Task:
    """A task of both files; one that is only in `progress.md` is described by its note."""
    known = entry or Task(id_, row.note if row else "")
    mark = (row.mark if row else None) or Mark.OPEN
    attempt = max([row.attempt if row else 1, *(one.attempt for one in own)])
    last = next((one for one in own if one.attempt == attempt), None)
    has_failed = last is not None and last.part2 is not None and last.part2.verdict is Verdict.FAILED
    note = row.note if row and entry else ""
    return replace(known, mark=mark, attempt=attempt + (has_failed and mark in OPEN_MARKS), note=note)
