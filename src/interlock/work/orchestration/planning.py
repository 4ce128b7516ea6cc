"""PURE. A plan after a planner's answer, and the faults of an answer that cannot be taken.

An answer names only the tasks that are new or change: what it leaves out stays, so that forgetting a task never loses
one. What is done stays as it was done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from interlock.work.orchestration.contracts import PlannerAnswer, PlannerStatus
from interlock.work.orchestration.order import faults
from interlock.work.orchestration.shapes import MAX_ITEMS, Fault
from interlock.work.orchestration.values import CLOSED_MARKS, TASK_ID, Mark, Plan, PlannedTask, Task

__all__ = ["MAX_TASKS", "merged", "pieces", "plan_faults"]

MAX_TASKS: Final = MAX_ITEMS
"""The maximum number of tasks in a plan, those that are done included."""
_MAX_TASK: Final = 64 * 1024
_PIECE: Final = 200 * 1024
"""In bytes of JSON: with what else an entry holds, it stays below what the journal keeps in one."""
_CYCLE_SHOWN: Final = 8


def merged(plan: Plan | None, answer: PlannerAnswer) -> Plan:
    """The plan with what was answered; tasks count only where the planner has completed."""
    before = plan or Plan(goal="", version=0)
    goal, text = answer.goal or before.goal, answer.plan or before.text
    if answer.status is not PlannerStatus.COMPLETED:
        return Plan(goal, text, before.tasks, before.version + 1)
    given = {one.id: one for one in answer.tasks}
    closes = frozenset(answer.closes)
    kept = [_kept(one, given.pop(one.id, None), one.id in closes) for one in before.tasks]
    return Plan(goal, text, (*kept, *(Task(one.id, **_words(one)) for one in given.values())), before.version + 1)


def _kept(task: Task, given: PlannedTask | None, is_closed: bool) -> Task:
    if task.mark in CLOSED_MARKS:
        return task
    if is_closed:
        return replace(task, mark=Mark.CLOSED)
    return task if given is None else replace(task, **_words(given))


def _words(given: PlannedTask) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(given).items() if name != "id"}


_One = TypeVar("_One")


def pieces(values: Iterable[_One]) -> Iterator[tuple[_One, ...]]:
    """Tasks, or other values, in portions that fit into an entry of the journal each; at least one portion."""
    portion: list[_One] = []
    size = 0
    for one in values:
        length = len(msgspec.json.encode(one)) + 1
        if portion and size + length > _PIECE:
            yield tuple(portion)
            portion, size = [], 0
        portion.append(one)
        size += length
    yield tuple(portion)


def plan_faults(plan: Plan | None, answer: PlannerAnswer) -> Iterator[Fault]:
    """The reasons why an answer cannot be taken, each with its place."""
    if answer.status is not PlannerStatus.COMPLETED:
        return
    known = {one.id: one for one in plan.tasks} if plan else {}
    found = [*_name_faults(known, answer), *_task_faults(answer), *_closing_faults(known, answer)]
    yield from found
    if not found:
        yield from _whole_faults(merged(plan, answer), answer)


def _name_faults(known: dict[str, Task], answer: PlannerAnswer) -> Iterator[Fault]:
    """Ids that are none, that two have, or that something done has already."""
    taken = {id_.casefold(): id_ for id_ in known}
    seen: dict[str, int] = {}
    for place, one in enumerate(answer.tasks):
        path, folded = f"$.tasks[{place}].id", one.id.casefold()
        if not TASK_ID.fullmatch(one.id):
            yield Fault(
                path,
                f"is {one.id[:80]!r}",
                "It must begin with `task-` and continue with letters, digits and single hyphens, as `task-7` or "
                "`task-add-login` do, and have 64 characters at most",
            )
        elif folded in seen:
            wrong = f"is {one.id!r}, as `$.tasks[{seen[folded]}].id` is"
            yield Fault(path, wrong, "Give each task an id of its own; capitals make no difference")
        elif taken.get(folded, one.id) != one.id:
            yield Fault(path, f"is {one.id!r}", f"The plan has {taken[folded]!r}: write it so, or take another id")
        elif one.id in known and known[one.id].mark in CLOSED_MARKS and _differs(known[one.id], one):
            wrong = f"is {one.id!r}, which is closed, and what it says is not what was done"
            yield Fault(path, wrong, "Leave it out, and give new work a new id")
        seen.setdefault(folded, place)


def _differs(task: Task, given: PlannedTask) -> bool:
    return any(getattr(task, name) != value for name, value in _words(given).items() if value)


def _task_faults(answer: PlannerAnswer) -> Iterator[Fault]:
    """Tasks that nobody could carry out or check."""
    for place, one in enumerate(answer.tasks):
        path = f"$.tasks[{place}]"
        size = len(msgspec.json.encode(one))
        if size > _MAX_TASK:
            yield Fault(path, f"has {size} bytes", f"A task may have {_MAX_TASK}: divide it")
        if not one.description.strip():
            yield Fault(f"{path}.description", "is empty", "Say in one line what is to be done")
        if not one.criteria:
            yield Fault(f"{path}.criteria", "is empty", "Give at least one criterion that a reviewer can check")
        for number, criterion in enumerate(one.criteria):
            if not criterion.strip():
                yield Fault(f"{path}.criteria[{number}]", "is empty", "Say what must be true, or leave it out")


def _closing_faults(known: dict[str, Task], answer: PlannerAnswer) -> Iterator[Fault]:
    given = {one.id for one in answer.tasks}
    for place, id_ in enumerate(answer.closes):
        path = f"$.closes[{place}]"
        if id_ not in known:
            yield Fault(path, f"is {id_[:80]!r}, which is no task of the plan", _listed(known))
        elif known[id_].mark is Mark.DONE:
            yield Fault(path, f"is {id_!r}, which is done", "Leave it out: what is done stays done")
        elif id_ in given:
            yield Fault(path, f"is {id_!r}, which is also in `$.tasks`", "Keep it or close it, not both")


def _listed(known: dict[str, Task]) -> str:
    open_ = [id_ for id_, one in known.items() if one.mark not in CLOSED_MARKS]
    shown = ", ".join(open_[:20]) + (", …" if len(open_) > 20 else "")
    return f"Open tasks are: {shown}" if open_ else "No task is open, so there is nothing to close"


# The plan as it would be


def _whole_faults(plan: Plan, answer: PlannerAnswer) -> Iterator[Fault]:
    if not plan.goal.strip():
        yield Fault("$.goal", "is empty", "Say in a sentence or two what is to be achieved")
    if not plan.text.strip():
        yield Fault("$.plan", "is empty", "Write the plan, in Markdown")
    if not plan.tasks:
        yield Fault("$.tasks", "is empty", "A completed plan has at least one task; if you cannot plan, say why")
    elif all(one.mark in CLOSED_MARKS | {Mark.FAILED} for one in plan.tasks):
        wrong = "leaves no task to be done"
        yield Fault("$.tasks", wrong, "Add what is still missing, be it a task that checks, or answer `blocked`")
    if len(plan.tasks) > MAX_TASKS:
        wrong = f"makes a plan of {len(plan.tasks)} tasks"
        yield Fault("$.tasks", wrong, f"A plan may have {MAX_TASKS}: plan the first part, and the rest when it is done")
    ids = {one.id for one in plan.tasks}
    dangling = [*_dangling(ids, answer)]
    yield from dangling or _circles(plan)


def _dangling(ids: set[str], answer: PlannerAnswer) -> Iterator[Fault]:
    for place, one in enumerate(answer.tasks):
        for name in ("depends_on", "inherits"):
            for number, other in enumerate(getattr(one, name)):
                path = f"$.tasks[{place}].{name}[{number}]"
                if other == one.id:
                    yield Fault(path, f"is {other!r}, the task itself", "Leave it out")
                elif other not in ids:
                    wrong = f"is {other[:80]!r}, which is no task of the plan"
                    yield Fault(path, wrong, "Name a task that is in the plan or in `$.tasks`, or leave it out")


def _circles(plan: Plan) -> Iterator[Fault]:
    """The first circle of tasks that wait for each other, in the order in which they wait."""
    circle = next((one.path for one in faults(plan.tasks) if one.kind == "cycle"), ())
    if circle:
        shown = circle if len(circle) <= _CYCLE_SHOWN else (*circle[: _CYCLE_SHOWN - 1], "…", circle[-1])
        wrong = f"has tasks that wait for each other: {' waits for '.join(shown)}"
        yield Fault("$.tasks", wrong, "Take one of these out of `depends_on`")
