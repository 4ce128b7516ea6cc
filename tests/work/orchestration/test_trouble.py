"""What goes wrong around a run, or comes on the way: roles that change, budgets, networks, limits, discoveries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import UsageError
from interlock.machine import Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driver.agent_run import DRIVER
from interlock.work.orchestration.beginning import roles_of
from interlock.work.orchestration.contracts import Role
from interlock.work.orchestration.loop import begin
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.orchestration.roles import role_file
from interlock.work.orchestration.verbs import add
from interlock.world.folder import Folder
from work.orchestration.goals import ANN, SESSION, Goal, answers, asks, echoed, is_between, question
from work.orchestration.playing import MET, done, plan, qualified, says, task
from work.threads.benches import Bench, Steps

PROSE: Steps = [{"say": "I would say so and so."}, {"finish": True}]
OFFLINE: Steps = [{"complain": "connect ECONNREFUSED 192.0.2.1:443"}, {"exit": 1}]
START = 1_790_000_000


class Clock(list[float]):
    """A clock that stands still but for what is waited, and a list of that."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = float(START)

    def append(self, seconds: float) -> None:
        super().append(round(seconds))
        self.seconds += seconds


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


@pytest.fixture
def clock(bench: Bench) -> Clock:
    made = Clock()
    bench.waited, bench.now = made, lambda: int(made.seconds * 1e9)
    return made


def begun(bench: Bench, **given: str) -> Goal:
    """A run whose roles are who the settings and the files say."""
    journal = bench.open()
    try:
        context = bench.context(journal)
        roles = roles_of(context, given)
        return Goal(bench, begin(context, "All parts are there", SESSION, roles))
    finally:
        journal.close()


def _noted(goal: Goal, type_: str) -> list[dict[str, Any]]:
    found = [one.decoded_evidence().data for one in goal.history if one.event == NOTED]
    return [one for one in found if one["type"] == type_]


def roles(bench: Bench, role: str, *front: str, prompt: str = "You are the one.") -> None:
    place = bench.root / "our" / "roles"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"ralph-{role}.agent.md").write_text("\n".join(["---", *front, "---", prompt, ""]))
    bench.settings["orchestrate.roles"] = "our/roles"


# Roles


def test_a_file_of_ones_own_says_who_plays_a_role(bench: Bench) -> None:
    roles(bench, "executor", "agent: scripted", "model: small", prompt="You carry out {{TASK_ID}} on tiptoe.")
    bench.play(plan(task(1)), echoed(done(1)))
    goal = begun(bench)
    run = goal.go(lambda run: run.state == "Reviewing")
    assert run.roles == {
        "planner": "scripted",
        "questioner": "scripted",
        "executor": "scripted:small",
        "reviewer": "scripted",
    }
    assert "You carry out task-1 on tiptoe." in goal.prompts("executor")[0]
    file = role_file(Role.EXECUTOR, Folder(bench.root), "our/roles")
    assert run.files["executor"] == file.sha256
    [invoked] = [one for one in _noted(goal, "invoked") if one["role"] == "executor"]
    assert invoked["prompt_file"] == file.sha256


def test_a_role_that_changes_under_way_lets_the_run_rest_until_a_person_goes_on_with_it(bench: Bench) -> None:
    roles(bench, "executor", "agent: scripted", prompt="You are calm.")
    bench.play(plan(task(1)), echoed(done(1)))
    goal = begun(bench)
    goal.go(is_between)
    roles(bench, "executor", "agent: scripted", "model: large", prompt="You are bold.")
    run = goal.go()
    assert (run.state, run.outcome) == ("Executing", None)
    assert run.paused is not None
    assert "our/roles/ralph-executor.agent.md" in run.paused.reason
    assert goal.go().version == run.version  # it stays so, whoever drives it
    goal.resume()
    run = goal.go(lambda run: run.state == "Reviewing")
    assert (run.state, run.paused) == ("Reviewing", None)
    assert "You are bold." in goal.prompts("executor")[0]
    assert [one.agent for one in run.invocations if one.role == "executor"] == ["scripted:large"]


def test_an_agent_that_a_person_named_stays_whatever_a_file_says_later(bench: Bench) -> None:
    roles(bench, "executor", "agent: claude")
    bench.play(plan(task(1)), done(1))
    goal = begun(bench, executor="scripted:mine")
    goal.go(is_between)
    roles(bench, "executor", "agent: codex", prompt="You are another.")
    assert goal.go().paused is not None
    goal.resume()
    assert goal.run.roles["executor"] == "scripted:mine"


def test_a_role_file_that_cannot_be_used_is_an_error_and_no_other_role_takes_its_place(bench: Bench) -> None:
    bench.play(plan(task(1)), done(1))
    goal = begun(bench)
    goal.go(is_between)
    roles(bench, "executor", "agent: 'Not One'")
    with pytest.raises(UsageError) as refused:
        goal.go()
    assert refused.value.code == "role_invalid"
    assert not goal.prompts("executor")


