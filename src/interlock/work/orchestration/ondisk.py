"""PURE. A session as its files say it, whoever wrote them: what a run on an old directory begins with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from interlock.work.orchestration.edits import PLAN, QUESTIONS
from interlock.work.orchestration.order import Resumed, faults, resumed
from interlock.work.orchestration.run_files.plan import parse_plan
from interlock.work.orchestration.run_files.progress import ProgressRow, parse_progress
from interlock.work.orchestration.run_files.questions import parse_questions
from interlock.work.orchestration.run_files.reports import parse_report, report_of
from interlock.work.orchestration.run_files.tasks import parse_tasks
from interlock.work.orchestration.task_edits import PROGRESS, TASKS
from interlock.work.orchestration.values import Cycle, Mark, Plan, Task, TaskReport, Verdict

__all__ = ["OnDisk", "read_session"]

_AGAIN = frozenset({Mark.OPEN, Mark.WORKING})


class OnDisk(msgspec.Struct, frozen=True):
    """What the files say, where the session goes on, and what in them cannot be right."""

    plan: Plan
    planning: Mapping[str, Mark]
    cycles: tuple[Cycle, ...]
    reports: tuple[TaskReport, ...]
    state: Resumed
    problems: tuple[str, ...] = ()


def read_session(texts: Mapping[str, str]) -> OnDisk:
    """A session by its files; any of them can be missing."""
    progress = parse_progress(texts.get(PROGRESS, ""))
    listed = parse_tasks(texts.get(TASKS, "")).tasks
    goal, text = parse_plan(texts.get(PLAN, ""))
    reports = tuple(_reports(texts))
    rows = {one.id: one for one in reversed(progress.tasks)}
    problems = [f"{PROGRESS}, line {one.line}: [{one.box}] is no mark" for one in progress.tasks if one.mark is None]
    problems += [f"{TASKS}: {one.sentence}" for one in faults(listed)]
    entries = {one.id: one for one in reversed(listed)}
    ids = dict.fromkeys((*(one.id for one in listed), *(one.id for one in progress.tasks)))
    own: dict[str, list[TaskReport]] = {}
    for report in reports:
        own.setdefault(report.task, []).append(report)
    tasks = tuple(_task(id_, entries.get(id_), rows.get(id_), own.get(id_, [])) for id_ in ids)
    planning = {one.id: one.mark or Mark.OPEN for one in progress.planning}
    cycles = parse_questions(texts.get(QUESTIONS, "")).cycles
    plan = Plan(goal, text, tasks)
    return OnDisk(plan, planning, cycles, reports, resumed(planning, tasks), tuple(problems))


def _reports(texts: Mapping[str, str]) -> Iterator[TaskReport]:
    """The reports, by their files' names: what is written in one about its task does not count."""
    for name in sorted(texts):
        of = report_of(name)
        report = parse_report(texts[name]) if of else None
        if of is not None and report is not None:
            yield replace(report, task=of[0], attempt=of[1])


def _task(id_: str, entry: Task | None, row: ProgressRow | None, own: Sequence[TaskReport]) -> Task:
    """A task of both files; one that is only in `progress.md` is described by what is written behind it."""
    known = entry or Task(id_, row.note if row else "")
    mark = (row.mark if row else None) or Mark.OPEN
    attempt = max([row.attempt if row else 1, *(one.attempt for one in own)])
    last = next((one for one in own if one.attempt == attempt), None)
    has_failed = last is not None and last.part2 is not None and last.part2.verdict is Verdict.FAILED
    note = row.note if row and entry else ""
    return replace(known, mark=mark, attempt=attempt + (has_failed and mark in _AGAIN), note=note)
