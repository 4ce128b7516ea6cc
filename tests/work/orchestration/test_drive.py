"""A run, from a goal to its end, in a real repository with agents that play scripts."""

from __future__ import annotations

import json

from work.orchestration.ways import Journeys


def test_a_goal_is_planned_worked_on_reviewed_and_met(journeys: Journeys) -> None:
    ended = journeys["straight"].ended
    assert (ended.state, ended.outcome) == ("Exit", "success"), ended.reason
    assert [(one.id, str(one.mark)) for one in ended.plan.tasks] == [("task-1", "x"), ("task-2", "x")]
    assert [len(ended.reports[one]) for one in ("task-1", "task-2")] == [1, 1]


def test_a_rejected_task_is_worked_on_again_with_the_feedback(journeys: Journeys) -> None:
    ended = journeys["rejected"].ended
    assert ended.outcome == "success"
    assert [one.part2.verdict for one in ended.reports["task-1"] if one.part2] == ["Failed", "Failed", "Qualified"]


def test_an_answer_that_is_none_is_asked_for_again_with_the_complaint(journeys: Journeys) -> None:
    ended = journeys["prose_once"].ended
    assert ended.outcome == "success"
    roles = ["planner", "executor", "reviewer"]
    assert [one.role for one in ended.invocations][:6] == [role for role in roles for _ in range(2)]


def test_the_session_directory_says_what_came_of_it(journeys: Journeys) -> None:
    stage, ended = journeys["rejected"].stage, journeys["rejected"].ended
    place = stage.session(ended)
    assert "- [x] task-1" in (place / "progress.md").read_text()
    assert {one.name for one in place.glob("tasks.task-1-report*.md")} == {
        "tasks.task-1-report.md",
        "tasks.task-1-report-r2.md",
        "tasks.task-1-report-r3.md",
    }
    moves = [json.loads(line)["transition"] for line in (place / "transitions.jsonl").read_text().splitlines()]
    assert moves[0]["to"] == "Planning"
    assert moves[-1] == {**moves[-1], "from": "Complete", "to": "Exit", "trigger": "holistic_check_passed"}
    assert not (stage.state_directory / "rejected").exists()