# Budgets

PAID: Steps = [{"usage": {"input": 60, "output": 40}}, {"cost": 0.5}]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("kind", "limit", "more"), [("tokens", 250, 10_000), ("usd", 1, 100)])
def test_a_run_rests_before_it_exceeds_its_budget_and_goes_on_with_more(
    bench: Bench, kind: str, limit: int, more: int
) -> None:
    bench.settings[f"orchestrate.budget_{kind}"] = limit
    bench.play([*PAID, *plan(task(1))], [*PAID, *done(1)])
    bench.judge([*PAID, *qualified(1)], [*PAID, *MET])
    goal = begun(bench)
    run = goal.go()
    assert run.paused is not None
    assert f"orchestrate.budget_{kind}" in run.paused.reason
    assert len(run.invocations) == 2
    goal.resume()  # neither a restart nor a person who goes on resets anything
    again = goal.go()
    assert again.paused is not None
    assert (again.spent, len(again.invocations)) == (run.spent, 2)
    bench.settings[f"orchestrate.budget_{kind}"] = more
    goal.resume()
    assert goal.go().outcome == "success"


def test_time_is_a_budget_too(bench: Bench) -> None:
    bench.settings["orchestrate.budget_minutes"] = 1
    bench.play(plan(task(1)))
    goal = begun(bench)
    run = goal.go(is_between)
    journal = bench.open()
    data: dict[str, Any] = {
        "type": "invoked",
        "role": "executor",
        "mode": "",
        "task": None,
        "attempt": 1,
        "agent": "scripted",
    }
    data |= {"ending": "finished", "seconds": 61.0, "cost_usd": None, "tokens": 0}
    journal.append(run.id, Event(NOTED, DRIVER, evidence=Evidence(data=data)))
    journal.close()
    paused = goal.go().paused
    assert paused is not None
    assert "orchestrate.budget_minutes" in paused.reason


# Networks and limits


def test_a_network_that_fails_is_waited_out_twice_as_long_each_time(bench: Bench, clock: Clock) -> None:
    bench.play(OFFLINE, OFFLINE, plan(task(1)), OFFLINE, done(1))
    goal = begun(bench)
    assert goal.go(lambda run: run.state == "Reviewing").state == "Reviewing"
    assert clock == [5, 10, 5]


def test_the_wait_survives_a_restart(bench: Bench, clock: Clock) -> None:
    bench.play(OFFLINE, OFFLINE, plan(task(1)))
    goal = begun(bench)
    run = goal.go(lambda run: len(run.invocations) == 2)
    assert (run.retry_at - clock.seconds, clock) == (10, [5])
    clock.seconds += 3
    goal.go(is_between)
    assert clock == [5, 7]


def test_after_five_times_the_run_has_failed_and_a_person_may_go_on(bench: Bench, clock: Clock) -> None:
    bench.play(OFFLINE)
    goal = begun(bench)
    run = goal.go()
    assert (run.outcome, clock) == ("failure", [5, 10, 20, 40, 80])
    assert "could not be reached" in run.reason
    bench.play(plan(task(1)))
    goal.resume()
    assert goal.go(is_between).state == "Executing"


def test_a_limit_is_waited_for_and_is_no_attempt(bench: Bench, clock: Clock) -> None:
    limited: Steps = [{"limit": {"kind": "session", "until": START + 3600, "said": "limit reached"}}, {"exit": 1}]
    bench.play(limited, plan(task(1)))
    goal = begun(bench)
    run = goal.go(is_between)
    assert (run.state, clock) == ("Executing", [3600])
    assert [one.ending for one in run.invocations] == ["limited", "finished"]


# Discoveries


def found(number: int) -> dict[str, Any]:
    return {"id": f"task-{number}", "description": f"write part {number}", "rationale": "it is missing"}


def with_found(steps: Steps, *numbers: int, **changes: Any) -> Steps:
    """The same answer with tasks that were found, or changed otherwise."""
    answer = json.loads(steps[-2]["say"])
    return [*steps[:-2], *says(**{**answer, "discovered_tasks": [found(one) for one in numbers], **changes})]


def worked(number: int) -> Steps:
    """A task that was found has its description as its criterion."""
    criterion = f"write part {number}"
    made = {"criterion": criterion, "met": True, "evidence": f"part-{number}:1"}
    return with_found(done(number), criteria_status=[made])


def judged(number: int) -> Steps:
    seen = {"criterion": f"write part {number}", "met": True, "evidence": f"part-{number}:1", "finding": "looked"}
    return with_found(qualified(number), criteria_results=[seen])


def test_tasks_found_on_the_way_are_added_when_the_work_is_qualified(bench: Bench) -> None:
    bench.play(plan(task(1)), with_found(done(1), 7), worked(7))
    bench.judge(with_found(qualified(1), 7, 8), judged(7))
    goal = begun(bench)
    run = goal.go(lambda run: is_between(run) and "task-7" in run.reports)
    assert goal.marks() == {"task-1": "x", "task-7": "x", "task-8": " "}, run.reason
    assert run.discovered == 2
    assert [one.event for one in goal.history].count("tasks_discovered") == 1


