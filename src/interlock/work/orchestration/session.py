"""PURE. All that the files of a session say, as one value, and their texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from interlock.work.orchestration.edits import PLAN, QUESTIONS
from interlock.work.orchestration.papers.instructions import instructions_name, render_instructions
from interlock.work.orchestration.papers.outline import Beside
from interlock.work.orchestration.papers.plan import render_plan
from interlock.work.orchestration.papers.progress import parse_progress, render_progress
from interlock.work.orchestration.papers.questions import Overview, State, parse_questions, render_questions
from interlock.work.orchestration.papers.reports import render_report, report_name
from interlock.work.orchestration.papers.tasks import parse_tasks, render_tasks
from interlock.work.orchestration.papers.text import one_line
from interlock.work.orchestration.papers.transitions import FILE as TRANSITIONS
from interlock.work.orchestration.task_edits import PROGRESS, TASKS
from interlock.work.orchestration.values import Cycle, Mark, Plan, Report

__all__ = ["Session", "beside_of", "rendered"]

_TITLE: Final = 80


@dataclass(frozen=True, slots=True)
class Session:
    """What is so of a session."""

    id: str
    plan: Plan
    planning: Mapping[str, Mark]
    created: str = ""
    updated: str = ""
    cycles: tuple[Cycle, ...] = ()
    asking: State = State.ACTIVE
    reports: tuple[Report, ...] = ()
    transitions: str = ""
    """The lines of the log."""
    rules: str = ""
    """What every agent of the session must keep to."""
    beside: Mapping[str, Mapping[str, Beside]] = field(default_factory=dict)
    """What people wrote between our lines, by the file; see `beside_of`."""


def rendered(session: Session) -> dict[str, str]:
    """The text of each file, in the order in which they are written: the marks come last, after what they stand for."""
    plan, beside = session.plan, session.beside
    found = {PLAN: render_plan(plan.goal, plan.text)}
    files = dict.fromkeys(name for task in plan.tasks for name in task.files)
    found[instructions_name(session.id)] = render_instructions(session.id, plan.goal, tuple(files), session.rules)
    if session.cycles:
        overview = Overview(session.id, session.created, session.updated, session.asking)
        title = one_line(plan.goal)[:_TITLE]
        found[QUESTIONS] = render_questions(overview, session.cycles, title, beside.get(QUESTIONS))
    for report in session.reports:
        found[report_name(report.task, report.attempt)] = render_report(report)
    if session.transitions:
        found[TRANSITIONS] = session.transitions
    found[TASKS] = render_tasks(plan.tasks, beside.get(TASKS))
    found[PROGRESS] = render_progress(session.planning, plan.tasks, beside.get(PROGRESS))
    return found


def beside_of(file: str, text: str) -> Mapping[str, Beside]:
    """What a person wrote between our lines of a file, to be kept when it is written anew."""
    if file == PROGRESS:
        return parse_progress(text).beside
    if file == TASKS:
        return parse_tasks(text).beside
    return parse_questions(text).beside if file == QUESTIONS else {}
