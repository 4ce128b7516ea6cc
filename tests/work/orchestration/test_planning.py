"""Plans: what a planner's answer makes of one."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from interlock.work.orchestration.contracts import PlannerAnswer, PlannerStatus
from interlock.work.orchestration.planning import merged, pieces, plan_faults
from interlock.work.orchestration.values import Mark, Plan, PlannedTask, Task
from work.orchestration.answers_made import planners

PLAN = Plan(
    "g",
    "p",
    (
        Task("task-1", "done", criteria=("c",), mark=Mark.DONE, attempt=2),
        Task("task-2", "open", criteria=("c",), attempt=3, note="mind the gap"),
        Task("task-3", "failed", criteria=("c",), mark=Mark.FAILED),
    ),
    version=4,
)


def answer(*tasks: PlannedTask, **given_: Any) -> PlannerAnswer:
    return PlannerAnswer(PlannerStatus.COMPLETED, tasks=tasks, **given_)


def test_what_is_not_named_stays_and_what_is_new_comes_last() -> None:
    made = merged(PLAN, answer(PlannedTask("task-4", "new", criteria=("c",), depends_on=("task-2",))))
    assert made.tasks[:3] == PLAN.tasks
    assert made.tasks[3] == Task("task-4", "new", criteria=("c",), depends_on=("task-2",))
    assert (made.goal, made.text, made.version) == ("g", "p", 5)


def test_an_open_task_changes_and_keeps_its_mark_its_attempts_and_a_persons_note() -> None:
    made = merged(PLAN, answer(PlannedTask("task-2", "other", "why", ("d",), ("f",), ("task-1",), ("task-1",))))
    wanted = Task("task-2", "other", "why", ("d",), ("f",), ("task-1",), ("task-1",), attempt=3, note="mind the gap")
    assert made.tasks == (PLAN.tasks[0], wanted, PLAN.tasks[2])


def test_what_is_done_stays_as_it_was_done() -> None:
    assert merged(PLAN, answer(PlannedTask("task-1", "done", criteria=("c",)))).tasks == PLAN.tasks


def test_open_tasks_can_be_closed() -> None:
    made = merged(PLAN, answer(PlannedTask("task-4", "new"), closes=("task-2", "task-3")))
    assert [one.mark for one in made.tasks] == [Mark.DONE, Mark.CLOSED, Mark.CLOSED, Mark.OPEN]


def test_before_the_planner_has_completed_only_its_words_count() -> None:
    said = PlannerAnswer(PlannerStatus.NEEDS_QA_CYCLE, "G", "P", (PlannedTask("task-9", "x"),), ("task-2",))
    assert merged(PLAN, said) == Plan("G", "P", PLAN.tasks, 5)
    assert list(plan_faults(PLAN, said)) == []


def test_the_first_plan_has_the_first_version() -> None:
    made = merged(None, answer(PlannedTask("task-1", "d", criteria=("c",)), goal="g", plan="p"))
    assert made == Plan("g", "p", (Task("task-1", "d", criteria=("c",)),), 1)


@given(planners())
def test_the_same_answer_a_second_time_changes_nothing_but_the_version(said: PlannerAnswer) -> None:
    once = merged(None, said)
    twice = merged(once, said)
    assert list(plan_faults(once, said)) == []
    assert msgspec.structs.replace(twice, version=once.version) == once


@given(st.lists(st.integers(1, 60_000), max_size=40))
def test_tasks_come_in_portions_that_an_entry_can_hold(sizes: list[int]) -> None:
    tasks = tuple(Task(f"task-{place}", "é" * (size // 2)) for place, size in enumerate(sizes))
    portions = list(pieces(tasks))
    assert tuple(one for portion in portions for one in portion) == tasks
    assert all(len(msgspec.json.encode(portion)) <= 210 * 1024 for portion in portions)
    assert len(portions) <= 1 + sum(sizes) // (100 * 1024)
