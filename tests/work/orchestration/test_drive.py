"""A run, from a goal to its end, in a real repository with agents that play scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from work.orchestration.playing import MET, PROSE, done, plan, qualified, rejected, run, task
from work.threads.benches import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


def test_a_goal_is_planned_worked_on_reviewed_and_met(bench: Bench) -> None:
    bench.play(plan(task(1), task(2, "task-1")), done(1), done(2))
    bench.judge(qualified(1), qualified(2), MET)
    ended = run(bench)
    assert (ended.state, ended.outcome) == ("Exit", "success"), ended.reason
    assert [(one.id, str(one.mark)) for one in ended.plan.tasks] == [("task-1", "x"), ("task-2", "x")]
    assert [len(ended.reports[one]) for one in ("task-1", "task-2")] == [1, 1]


def test_a_rejected_task_is_worked_on_again_with_the_feedback(bench: Bench) -> None:
    bench.play(plan(task(1)), done(1), done(1), done(1))
    bench.judge(rejected(1), rejected(1), qualified(1), MET)
    ended = run(bench)
    assert ended.outcome == "success"
    assert [one.part2.verdict for one in ended.reports["task-1"] if one.part2] == ["Failed", "Failed", "Qualified"]


def test_an_answer_that_is_none_is_asked_for_again_with_the_complaint(bench: Bench) -> None:
    bench.play(PROSE, plan(task(1)), done(1))
    bench.judge(qualified(1), MET)
    ended = run(bench)
    assert ended.outcome == "success"
    assert [one.role for one in ended.invocations][:2] == ["planner", "planner"]


def test_a_reviewer_cannot_qualify_what_our_verifiers_refuse(bench: Bench) -> None:
    bench.settings["verify.commands"] = ("false",)
    bench.play(plan(task(1)), done(1))
    bench.judge(qualified(1))
    ended = run(bench)
    assert (ended.state, ended.outcome) == ("Failed", "failure")
    assert [str(one.mark) for one in ended.plan.tasks] == ["F"]
    assert not any(one.role == "reviewer" for one in ended.invocations)


def test_the_session_directory_says_what_came_of_it(bench: Bench) -> None:
    bench.play(plan(task(1)), done(1), done(1))
    bench.judge(rejected(1), qualified(1), MET)
    ended = run(bench)
    place = bench.root / ".ralph-sessions" / ended.session
    assert "- [x] task-1" in (place / "progress.md").read_text()
    assert {one.name for one in place.glob("tasks.task-1-report*.md")} == {
        "tasks.task-1-report.md",
        "tasks.task-1-report-r2.md",
    }
    moves = [json.loads(line)["transition"] for line in (place / "transitions.jsonl").read_text().splitlines()]
    assert moves[0]["to"] == "Planning"
    assert moves[-1] == {**moves[-1], "from": "Complete", "to": "Exit", "trigger": "holistic_check_passed"}
    assert not (bench.state_directory / "rejected").exists()
