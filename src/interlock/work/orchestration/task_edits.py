"""PURE. What a person did to the tasks, in `progress.md` and `tasks.md`, and which of it counts.

Nobody ticks a task by hand: that takes a verdict. A task at work is changed by the run alone. A task that was removed
is closed, not forgotten, and only where no other depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

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
from interlock.work.orchestration.run_files.document import Edit, EditKind, Sheet, diff
from interlock.work.orchestration.run_files.names import ID, PROGRESS, TASKS
from interlock.work.orchestration.run_files.progress import ProgressRow, ProgressSheet
from interlock.work.orchestration.values import CLOSED_MARKS, Mark, Task

__all__ = ["task_edits"]

_FIELDS: Final = ("description", "objective", "criteria", "files", "depends_on", "inherits")
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

T = TypeVar("T")


def task_edits(
    tasks: Sequence[Task],
    progress: tuple[ProgressSheet, ProgressSheet] | None,
    listed: tuple[Sheet[Task], Sheet[Task]] | None,
) -> tuple[tuple[Change, ...], tuple[NotTaken, ...]]:
    """The edits that count, and those that do not; each file as projected and as found, None if it was not edited."""
    work = _Work(tasks)
    if progress is not None:
        work.progress(*progress)
    if listed is not None:
        work.listed(*listed)
    work.add()
    work.remove()
    work.order(listed, progress)
    return work.settled()


class _Work:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._known = {one.id: one for one in tasks}
        self._changes: list[Change] = []
        self._refused: list[NotTaken] = []
        self._rows: dict[str, tuple[ProgressRow, int]] = {}
        """New tasks of `progress.md`, with their lines,"""
        self._entries: dict[str, tuple[Task, int]] = {}
        """and of `tasks.md`."""
        self._gone: dict[str, str] = {}
        """The tasks that were removed, and from which file."""
        self._places: dict[str, tuple[str, int]] = {}
        """The file and the line of each task that is new or changed."""

    def _edits(self, file: str, before: Sheet[T], after: Sheet[T]) -> Iterator[tuple[Edit[T], Task | None, int]]:
        """Each block that is there, with its task and its line; what else was edited is refused or noted."""
        odd = {one.text for one in before.oddities}
        for one in after.oddities:
            if one.text not in odd:
                self._refuse(file, one.line, one.why)
        theirs = "\n".join(one.text for key, one in after.beside.items() if key.startswith("#end"))
        moved = set(_ANY_ROW.findall(theirs))
        for edit in diff(before.blocks, after.blocks):
            if edit.line is not None and (edit.kind is EditKind.REPEATED or (file == TASKS and edit.key in PLANNING)):
                self._refuse(file, edit.line, f"{edit.key} is there twice")
            elif edit.line is not None:
                yield edit, self._known.get(edit.key), edit.line
            elif edit.key in moved:
                self._refuse(file, None, f"{edit.key} stands in a section that is not ours, so it stays as it is")
            elif edit.key in self._known:
                self._gone[edit.key] = file

    # progress.md

    def progress(self, before: ProgressSheet, after: ProgressSheet) -> None:
        planned = {one.key: one.value.mark for one in before.planning}
        for step in after.planning:
            if planned.get(step.key) != step.value.mark:
                self._refuse(PROGRESS, step.line, f"{step.key} stays as it is: the run does the planning")
        for edit, task, line in self._edits(PROGRESS, before, after):
            if edit.now.mark is None:
                self._refuse(PROGRESS, line, f"[{edit.now.box}] is no mark: there are [ ] [/] [P] [x] [F] [C]")
            elif task is None:
                self._rows[edit.key] = edit.now, line
            elif edit.kind is EditKind.CHANGED:
                self._row(task, edit.was, edit.now, line)

    def _row(self, task: Task, old: ProgressRow, row: ProgressRow, line: int) -> None:
        if row.mark is not None and row.mark not in (old.mark, task.mark):
            self._marked(task, row.mark, line)
        if row.attempt != old.attempt:
            self._refuse(PROGRESS, line, f"the attempts of {task.id} are counted by the run")
        if row.note != old.note and is_too_long(row.note):
            self._refuse(PROGRESS, line, f"the note to {task.id} {_LONG}")
        elif row.note != old.note:
            self._changes.append(Noted(task.id, row.note))

    def _marked(self, task: Task, mark: Mark, line: int) -> None:
        if mark is Mark.OPEN and task.mark in CLOSED_MARKS | {Mark.FAILED}:
            self._changes.append(Unticked(task.id))
        elif mark is Mark.CLOSED and task.mark in _EDITABLE:
            self._changes.append(Closed(task.id))
        elif mark is Mark.CLOSED and task.mark is Mark.DONE:
            self._refuse(PROGRESS, line, f"{task.id} is done, and cannot be closed as well")
        else:
            self._refuse(PROGRESS, line, f"{task.id} {_WHY.get(mark, _BUSY)}")

    # tasks.md

    def listed(self, before: Sheet[Task], after: Sheet[Task]) -> None:
        for edit, task, line in self._edits(TASKS, before, after):
            if task is None:
                self._entries[edit.key] = edit.now, line
            elif edit.kind is EditKind.CHANGED:
                self._entry(task, edit.was, edit.now, line)

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

    def add(self) -> None:
        """Add what is new; in both files it is one task."""
        for id_ in dict.fromkeys((*self._entries, *self._rows)):
            row, row_line = self._rows.get(id_, (None, 0))
            task, line = self._entries.get(id_, (Task(id_, row.note if row else ""), 0))
            place = (TASKS, line) if line else (PROGRESS, row_line)
            if not task.description:
                self._refuse(*place, f"{id_} is new, and says not what is to be done: write `- {id_}: …` in tasks.md")
            elif is_too_long(task):
                self._refuse(*place, f"{id_} {_LONG}")
            elif len(self._known) + len(self._places) >= MAX_TASKS:
                self._refuse(*place, f"{id_} is one too many: a plan has {MAX_TASKS} tasks at most")
            else:
                if row is not None and row.mark is not Mark.OPEN:
                    self._refuse(PROGRESS, row_line, f"{id_} is new and begins as [ ]")
                self._places[id_] = place
                self._changes.append(Added(task))

    def remove(self) -> None:
        """Close what was removed, if nothing needs it and it is not done; else it stays."""
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

    def order(self, *files: tuple[Sheet[Any], Sheet[Any]] | None) -> None:
        """Take over another order, that of the first file that has one."""
        for before, after in filter(None, files):
            was, now = dict.fromkeys(before.keys), dict.fromkeys(after.keys)
            kept, new = [id_ for id_ in was if id_ in now], [id_ for id_ in now if id_ not in was]
            if [*now] != kept + new:
                self._changes.append(Reordered(tuple(now)))
                return

    def settled(self) -> tuple[tuple[Change, ...], tuple[NotTaken, ...]]:
        """Return what was found, without changes after which tasks wait for each other, or for what is not there."""
        old = set(faults(self._tasks))
        while new := [one for one in faults(applied(self._tasks, self._changes)) if one not in old]:
            if not any(self._undone(fault) for fault in new):
                break
        return tuple(self._changes), tuple(self._refused)

    def _undone(self, fault: OrderFault) -> bool:
        """Take back the changes at fault, and say why; True if there are any."""
        found = False
        for one in list(self._changes):
            if isinstance(one, Added | Changed) and one.task.id in fault.path and one.task.id in self._places:
                self._changes.remove(one)
                self._refuse(*self._places.pop(one.task.id), fault.sentence)
                found = True
        return found

    def _refuse(self, file: str, line: int | None, why: str) -> None:
        self._refused.append(NotTaken(file, line, why))