def test_no_more_are_added_than_there_is_room_for(bench: Bench) -> None:
    bench.settings["orchestrate.discoveries"] = 1
    bench.play(plan(task(1)), with_found(done(1), 7, 8), with_found(worked(7), 9))
    bench.judge(qualified(1), judged(7))
    goal = begun(bench)
    run = goal.go(lambda run: run.state == "Complete")
    assert (run.state, goal.marks()) == ("Complete", {"task-1": "x", "task-7": "x"}), run.reason


def test_a_rejected_attempt_adds_none(bench: Bench) -> None:
    bench.play(plan(task(1)), with_found(done(1), 7))
    bench.judge(qualified(1, "Failed"))
    goal = begun(bench)
    goal.go(lambda run: is_between(run) and "task-1" in run.reports)
    assert goal.marks() == {"task-1": " "}


def test_tasks_found_in_an_attempt_whose_review_failed_are_added_when_a_later_one_is_qualified(bench: Bench) -> None:
    bench.play(plan(task(1)), with_found(done(1), 7), done(1))
    bench.judge(with_found(qualified(1, "Failed"), 8), qualified(1))
    goal = begun(bench)
    run = goal.go(lambda run: is_between(run) and len(run.reports.get("task-1", ())) == 2)
    assert goal.marks() == {"task-1": "x", "task-7": " ", "task-8": " "}, run.reason
    assert run.discovered == 2


def test_an_attempt_that_failed_for_want_of_a_task_is_planned_anew(bench: Bench) -> None:
    failed = with_found(
        done(1), 7, status="failed", success_criteria_met=False, criteria_status=[], summary_of_changes="no ground"
    )
    bench.play(plan(task(1)), failed, echoed(plan(task(7), task(1, "task-7"))))
    goal = begun(bench)
    run = goal.go(lambda run: is_between(run) and len(run.plan.tasks) == 2)
    assert goal.marks() == {"task-1": " ", "task-7": " "}, run.reason
    assert "requirements_discovered" in [one.event for one in goal.history]
    assert "it is missing" in goal.prompts("planner")[1]


# Answers that cannot be used


def test_the_questioner_finds_questions_and_then_answers(bench: Bench) -> None:
    bench.play(
        asks("qa_brainstorm"),
        answers(question(1), question(2, "So.")),
        echoed(answers(question(1, "Thus."), question(2, "So."))),
        echoed(plan(task(1))),
    )
    goal = begun(bench)
    run = goal.go(is_between)
    assert [(one.role, one.mode) for one in run.invocations] == [
        ("planner", "INITIALIZE"),
        ("questioner", "BRAINSTORM"),
        ("questioner", "RESEARCH"),
        ("planner", "QA_COORDINATE"),
    ]
    assert [one.answer for one in run.cycles[0].questions] == ["Thus.", "So."]
    assert "Thus." in goal.prompts("planner")[1]
    assert {str(one) for one in run.planning.values()} == {"x"}


def test_a_questioner_that_says_nothing_of_use_leaves_an_empty_cycle(bench: Bench) -> None:
    bench.play(asks(), PROSE, PROSE, echoed(PROSE), plan(task(1)))
    goal = begun(bench)
    run = goal.go(is_between)
    assert [one.role for one in run.invocations] == ["planner", *["questioner"] * 3, "planner"]
    assert [one.questions for one in run.cycles] == [()]
    assert "could not be used" in goal.prompts("questioner")[2]
    assert "The questioner gave no answer that could be used." in goal.text("plan.questions.md")


# A person who wants something else


@pytest.mark.parametrize("role", ["planner", "questioner", "executor"])
def test_what_was_answered_while_a_person_added_something_is_dropped(bench: Bench, role: str) -> None:
    steps: dict[str, list[Steps]] = {
        "planner": [plan(task(9))],
        "questioner": [asks(), PROSE],
        "executor": [plan(task(1)), done(1)],
    }
    bench.play(*steps[role], echoed(plan(task(1), task(2))))
    goal = begun(bench)

    def hear(told: object) -> None:
        if isinstance(told, Run) and told.at_work is not None and told.at_work.role == role and not told.wishes:
            journal = bench.open()
            add(journal, ANN, run_of(journal.history(goal.id)), "and in Welsh")
            journal.close()

    bench.hear = hear
    run = goal.go(lambda run: is_between(run) and bool(run.wishes))
    assert goal.marks() == {"task-1": " ", "task-2": " "}, run.reason
    assert run.reports == {}
    assert [one.role for one in run.invocations][-2:] == [role, "planner"]  # what it cost is counted
    prompt = goal.prompts("planner")[-1]
    assert "and in Welsh" in prompt
    assert "could not be used" not in prompt
    assert run.untold == []
