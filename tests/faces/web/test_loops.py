"""The pages of story loops and of runs of the orchestrator, and what they make of hostile text."""

from __future__ import annotations

from pathlib import Path

import pytest

from faces.web.looking import CODE, HOSTILE, visiting
from interlock.machine import load_shipped
from interlock.work.orchestration.record import Run
from work.orchestration.playing import GOAL, begun, done, driven, plan, qualified, says, task
from work.orchestration.playing import MET as GOAL_MET
from work.stories.yards import IDLE, UNMET, WORK, Ground, shell
from work.threads.benches import Bench, Steps


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "bench")


def _run(bench: Bench, goal: str = GOAL) -> Run:
    return driven(bench, begun(bench, goal))


def test_where_there_is_no_loop_the_page_says_how_to_begin_one(bench: Bench, environment: dict[str, str]) -> None:
    thread = bench.new()
    with visiting(bench.root, environment) as visitor:
        page = visitor.see("/loops")
        assert "ralph story run" in page.text
        assert "ralph orchestrate" in page.text
        for kind in ("story", "run"):
            for id_ in ("0" * 26, thread, "%3Cscript%3E", "..%2f..%2fetc", f"{'0' * 26}/output", f"{thread}/output"):
                assert visitor.get(f"/{kind}/{id_}").status_code == 404, (kind, id_)
            visitor.see(f"/{kind}/{thread}", status=404)


