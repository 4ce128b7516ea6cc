"""PURE. What a person did to the tasks, in `progress.md` and `tasks.md`, and what of it counts.

Nobody ticks a task by hand: that takes a verdict. What is being worked on is changed by the run alone. A task that was
taken out is closed, not forgotten, and only where no other depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from interlock.work.orchestration.changes import (
    MOST_OF_ONE,
    Added,
    Change,
    Changed,
    Closed,
    Noted,
    NotTaken,
    Reordered,
    Unticked,
    applied,
    is_too_long,
)
from interlock.work.orchestration.order import PLANNING, OrderFault, faults
from interlock.work.orchestration.planning import MAX_TASKS
from interlock.work.orchestration.run_files.outline import Beside
from interlock.work.orchestration.run_files.progress import ID, Oddity, ProgressRow, ProgressSheet
from interlock.work.orchestration.run_files.tasks import TaskSheet
from interlock.work.orchestration.values import Mark, Task

__all__ = ["PROGRESS", "TASKS", "task_edits"]

PROGRESS: Final = "progress.md"
TASKS: Final = "tasks.md"
_FIELDS: Final = ("description", "objective", "criteria", "files", "depends_on", "inherits")
_UNTICKED: Final = frozenset({Mark.DONE, Mark.FAILED, Mark.CLOSED})
_EDITABLE: Final = frozenset({Mark.OPEN, Mark.FAILED})
_WHY: Final = {
    Mark.DONE: "stays as it is: a task is [x] when a reviewer has qualified it",
    Mark.PENDING: "stays as it is: a task is [P] when its executor has reported",
    Mark.WORKING: "stays as it is: the run begins a task. To have it done next, move it up",
    Mark.FAILED: "stays as it is: the run says which tasks have failed. To have it left out, write [C]",
}
_ANY_ROW: Final = re.compile(rf"(?m)^[ \t]*[-*+][ \t]+(?:\[[^\]]*\][ \t]+)?\**({ID})")
_BUSY: Final = "is at work or under review; say what is to change with `ralph orchestrate add`"
_LONG: Final = f"has more than {MOST_OF_ONE} bytes; say it in fewer words"


def task_edits(
    tasks: Sequence[Task],
    progress: tuple[ProgressSheet, ProgressSheet] | None,
    listed: tuple[TaskSheet, TaskSheet] | None,
) -> tuple[tuple[Change, ...], tuple[NotTaken, ...]]:
    """What counts of the edits, and what does not; each file as it was projected and as it is, where it was edited."""
    work = _Work(tasks)
    if progress is not None:
        work.progress(*progress)
    if listed is not None:
        work.listed(*listed)
    work.add()
    work.take_out()
    work.order(listed, progress)
    return work.settled()


class _Work:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._known = {one.id: one for one in tasks}
        self._changes: list[Change] = []
        self._refused: list[NotTaken] = []
        self._rows: dict[str, ProgressRow] = {}
        """New ones of `progress.md`,"""
        self._entries: dict[str, tuple[Task, int]] = {}
        """and of `tasks.md`, with their lines."""
        self._gone: dict[str, str] = {}
        """What was taken out, and of which file."""
        self._places: dict[str, tuple[str, int]] = {}
        """Where each task that is new or changed stands."""

    # progress.md

    def progress(self, before: ProgressSheet, after: ProgressSheet) -> None:
        self._odd(PROGRESS, before.oddities, after.oddities)
        self._planning(before.planning, after.planning)
        was = {one.id: one for one in before.tasks}
        for row in _once(after.tasks, lambda one: self._refuse(PROGRESS, one.line, f"{one.id} is there twice")):
            old = was.pop(row.id, None)
            task = self._known.get(row.id)
            if row.mark is None:
                why = f"[{row.box}] is no mark: there are [ ] [/] [P] [x] [F] [C]"
                self._refuse(PROGRESS, row.line, why)
            elif task is None:
                self._rows[row.id] = row
            elif old is not None:
                self._row(task, old, row)
        self._leave(PROGRESS, was, after.beside)

    def _planning(self, before: Iterable[ProgressRow], after: Iterable[ProgressRow]) -> None:
        was = {one.id: one.mark for one in before}
        for row in after:
            if was.get(row.id) != row.mark:
                self._refuse(PROGRESS, row.line, f"{row.id} stays as it is: the run does the planning")

    def _row(self, task: Task, old: ProgressRow, row: ProgressRow) -> None:
        if row.mark is not None and row.mark is not old.mark:
            self._marked(task, row, row.mark)
        if row.attempt != old.attempt:
            self._refuse(PROGRESS, row.line, f"the attempts of {task.id} are counted by the run")
        if row.note != old.note and is_too_long(row.note):
            self._refuse(PROGRESS, row.line, f"the note to {task.id} {_LONG}")
        elif row.note != old.note:
            self._changes.append(Noted(task.id, row.note))

    def _marked(self, task: Task, row: ProgressRow, mark: Mark) -> None:
        if mark is task.mark:
            return
        if mark is Mark.OPEN and task.mark in _UNTICKED:
            self._changes.append(Unticked(task.id))
        elif mark is Mark.CLOSED and task.mark in _EDITABLE:
            self._changes.append(Closed(task.id))
        elif mark is Mark.CLOSED and task.mark is Mark.DONE:
            self._refuse(PROGRESS, row.line, f"{task.id} is done, and cannot be closed as well")
        else:
            self._refuse(PROGRESS, row.line, f"{task.id} {_WHY.get(mark, _BUSY)}")

    # tasks.md

    def listed(self, before: TaskSheet, after: TaskSheet) -> None:
        self._odd(TASKS, before.oddities, after.oddities)
        was = {one.id: one for one in before.tasks}
        pairs = list(zip(after.tasks, after.lines, strict=True))
        counted: set[str] = set()
        for entry, line in pairs:
            old = was.pop(entry.id, None)
            task = self._known.get(entry.id)
            if entry.id in counted or entry.id in PLANNING:
                self._refuse(TASKS, line, f"{entry.id} is there twice")
            elif task is None:
                self._entries[entry.id] = entry, line
            elif old is not None and old != entry:
                self._entry(task, old, entry, line)
            counted.add(entry.id)
        self._leave(TASKS, was, after.beside)

    def _entry(self, task: Task, old: Task, entry: Task, line: int) -> None:
        changed = {name: getattr(entry, name) for name in _FIELDS if getattr(entry, name) != getattr(old, name)}
        if is_too_long(entry):
            self._refuse(TASKS, line, f"{task.id} {_LONG}")
        elif task.mark in _EDITABLE or Unticked(task.id) in self._changes:
            self._places[task.id] = TASKS, line
            self._changes.append(Changed(replace(task, **changed)))
        else:
            why = _BUSY if task.mark in (Mark.WORKING, Mark.PENDING) else "is over; untick it in progress.md first"
            self._refuse(TASKS, line, f"{task.id} {why}")

    # Both

    def _leave(self, file: str, ids: Iterable[str], beside: Mapping[str, Beside]) -> None:
        """Tasks that are not listed any more; one that only came to stand in a section of somebody's was not meant."""
        elsewhere = "\n".join(one.text for key, one in beside.items() if key.startswith("#end"))
        rows = set(_ANY_ROW.findall(elsewhere))
        for id_ in ids:
            if id_ in rows:
                self._refuse(file, None, f"{id_} stands in a section that is not ours, so it stays as it is")
            elif id_ in self._known:
                self._gone[id_] = file

    def add(self) -> None:
        """What is new in either file is one task."""
        for id_ in dict.fromkeys((*self._entries, *self._rows)):
            row = self._rows.get(id_)
            entry, line = self._entries.get(id_, (None, 0))
            task = entry or Task(id_, row.note if row else "")
            place = (TASKS, line) if entry else (PROGRESS, row.line if row else 0)
            if not task.description:
                why = f"{id_} is new, and says not what is to be done: write `- {id_}: …` in tasks.md"
                self._refuse(*place, why)
                continue
            if is_too_long(task):
                self._refuse(*place, f"{id_} {_LONG}")
                continue
            if len(self._known) + len(self._places) >= MAX_TASKS:
                self._refuse(*place, f"{id_} is one too many: a plan has {MAX_TASKS} tasks at most")
                continue
            if row is not None and row.mark is not Mark.OPEN:
                self._refuse(PROGRESS, row.line, f"{id_} is new and begins as [ ]")
            self._places[id_] = place
            self._changes.append(Added(task))

    def take_out(self) -> None:
        """What was taken out is closed, where nothing needs it and it is not done, and else it stays."""
        left = applied(self._tasks, self._changes)
        needed = {name: one.id for one in left if one.id not in self._gone for name in one.depends_on}
        for id_, file in self._gone.items():
            mark = self._known[id_].mark
            if id_ in needed:
                self._refuse(file, None, f"{id_} was taken out, and stays: {needed[id_]} depends on it")
            elif mark in _EDITABLE:
                self._changes.append(Closed(id_))
            elif mark is not Mark.CLOSED:
                self._refuse(file, None, f"{id_} was taken out, and stays: what was done is not forgotten")

    def order(
        self, listed: tuple[TaskSheet, TaskSheet] | None, progress: tuple[ProgressSheet, ProgressSheet] | None
    ) -> None:
        """Another order, in one of the files; that of `tasks.md` counts before the other's."""
        for pair in (listed, progress):
            if pair is None:
                continue
            after = list(dict.fromkeys(one.id for one in pair[1].tasks))
            before = dict.fromkeys(one.id for one in pair[0].tasks)
            there = set(after)
            new = [id_ for id_ in after if id_ not in before]
            if after != [id_ for id_ in before if id_ in there] + new:
                self._changes.append(Reordered(tuple(after)))
                return

    def settled(self) -> tuple[tuple[Change, ...], tuple[NotTaken, ...]]:
        """Without what would leave tasks that wait for each other, or for what is not there."""
        old = set(faults(self._tasks))
        while new := [one for one in faults(applied(self._tasks, self._changes)) if one not in old]:
            if not any(self._undone(fault) for fault in new):
                break
        return tuple(self._changes), tuple(self._refused)

    def _undone(self, fault: OrderFault) -> bool:
        """Take back the changes that are at fault, and say why."""
        found = False
        for one in list(self._changes):
            if isinstance(one, Added | Changed) and one.task.id in fault.path and one.task.id in self._places:
                self._changes.remove(one)
                self._refuse(*self._places.pop(one.task.id), fault.sentence)
                found = True
        return found

    def _odd(self, file: str, before: Sequence[Oddity], after: Sequence[Oddity]) -> None:
        old = {one.text for one in before}
        for one in after:
            if one.text not in old:
                self._refuse(file, one.line, one.why)

    def _refuse(self, file: str, line: int | None, why: str) -> None:
        self._refused.append(NotTaken(file, line, why))


def _once(rows: Iterable[ProgressRow], twice: Callable[[ProgressRow], None]) -> Iterator[ProgressRow]:
    """The first row of each task; the others are told."""
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            twice(row)
        else:
            seen.add(row.id)
            yield row
