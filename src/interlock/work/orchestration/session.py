"""PURE. All that the files of a session say, as one value, and their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import msgspec

from interlock.work.orchestration.edits import PLAN, QUESTIONS
from interlock.work.orchestration.run_files.instructions import instructions_name, render_instructions
from interlock.work.orchestration.run_files.outline import Beside
from interlock.work.orchestration.run_files.plan import render_plan
from interlock.work.orchestration.run_files.progress import parse_progress, render_progress
from interlock.work.orchestration.run_files.questions import (
    AskingState,
    QuestionsHeader,
    parse_questions,
    render_questions,
)
from interlock.work.orchestration.run_files.reports import render_report, report_name
from interlock.work.orchestration.run_files.tasks import parse_tasks, render_tasks
from interlock.work.orchestration.run_files.text import one_line
from interlock.work.orchestration.run_files.transitions import FILE as TRANSITIONS
from interlock.work.orchestration.task_edits import PROGRESS, TASKS
from interlock.work.orchestration.values import Cycle, Mark, Plan, TaskReport

__all__ = ["Known", "SessionContent", "beside_of", "rendered"]

_TITLE: Final = 80


class SessionContent(msgspec.Struct, frozen=True):
    """What is so of a session."""

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
    """What every agent of the session must keep to."""
    beside: Mapping[str, Mapping[str, Beside]] = msgspec.field(default_factory=dict)
    """What people wrote between our lines, by the file; see `beside_of`."""
    words: int = 0
    """Another number where what the tasks say, or their order, is another: their marks aside."""


Known = dict[str, tuple[object, str]]
"""The texts of files, each with what it was made of."""


def rendered(session: SessionContent, known: Known | None = None) -> dict[str, str]:
    """The text of each file, in the order in which they are written: the marks come last, after what they stand for.

    With `known`, only that is made anew which is made of something else than the last time.
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
    """Each file with what it is made of, and how."""
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
    """What a person wrote between our lines of a file, to be kept when it is written anew."""
    if file == PROGRESS:
        return parse_progress(text).beside
    if file == TASKS:
        return parse_tasks(text).beside
    return parse_questions(text).beside if file == QUESTIONS else {}
