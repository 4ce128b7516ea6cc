"""The order of tasks: dependencies first, as planned otherwise; what is wrong with it, with the way around."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.work.orchestration.order import PLANNING, faults, next_task, resumed, waiting
from interlock.work.orchestration.values import Mark, Task


def _task(number: int, *needs: int, mark: Mark = Mark.OPEN) -> Task:
    return Task(f"task-{number}", "x", depends_on=tuple(f"task-{one}" for one in needs), mark=mark)


def _worked_through(tasks: list[Task]) -> list[str]:
    """The tasks in the order in which a run takes them, each qualified before the next."""
    found: list[str] = []
    while (task := next_task(tasks)) is not None:
        found.append(task.id)
        tasks = [replace(one, mark=Mark.DONE) if one.id == task.id else one for one in tasks]
    return found


def test_tasks_are_taken_as_planned_but_for_what_must_come_before() -> None:
    tasks = [_task(1, 3), _task(2), _task(3, 2), _task(4)]
    assert _worked_through(tasks) == ["task-2", "task-3", "task-1", "task-4"]
    assert waiting(tasks) == {"task-1": ("task-3",), "task-3": ("task-2",)}


def test_a_task_that_was_begun_comes_first_and_one_that_waits_for_a_person_holds_up_only_what_needs_it() -> None:
    tasks = [_task(1), _task(2, mark=Mark.WORKING), _task(3, 4), _task(4, mark=Mark.FAILED), _task(5, 6)]
    tasks.append(_task(6, mark=Mark.CLOSED))
    assert next_task(tasks) == tasks[1]
    assert _worked_through(tasks) == ["task-2", "task-1", "task-5"]
    assert waiting(tasks) == {"task-3": ("task-4",)}


def test_a_step_of_planning_can_be_named_as_a_dependency() -> None:
    task = Task("task-1", "x", depends_on=(PLANNING[-1],))
    assert (next_task([task]), faults([task]), waiting([task])) == (task, (), {})


def test_what_is_wrong_is_told_with_the_way_around() -> None:
    tasks = [_task(1, 2), _task(2, 3), _task(3, 1), _task(4, 3), _task(5, 9), _task(6, 6), _task(7), _task(7)]
    found = faults(tasks)
    assert [(one.kind, one.path) for one in found] == [
        ("twice", ("task-7",)),
        ("unknown", ("task-5", "task-9")),
        ("cycle", ("task-1", "task-2", "task-3", "task-1")),
        ("cycle", ("task-6", "task-6")),
    ]
    assert found[2].sentence == "tasks wait for each other: task-1 → task-2 → task-3 → task-1"
    assert "task-9" in found[1].sentence
    assert "twice" in found[0].sentence


_graphs = st.lists(st.lists(st.integers(1, 8), max_size=3), max_size=8).map(
    lambda needs: [_task(number, *some) for number, some in enumerate(needs, 1)]
)


@given(_graphs)
def test_every_task_gets_its_turn_unless_a_fault_says_why_not(tasks: list[Task]) -> None:
    done = _worked_through(tasks)
    assert (len(done) == len(tasks)) == (not faults(tasks))
    needs = {one.id: one.depends_on for one in tasks}
    for fault in faults(tasks):
        if fault.kind == "cycle":
            assert all(other in needs[one] for one, other in zip(fault.path, fault.path[1:], strict=False))
            assert fault.path[0] == fault.path[-1]


class _Counted(str):
    """An id that counts how often it is looked at."""

    looks = 0

    def __hash__(self) -> int:
        _Counted.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


def _looks(number: int, *, around: bool) -> int:
    ids = [_Counted(f"task-{one}") for one in range(number)]
    needs = [(ids[one - 1], ids[one // 2]) if one or around else () for one in range(number)]
    tasks = [Task(id_, "x", depends_on=some) for id_, some in zip(ids, needs, strict=True)]
    _Counted.looks = 0
    for look in (next_task, waiting, faults):
        look(tasks)
    return _Counted.looks


def test_twice_the_tasks_are_twice_the_work() -> None:
    for around in (False, True):
        assert _looks(2_000, around=around) <= 2.2 * _looks(1_000, around=around)


def test_a_session_goes_on_where_its_marks_say() -> None:
    planned = dict.fromkeys(PLANNING, Mark.DONE)
    begun = {**planned, PLANNING[1]: Mark.WORKING}
    open_, done, closed = _task(1), _task(2, mark=Mark.DONE), _task(3, mark=Mark.CLOSED)
    failed, pending = _task(4, mark=Mark.FAILED), _task(5, mark=Mark.PENDING)
    assert resumed({}, []) == "new"
    assert resumed(begun, [open_, pending]) == "reviewing"
    assert resumed(begun, [open_]) == "planning"
    assert resumed(planned, []) == "planning"
    assert resumed(planned, [open_, done]) == "executing"
    assert resumed({}, [failed, done]) == "executing"
    assert resumed(planned, [done, closed]) == "complete"
    assert resumed({}, [done]) == "complete"
