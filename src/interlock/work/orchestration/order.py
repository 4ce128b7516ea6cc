"""PURE. The order of tasks: the next one, which wait for which, what is wrong, and where a session continues.

Each function looks at every task and every dependency a constant number of times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from interlock.work.orchestration.values import CLOSED_MARKS, OPEN_MARKS, Mark, Task

__all__ = [
    "PLANNING",
    "FaultKind",
    "OrderFault",
    "Resumed",
    "faults",
    "next_task",
    "resumed",
    "waiting",
]

PLANNING: Final = ("plan-init", "plan-qa-brainstorm", "plan-qa-research", "plan-breakdown")
"""The steps of planning. A task may name one among what it depends on: no task is begun before they are done."""

Resumed = Literal["new", "planning", "executing", "reviewing", "complete"]
"""The place at which a session stopped, by its directory: the values of the machine's fact `session`."""
FaultKind = Literal["twice", "unknown", "cycle"]


class OrderFault(msgspec.Struct, frozen=True):
    """A fault: an id that is there twice, an unknown dependency, or tasks that wait for each other."""

    kind: FaultKind
    path: tuple[str, ...]
    """The id; the task and what it names; or the way around, which ends where it began."""

    @property
    def sentence(self) -> str:
        if self.kind == "twice":
            return f"{self.path[0]} is there twice"
        if self.kind == "unknown":
            return f"{self.path[0]} depends on {self.path[1]}, which is no task of this plan"
        return f"tasks wait for each other: {' → '.join(self.path)}"


def next_task(tasks: Sequence[Task]) -> Task | None:
    """The task to work on: one that was begun already, else the first whose dependencies are all closed."""
    begun = next((one for one in tasks if one.mark is Mark.WORKING), None)
    if begun is not None:
        return begun
    over = {one.id for one in tasks if one.mark in CLOSED_MARKS}.union(PLANNING)
    return next((one for one in tasks if one.mark is Mark.OPEN and over.issuperset(one.depends_on)), None)


def waiting(tasks: Sequence[Task]) -> dict[str, tuple[str, ...]]:
    """For each task that could be begun but for others: which of those are not closed, in the order it names them."""
    over = {one.id for one in tasks if one.mark in CLOSED_MARKS}.union(PLANNING)
    found = {one.id: _missing(one, over) for one in tasks if one.mark in OPEN_MARKS}
    return {id_: missing for id_, missing in found.items() if missing}


def _missing(task: Task, over: Collection[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in task.depends_on if name not in over))


def faults(tasks: Sequence[Task]) -> tuple[OrderFault, ...]:
    """The faults of ids and dependencies; if there are none, every task gets its turn.

    Of cycles that share tasks, one is returned; once it is fixed, the next.
    """
    counted = Counter(one.id for one in tasks)
    found = [OrderFault("twice", (id_,)) for id_, count in counted.items() if count > 1]
    unknown = [(one.id, name) for one in tasks for name in _missing(one, PLANNING) if name not in counted]
    found += [OrderFault("unknown", pair) for pair in unknown]
    return (*found, *(OrderFault("cycle", path) for path in _cycles(tasks, counted)))


def _cycles(tasks: Sequence[Task], known: Mapping[str, int]) -> Iterable[tuple[str, ...]]:
    """Tasks that are never ready wait for others that are never ready: following those leads around."""
    needs = {one.id: [name for name in _missing(one, PLANNING) if name in known] for one in tasks}
    over = _ever_ready(needs)
    on = {id_: next(name for name in names if name not in over) for id_, names in needs.items() if id_ not in over}
    walked: dict[str, int] = {}
    for number, start in enumerate(on):
        path, at = list[str](), start
        while at not in walked:
            walked[at] = number
            path.append(at)
            at = on[at]
        if walked[at] == number:
            yield (*path[path.index(at) :], at)


def _ever_ready(needs: Mapping[str, Sequence[str]]) -> set[str]:
    left = {id_: len(names) for id_, names in needs.items()}
    after: dict[str, list[str]] = {}
    for id_, names in needs.items():
        for name in names:
            after.setdefault(name, []).append(id_)
    ready = [id_ for id_, count in left.items() if not count]
    for id_ in ready:  # it grows while it is walked
        for other in after.get(id_, ()):
            left[other] -= 1
            if not left[other]:
                ready.append(other)
    return set(ready)


def resumed(planning: Mapping[str, Mark], tasks: Sequence[Task]) -> Resumed:
    """The place at which a session continues, by the marks on disk; a task that waits for a person counts as open.

    A session whose steps of planning are not on disk, but whose tasks are, was planned.
    """
    if not planning and not tasks:
        return "new"
    if any(one.mark is Mark.PENDING for one in tasks):
        return "reviewing"
    if not tasks or any(mark not in CLOSED_MARKS for mark in planning.values()):
        return "planning"
    return "executing" if any(one.mark not in CLOSED_MARKS for one in tasks) else "complete"