def test_a_story_loop_shows_its_stories_their_blockers_and_the_state_lit(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet",), "1-2": ("thank", "leave")}, uses_clock=False).made()
    ground.drive(agents=(ground.agent(WORK, IDLE),), judge=ground.agent(UNMET, name="judge"))
    loop = ground.loop()
    with visiting(ground.root, environment) as visitor:
        assert f"/story/{loop.id}" in visitor.see("/loops").html
        page = visitor.see(f"/story/{loop.id}")
        for story in loop.progress.stories:
            assert story.id in page.text
            assert (story.blocker_reason or "") in page.text
        assert "ralph story unblock story-1-1" in page.text
        assert len(page.with_class("loud")) == sum(one.status == "blocked" for one in loop.progress.stories) >= 1
        [lit] = [has for has in page.with_class("state") if "current" in str(has["class"]).split()]
        assert lit["data-state"] == loop.state
        assert len(page.with_class("state")) == len(load_shipped("story").states)
        assert not page.all("style")
        assert len(visitor.get("/static/diagram.css").text) > 1000
        assert page.text.count("implementer") >= len(loop.attempts) // 2
        assert "iterations" in page.text
        first = visitor.see(f"/story/{loop.id}?at=1")
        assert "As it was after entry 1 of" in first.text
        assert visitor.live(f"/story/{loop.id}").keys() >= {"head", "stories", "blockers", "budgets", "diagram"}


def test_a_run_shows_its_plan_its_tasks_their_reports_and_its_verdict(
    bench: Bench, environment: dict[str, str]
) -> None:
    bench.play(plan(task(1), task(2, "task-1")), done(1), done(1), done(2))
    bench.judge(qualified(1, "Failed"), qualified(1), qualified(2), GOAL_MET)
    run = _run(bench)
    assert run.outcome == "success"
    with visiting(bench.root, environment) as visitor:
        assert GOAL in visitor.see("/loops").text
        page = visitor.see(f"/run/{run.id}")
        assert "2 of 2 closed" in page.text
        assert page.text.count("[x]") >= 2
        assert "Last verdict" in page.text
        assert "The goal is met." in page.text
        assert [has["href"] for has in page.all("a") if "#reports" in str(has["href"])] == [
            f"/run/{run.id}?task=task-{number}#reports" for number in (1, 2)
        ]
        report = visitor.see(f"/run/{run.id}?task=task-1").text
        assert "Attempt 2 Qualified" in report
        assert "Attempt 1 Failed" in report
        assert "For the next attempt: it is not right" in report
        [lit] = [has for has in page.with_class("state") if "current" in str(has["class"]).split()]
        assert lit["data-state"] == "Exit"
        assert f"{len(run.moves)} transitions" in page.text


def test_a_run_that_failed_says_what_it_needs(bench: Bench, environment: dict[str, str]) -> None:
    bench.settings["verify.commands"] = ("echo it breaks; false",)
    bench.play(plan(task(1)), done(1))
    bench.judge(qualified(1))
    run = _run(bench)
    assert run.outcome == "failure"
    with visiting(bench.root, environment) as visitor:
        page = visitor.see(f"/run/{run.id}").text
        assert "It needs you" in page
        assert "our verifiers refuse it" in page
        assert "it breaks" in page
        assert "ralph orchestrate resume --say" in page
        [form] = visitor.see(f"/run/{run.id}").all("input", name="event")
        assert form["value"] == "resume"


def test_questions_and_answers_are_shown_cycle_by_cycle(bench: Bench, environment: dict[str, str]) -> None:
    asked = [{"number": 1, "text": "Which parts?", "category": "Requirements", "priority": "High"}]
    answered = [{**asked[0], "status": "Answered", "answer": "All of them", "source": "README:1", "confidence": "High"}]
    bench.play(
        says(status="needs_qa_cycle", questions=["Which parts?"]),
        says(status="completed", questions=answered),
        plan(task(1)),
        done(1),
    )
    bench.judge(qualified(1), GOAL_MET)
    run = _run(bench)
    assert run.cycles, run.reason
    with visiting(bench.root, environment) as visitor:
        page = visitor.see(f"/run/{run.id}").text
        assert "Which parts?" in page
        assert "All of them" in page
        assert "from README:1" in page
        assert "1 of 1 answered" in page


def test_a_thousand_tasks_are_shown_page_by_page_from_the_one_at_hand(
    bench: Bench, environment: dict[str, str]
) -> None:
    from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
    from interlock.machine.model import NOTED

    driver = Actor(ActorKind.SYSTEM, "driver", Channel.TEST)
    id_ = begun(bench)
    journal = bench.open()
    try:
        tasks = [{"id": f"task-{n}", "description": f"part {n}", "mark": "x" if n < 450 else " "} for n in range(1000)]
        steps = (
            Event("session_resolved", driver, evidence=Evidence(facts={"session": "new"})),
            Event(NOTED, driver, evidence=Evidence(data={"type": "tasks", "tasks": tasks, "is_first": True})),
        )
        for event in steps:
            journal.append(id_, event)
    finally:
        journal.close()
    with visiting(bench.root, environment) as visitor:
        page = visitor.see(f"/run/{id_}")
        assert "Page 5 of 10" in page.text
        assert "450 of 1000 closed" in page.text
        assert page.text.count("[ ]") + page.text.count("[x]") < 120
        last = visitor.see(f"/run/{id_}?tasks=999")
        assert "part 999" in last.text
        assert "part 899" not in last.text


def test_hostile_text_in_a_run_does_nothing(bench: Bench, environment: dict[str, str]) -> None:
    hostile_task = {"id": "task-1", "description": HOSTILE, "objective": HOSTILE, "criteria": [HOSTILE]}
    made = {"criterion": HOSTILE, "met": True, "evidence": HOSTILE}
    answer = {"status": "completed", "task_id": "task-1", "success_criteria_met": True, "criteria_status": [made]}
    work: Steps = [shell("echo hello > part-1"), *says(**answer, summary_of_changes=HOSTILE + "long " * 9_000)]
    verdict = says(
        status="completed",
        task_id="task-1",
        verdict="Failed",
        criteria_results=[{**made, "met": False, "finding": HOSTILE}],
        reasoning=HOSTILE,
        feedback=HOSTILE,
    )
    bench.play(plan(hostile_task), work)
    bench.judge(verdict)
    run = _run(bench, HOSTILE)
    assert run.outcome == "failure"
    with visiting(bench.root, environment) as visitor:
        for path in (f"/run/{run.id}", f"/run/{run.id}?task=task-1", f"/run/{run.id}?task={CODE}&tasks=-1", "/loops"):
            assert CODE.split("<")[1] in visitor.see(path).text
        for html in (*visitor.live(f"/run/{run.id}").values(), visitor.get(f"/run/{run.id}/output").text):
            assert "<script" not in html
            assert "<img" not in html


def test_hostile_text_in_a_story_loop_does_nothing(tmp_path: Path, environment: dict[str, str]) -> None:
    ground = Ground(tmp_path, {"1-1": (CODE,)}, uses_clock=False).made()
    agent = ground.agent([{"say": HOSTILE + "\n" + "x" * 1_000_000}, shell("date +%N > part"), {"finish": True}])
    ground.drive(agents=(agent,), tests=(f"echo '{CODE}'; printf '\\033[31m\\007'; false",))
    loop = ground.loop()
    with visiting(ground.root, environment) as visitor:
        page = visitor.see(f"/story/{loop.id}")
        assert CODE in page.text
        assert len(page.html) < 600_000
        assert not [html for html in visitor.live(f"/story/{loop.id}").values() if "<script" in html or "<img" in html]
        assert "<script" not in visitor.get(f"/story/{loop.id}/output").text
