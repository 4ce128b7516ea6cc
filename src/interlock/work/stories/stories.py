"""PURE. What a story is, wherever it is written: acceptance criteria, and subtasks in the order they are done in."""

from __future__ import annotations

import msgspec

__all__ = ["Story", "StoryCriterion", "Subtask"]


class StoryCriterion(msgspec.Struct, frozen=True):
    """One acceptance criterion: a number from 1, and what must be so, on one line."""

    number: int
    text: str


class Subtask(msgspec.Struct, frozen=True):
    """One subtask: what it is called, what is to be done, whether it is, and which criteria it is for."""

    id: str
    text: str
    done: bool = False
    criteria: tuple[int, ...] = ()


class Story(msgspec.Struct, frozen=True):
    """A story: at least one criterion, and at least one subtask, in the order in which they are done."""

    id: str
    title: str
    criteria: tuple[StoryCriterion, ...]
    tasks: tuple[Subtask, ...]
    body: str = ""
    file: str | None = None
    priority: int = 0

    def task(self, id_: str) -> Subtask | None:
        """The subtask of an id."""
        return next((one for one in self.tasks if one.id == id_), None)

    def wanted(self, task: Subtask) -> tuple[StoryCriterion, ...]:
        """The criteria that a subtask is judged by: those it names; for the last open one, all of the story's."""
        if all(one.done or one.id == task.id for one in self.tasks):
            return self.criteria
        return tuple(one for one in self.criteria if one.number in task.criteria)
