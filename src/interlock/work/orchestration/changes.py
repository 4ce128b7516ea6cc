"""PURE. The changes that a person may make in the files of a session, as values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.work.orchestration.values import Mark, Question, Task

__all__ = [
    "MOST_OF_ONE",
    "Added",
    "Answered",
    "Change",
    "Changed",
    "Closed",
    "NotTaken",
    "Noted",
    "Reordered",
    "Replanned",
    "Unticked",
    "applied",
    "is_too_long",
]

MOST_OF_ONE: Final = 200 * 1024
"""The maximum bytes of a task, an answer, a note or a plan that a person wrote: it goes into an entry."""


def is_too_long(value: object) -> bool:
    """True if the value does not fit into one entry of the journal."""
    return len(msgspec.json.encode(value)) > MOST_OF_ONE


class Unticked(msgspec.Struct, frozen=True, tag=True):
    """A task that was over, or waited for a person, is to be done again."""

    task: str


class Closed(msgspec.Struct, frozen=True, tag=True):
    """A task that was not done is not to be done."""

    task: str


class Added(msgspec.Struct, frozen=True, tag=True):
    """A new task; it comes last, unless a new order says otherwise."""

    task: Task


class Changed(msgspec.Struct, frozen=True, tag=True):
    """An open task with another description, objective, criteria, files or dependencies."""

    task: Task


class Noted(msgspec.Struct, frozen=True, tag=True):
    """The note that a person wrote behind a task."""

    task: str
    note: str


class Reordered(msgspec.Struct, frozen=True, tag=True):
    """The ids of the tasks, as they are listed now."""

    tasks: tuple[str, ...]


class Answered(msgspec.Struct, frozen=True, tag=True):
    """A question of a cycle, with a person's answer."""

    cycle: int
    question: Question


class Replanned(msgspec.Struct, frozen=True, tag=True):
    """The body of the plan, as a person wrote it."""

    text: str


Change = Unticked | Closed | Added | Changed | Noted | Reordered | Answered | Replanned
"""These go into an entry of the journal."""


class NotTaken(msgspec.Struct, frozen=True):
    """An edit that does not count, and why; a line is counted from 1."""

    file: str
    line: int | None
    why: str

    @property
    def sentence(self) -> str:
        return f"{self.file}{f', line {self.line}' if self.line else ''}: {self.why}."


def applied(tasks: Sequence[Task], changes: Iterable[Change]) -> tuple[Task, ...]:
    """The tasks after these changes; changes of other things are ignored."""
    found = {one.id: one for one in tasks}
    order: tuple[str, ...] = ()
    for one in changes:
        match one:
            case Unticked(id_):
                found[id_] = replace(found[id_], mark=Mark.OPEN, attempt=1)
            case Closed(id_):
                found[id_] = replace(found[id_], mark=Mark.CLOSED)
            case Noted(id_, note):
                found[id_] = replace(found[id_], note=note)
            case Added(task) | Changed(task):
                known = found.get(task.id, task)
                found[task.id] = replace(task, mark=known.mark, attempt=known.attempt, note=known.note)
            case Reordered(ids):
                order = ids
    return tuple(found[id_] for id_ in _merged(list(found), order))


def _merged(ids: Sequence[str], order: Sequence[str]) -> list[str]:
    """The ids in the new order; one that it does not name stays behind the one it came after."""
    known = set(ids)
    found = [id_ for id_ in order if id_ in known]
    named = set(found)
    places: dict[str | None, list[str]] = {}
    last: str | None = None
    for id_ in ids:
        if id_ in named:
            last = id_
        else:
            places.setdefault(last, []).append(id_)
    return [*places.get(None, []), *(one for id_ in found for one in (id_, *places.get(id_, [])))]
