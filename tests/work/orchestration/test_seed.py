"""The seed's document, line by line: runs are driven, and each line is held against what they did."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from interlock.machine import Accepted, Event, Evidence, Snapshot, step
from interlock.work.driver.agent_run import DRIVER
from interlock.work.orchestration.contracts import Role
from interlock.work.orchestration.record import Run
from work.orchestration.playing import GOAL, Stage, begun, opened
from work.orchestration.ways import MACHINE, Journey, Journeys
from work.threads.benches import Bench

SESSION_ID = re.compile(r"\d{6}-\d{6}(-\d+)?")


def story(journey: Journey) -> list[str]:
    """What happened, move by move and invocation by invocation, of all runs of a journey."""
    ids = dict.fromkeys(one.run.id for one in journey.stage.views)
    return [line for id_ in ids for line in _lines(journey.stage, id_)]


def _lines(stage: Bench, id_: str) -> list[str]:
    found = []
    for entry in stage.entries(id_):
        data = entry.decoded_evidence().data
        if entry.event == "noted" and data["type"] == "invoked":
            found.append(f"invoke {data['role']} {data['mode'] or data['task']} {data['attempt']}")
        elif entry.event not in ("noted", "created"):
            found.append(f"{entry.event}: {entry.from_state} → {entry.to_state}")
    return found


def follows(lines: list[str], *wanted: str) -> bool:
    """Whether these come one right after the other."""
    return any(lines[place : place + len(wanted)] == list(wanted) for place in range(len(lines)))


# Testing State Transitions: the seed's two examples


@pytest.mark.requirement("orchestrator:example:executor-completes")
def test_when_executor_completes_then_transitions_to_reviewing() -> None:
    state = Snapshot("Executing", task="task-1", counters={"attempt:task-1": 1})
    executor_output = Evidence(facts={"executor": "completed"}, data={"task": "task-1", "success_criteria_met": True})

    next_state = step(MACHINE, state, Event("executor_completed", DRIVER, evidence=executor_output))

    assert isinstance(next_state, Accepted)
    assert next_state.snapshot.state == "Reviewing"


@pytest.mark.requirement("orchestrator:example:reviewer-qualifies")
def test_when_reviewer_qualifies_then_transitions_to_executing() -> None:
    state = Snapshot("Reviewing", task="task-1")
    reviewer_output = Evidence(facts={"verdict": "Qualified"}, data={"task": "task-1"})

    next_state = step(MACHINE, state, Event("reviewer_completed", DRIVER, evidence=reviewer_output))

    assert isinstance(next_state, Accepted)
    assert next_state.snapshot.state == "Executing"
    assert next_state.snapshot.task is None  # cleared for next selection


@pytest.mark.requirement("orchestrator:example:executor-completes")
@pytest.mark.requirement("orchestrator:example:reviewer-qualifies")
def test_the_examples_hold_for_a_run_that_is_driven(journeys: Journeys) -> None:
    seen = [view.run for view in journeys["straight"].stage.views]
    executing = next(place for place, one in enumerate(seen) if one.state == "Executing" and one.task == "task-1")
    assert [(one.state, one.task) for one in seen[executing : executing + 3]] == [
        ("Executing", "task-1"),
        ("Reviewing", "task-1"),
        ("Executing", None),
    ]


# States: the entry condition and the owner of each


def _entered(journeys: Journeys, state: str) -> list[Run]:
    names = ("straight", "asked", "missing", "rejected", "blocked")
    return [one.run for name in names for one in journeys[name].stage.views if one.run.state == state]


@pytest.mark.requirement("orchestrator:entry:initializing")
def test_a_request_of_a_user_begins_in_initializing(tmp_path: Path) -> None:
    stage = Stage.made(tmp_path / "here")
    begun(stage)
    with opened(stage) as (journal, _):
        [instance] = journal.open_instances("orchestrator")
        [created] = journal.history(instance.id)
    assert instance.state == "Initializing"
    assert created.decoded_evidence().data["goal"] == GOAL


@pytest.mark.requirement("orchestrator:entry:planning")
def test_planning_is_entered_when_the_session_is_resolved(journeys: Journeys) -> None:
    assert story(journeys["straight"])[:2] == [
        "session_resolved: Initializing → Planning",
        "invoke planner INITIALIZE 1",
    ]
    assert all(re.fullmatch(SESSION_ID, one.session) for one in _entered(journeys, "Planning"))


@pytest.mark.requirement("orchestrator:entry:executing")
def test_executing_is_entered_with_tasks_and_the_next_one_is_identified(journeys: Journeys) -> None:
    assert all(one.plan.tasks for one in _entered(journeys, "Executing"))
    assert follows(
        story(journeys["straight"]), "planner_completed: Planning → Executing", "task_selected: Executing → Executing"
    )


@pytest.mark.requirement("orchestrator:entry:reviewing")
def test_a_task_is_marked_p_while_it_is_reviewed(journeys: Journeys) -> None:
    for one in journeys["rejected"].stage.views:
        assert ("- [P] task-1" in one.progress) is (one.run.state == "Reviewing")


@pytest.mark.requirement("orchestrator:entry:complete")
def test_complete_is_entered_when_every_task_is_closed(journeys: Journeys) -> None:
    entered = _entered(journeys, "Complete")
    assert entered
    assert {str(task.mark) for one in entered for task in one.plan.tasks} <= {"x", "C"}
    assert story(journeys["straight"])[-2:] == [
        "invoke holistic SESSION_REVIEW 1",
        "holistic_check_passed: Complete → Exit",
    ]


@pytest.mark.requirement("orchestrator:entry:failed")
@pytest.mark.parametrize(
    ("name", "reason"),
    {
        "unplannable": "the planner is blocked: nobody knows the parts; nor who does",
        "rejected_thrice": "task-1: it is not right",
        "asks_for_ever": "the planner still asks, and there are no more answers: Which parts?",
        "blocked_thrice": "task-1, attempt 1: the disk is gone",
        "missing_thrice": "Not yet. Missing: write part 4 (part 4 is lacking)",
    }.items(),
)
def test_failed_is_entered_for_a_critical_blocker_or_when_retries_are_used_up(
    journeys: Journeys, name: str, reason: str
) -> None:
    ended = journeys[name].ended
    assert (ended.state, ended.outcome, ended.reason) == ("Failed", "failure", reason)


OWNERS = {
    "Initializing": set(),
    "Planning": {"planner", "questioner"},
    "Executing": {"executor"},
    "Reviewing": {"reviewer"},
    "Complete": {"holistic"},
    "Failed": set(),
}
"""Who is invoked in each state; the questioner works for the planner, and the check of the whole is ours."""


@pytest.mark.parametrize(
    "state", [pytest.param(one, marks=pytest.mark.requirement(f"orchestrator:owner:{one.lower()}")) for one in OWNERS]
)
def test_a_state_is_its_owners(journeys: Journeys, state: str) -> None:
    invoked = set()
    for name in ("asked", "missing", "rejected_thrice"):
        stage = journeys[name].stage
        for entry in stage.entries(journeys[name].ended.id):
            data = entry.decoded_evidence().data
            if entry.event == "noted" and data["type"] == "invoked" and entry.to_state == state:
                invoked.add(data["role"])
    assert invoked == OWNERS[state]
    owner = MACHINE.form.states[state].owner or ""
    assert owner == "Orchestrator" or owner.removeprefix("Ralph-").lower() in invoked


# Transitions: what is done in each row


@pytest.mark.requirement("orchestrator:action:new-session")
def test_a_new_session_gets_a_directory_and_the_planner_is_invoked(journeys: Journeys) -> None:
    journey = journeys["straight"]
    assert journey.stage.session(journey.ended).is_dir()
    assert story(journey)[1] == "invoke planner INITIALIZE 1"


@pytest.mark.requirement("orchestrator:action:resume-session")
@pytest.mark.parametrize(
    ("name", "to"),
    {
        "resumed_in_planning": "Planning",
        "resumed_in_executing": "Executing",
        "resumed_in_reviewing": "Reviewing",
        "resumed_in_complete": "Complete",
    }.items(),
)
def test_a_resumed_session_goes_on_where_its_tasks_stand(journeys: Journeys, name: str, to: str) -> None:
    journey = journeys[name]
    first, second = dict.fromkeys(one.run.id for one in journey.stage.views)
    sessions = {one.run.session for one in journey.stage.views}
    assert len(sessions) == 1, "the same directory"
    assert _lines(journey.stage, first)[-1].endswith("→ Failed")
    assert _lines(journey.stage, second)[0] == f"session_resolved: Initializing → {to}"


@pytest.mark.requirement("orchestrator:action:critical-error")
@pytest.mark.requirement("orchestrator:next:initializing:error")
def test_a_critical_error_ends_a_run_before_anything_is_begun(journeys: Journeys) -> None:
    journey = journeys["error"]
    assert story(journey) == ["error: Initializing → Failed"]
    assert journey.ended.outcome == "failure"
    assert ".ralph-sessions/261115-120000, or a directory above it, is a link" in journey.ended.reason
    assert [*(journey.stage.root / "elsewhere").iterdir()] == []


@pytest.mark.requirement("orchestrator:action:qa-cycle")
def test_the_questioner_is_invoked_and_the_planner_goes_on_with_the_answers(journeys: Journeys) -> None:
    journey = journeys["asked"]
    assert follows(
        story(journey),
        "planner_completed: Planning → Planning",
        "invoke questioner RESEARCH 1",
        "invoke planner QA_COORDINATE 1",
    )
    questions = journey.file("plan.questions.md")
    assert "Both" in questions
    assert "README:1" in questions


@pytest.mark.requirement("orchestrator:action:tasks-ready")
def test_the_tasks_of_a_plan_are_in_the_files_and_the_first_is_selected(journeys: Journeys) -> None:
    journey = journeys["straight"]
    place = next(place for place, one in enumerate(journey.stage.views) if one.run.state == "Executing")
    assert journey.stage.views[place].progress.endswith("- [ ] task-1 (Not Started)\n- [ ] task-2 (Not Started)\n")
    assert "- [/] task-1 (In Progress)" in journey.stage.views[place + 1].progress
    for number in (1, 2):
        assert f"- task-{number}: write part {number}" in journey.file("tasks.md")


@pytest.mark.requirement("orchestrator:action:blockers")
def test_the_blockers_of_the_planner_are_logged(journeys: Journeys) -> None:
    journey = journeys["unplannable"]
    [entry] = [one.entry for one in journey.moves if one.row.to == "Failed"]
    assert entry.reason == "the planner is blocked: nobody knows the parts; nor who does"


@pytest.mark.sampled(2)
@pytest.mark.requirement("orchestrator:action:requirements")
@pytest.mark.parametrize("state", ["planning", "executing", "reviewing", "complete"])
def test_new_requirements_of_a_user_lead_to_the_planner(journeys: Journeys, state: str) -> None:
    lines = story(journeys[f"added_in_{state}"])
    mode = "INITIALIZE" if state == "planning" else "UPDATE"
    assert follows(lines, f"requirements_added: {state.capitalize()} → Planning", f"invoke planner {mode} 1")


@pytest.mark.requirement("orchestrator:action:pending")
def test_a_task_that_is_done_is_marked_p_and_goes_to_the_reviewer(journeys: Journeys) -> None:
    journey = journeys["straight"]
    assert follows(story(journey), "executor_completed: Executing → Reviewing", "invoke reviewer task-1 1")
    move = next(one for one in journey.moves if one.row.on == "executor_completed")
    assert "- [P] task-1 (Review Pending)" in journey.view(move).progress


@pytest.mark.requirement("orchestrator:action:blocked")
def test_what_blocks_an_executor_is_planned_around(journeys: Journeys) -> None:
    journey = journeys["blocked"]
    assert follows(story(journey), "executor_completed: Executing → Planning", "invoke planner UPDATE 1")
    assert [(one.id, str(one.mark)) for one in journey.ended.plan.tasks] == [
        ("task-1", "C"),
        ("task-2", "x"),
        ("task-3", "x"),
    ]


@pytest.mark.requirement("orchestrator:action:requirements-discovered")
def test_what_an_executor_finds_missing_leads_to_the_planner(journeys: Journeys) -> None:
    journey = journeys["discovered_by_executor"]
    assert follows(
        story(journey),
        "executor_completed: Executing → Executing",
        "requirements_discovered: Executing → Planning",
        "invoke planner UPDATE 1",
    )
    [move] = [one for one in journey.moves if one.row.on == "requirements_discovered"]
    assert move.entry.reason == "task-1 needs what is not planned. task-2: write part 2 (1 needs it)"


@pytest.mark.requirement("orchestrator:action:tasks-discovered")
def test_tasks_that_are_found_in_a_review_are_in_the_files_and_are_done(journeys: Journeys) -> None:
    journey = journeys["discovered_by_reviewer"]
    assert follows(story(journey), "invoke reviewer task-1 1", "tasks_discovered: Reviewing → Executing")
    assert "- task-2: write part 2" in journey.file("tasks.md")
    assert "- [x] task-2 (Completed)" in journey.file("progress.md")
    assert journey.ended.outcome == "success"


@pytest.mark.requirement("orchestrator:action:all-done")
def test_the_whole_is_checked_when_every_task_is_done(journeys: Journeys) -> None:
    assert follows(
        story(journeys["straight"]), "no_tasks_remaining: Executing → Complete", "invoke holistic SESSION_REVIEW 1"
    )


@pytest.mark.requirement("orchestrator:action:qualified")
def test_a_qualified_task_is_marked_x_and_the_next_is_selected(journeys: Journeys) -> None:
    journey = journeys["straight"]
    assert follows(
        story(journey),
        "reviewer_completed: Reviewing → Executing",
        "task_selected: Executing → Executing",
        "invoke executor task-2 1",
    )
    move = next(one for one in journey.moves if one.row.on == "reviewer_completed")
    assert "- [x] task-1 (Completed)" in journey.view(move).progress


@pytest.mark.requirement("orchestrator:action:rework")
def test_a_task_that_fails_its_review_is_open_again_and_the_attempt_is_counted(journeys: Journeys) -> None:
    journey = journeys["rejected"]
    marks = [re.search(r"- \[(.)\] task-1 \((.*)\)", one.progress) for one in journey.stage.views]
    seen = [one.group(1, 2) for one in marks if one]
    assert [one for one, two in pairwise([*seen, ("", "")]) if one != two] == [
        *((" ", "Not Started"), ("/", "In Progress"), ("P", "Review Pending")),
        *((" ", "Not Started, Attempt 2"), ("/", "In Progress, Attempt 2"), ("P", "Review Pending, Attempt 2")),
        *((" ", "Not Started, Attempt 3"), ("/", "In Progress, Attempt 3"), ("P", "Review Pending, Attempt 3")),
        ("x", "Completed, Attempt 3"),
    ]
    assert [line for line in story(journey) if line.startswith("invoke executor")] == [
        f"invoke executor task-1 {attempt}" for attempt in (1, 2, 3)
    ]


@pytest.mark.requirement("orchestrator:action:success")
def test_a_goal_that_is_met_ends_with_a_summary(journeys: Journeys) -> None:
    ended = journeys["straight"].ended
    assert (ended.state, ended.outcome, ended.reason) == ("Exit", "success", "The goal is met.")


@pytest.mark.requirement("orchestrator:action:missing")
def test_what_the_whole_lacks_is_planned_and_done(journeys: Journeys) -> None:
    journey = journeys["missing"]
    assert follows(story(journey), "holistic_check_failed: Complete → Planning", "invoke planner UPDATE 1")
    assert [(one.id, str(one.mark)) for one in journey.ended.plan.tasks] == [("task-1", "x"), ("task-2", "x")]


# State Data Model

MODEL: dict[str, tuple[Callable[[Run], object], list[object]]] = {
    "CurrentState": (
        lambda run: run.state,
        ["Initializing", "Planning", *["Executing", "Executing", "Reviewing"] * 3, "Executing", "Complete", "Exit"],
    ),
    "SessionId": (lambda run: run.session, ["261115-120000"]),
    "CurrentTaskId": (lambda run: run.task, [None, None, *[None, "task-1", "task-1"] * 3, None, None, None]),
    "CurrentAttemptNumber": (
        lambda run: run.plan.tasks[0].attempt if run.plan.tasks else None,
        [None, None, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3],
    ),
}
"""Of each field, what it is before each step of a run whose task is rejected twice."""


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.requirement(f"orchestrator:model:{one}")) for one in MODEL]
)
def test_a_field_of_the_model_is_there_at_every_step(journeys: Journeys, name: str) -> None:
    look, expected = MODEL[name]
    found = [look(one.run) for one in journeys["rejected"].stage.views]
    assert found == (expected if len(expected) > 1 else expected * len(found))


@pytest.mark.requirement("orchestrator:model:SessionPath")
def test_the_path_of_a_session_is_that_of_its_files(journeys: Journeys) -> None:
    journey = journeys["rejected"]
    path = journey.stage.root / ".ralph-sessions" / journey.ended.session
    assert {one.name for one in path.iterdir()} == {
        "plan.md",
        "tasks.md",
        "progress.md",
        "transitions.jsonl",
        "261115-120000.instructions.md",
        "tasks.task-1-report.md",
        "tasks.task-1-report-r2.md",
        "tasks.task-1-report-r3.md",
    }


@pytest.mark.requirement("orchestrator:model:Blockers")
def test_blockers_are_there_as_they_were_given(journeys: Journeys) -> None:
    assert "nobody knows the parts; nor who does" in journeys["unplannable"].ended.reason
    assert "the disk is gone" in journeys["blocked_thrice"].ended.reason


@pytest.mark.requirement("orchestrator:model:QaCycleCount")
def test_cycles_of_questions_are_counted(journeys: Journeys) -> None:
    journey = journeys["asks_for_ever"]
    assert [one.number for one in journey.ended.cycles] == [1, 2, 3]
    assert [one.after.counters["qa_cycle"] for one in journey.moves if one.row.count] == [1, 2, 3]


@pytest.mark.requirement("orchestrator:model:State")
def test_the_states_are_the_seeds_six_and_its_exit() -> None:
    assert [*MACHINE.states] == ["Initializing", "Planning", "Executing", "Reviewing", "Complete", "Failed", "Exit"]


# Transition Logic: every branch of the pseudocode

BRANCHES: dict[str, tuple[str, tuple[str, ...]]] = {
    "initializing:new": ("straight", ("session_resolved: Initializing → Planning", "invoke planner INITIALIZE 1")),
    "initializing:uncompleted": ("resumed_in_executing", ("session_resolved: Initializing → Executing",)),
    "initializing:completed": ("resumed_in_complete", ("session_resolved: Initializing → Complete",)),
    "planning:needs-qa-cycle": (
        "asked",
        (
            "planner_completed: Planning → Planning",
            "invoke questioner RESEARCH 1",
            "invoke planner QA_COORDINATE 1",
            "planner_completed: Planning → Executing",
        ),
    ),
    "planning:completed": ("straight", ("invoke planner INITIALIZE 1", "planner_completed: Planning → Executing")),
    "planning:blocked": ("unplannable", ("invoke planner INITIALIZE 1", "planner_completed: Planning → Failed")),
    "executing:none-remaining": ("straight", ("no_tasks_remaining: Executing → Complete",)),
    "executing:selected": ("straight", ("task_selected: Executing → Executing", "invoke executor task-1 1")),
    "executing:completed": ("straight", ("invoke executor task-1 1", "executor_completed: Executing → Reviewing")),
    "executing:blocked": ("blocked", ("invoke executor task-1 1", "executor_completed: Executing → Planning")),
    "reviewing:qualified": ("straight", ("invoke reviewer task-1 1", "reviewer_completed: Reviewing → Executing")),
    "reviewing:failed": (
        "rejected",
        (
            "invoke reviewer task-1 1",
            "reviewer_completed: Reviewing → Executing",
            "task_selected: Executing → Executing",
            "invoke executor task-1 2",
        ),
    ),
    "complete:passed": ("straight", ("invoke holistic SESSION_REVIEW 1", "holistic_check_passed: Complete → Exit")),
    "complete:failed": (
        "missing",
        (
            "invoke holistic SESSION_REVIEW 1",
            "holistic_check_failed: Complete → Planning",
            "invoke planner UPDATE 1",
            "planner_completed: Planning → Executing",
        ),
    ),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.requirement(f"orchestrator:next:{one}")) for one in BRANCHES]
)
def test_a_branch_of_the_pseudocode_is_what_happens(journeys: Journeys, name: str) -> None:
    journey, wanted = BRANCHES[name]
    assert follows(story(journeys[journey]), *wanted), story(journeys[journey])


# Error Handling


@pytest.mark.requirement("orchestrator:retry:task")
@pytest.mark.requirement("orchestrator:failure:attempts")
@pytest.mark.parametrize("name", ["rejected_thrice", "executor_failed_thrice"])
def test_a_task_has_three_attempts(journeys: Journeys, name: str) -> None:
    _check_attempts(journeys[name])


@pytest.mark.sampled(0)
@pytest.mark.parametrize("name", ["executor_prose", "reviewer_prose"])
def test_a_task_has_three_attempts_also_for_answers_that_cannot_be_used(journeys: Journeys, name: str) -> None:
    _check_attempts(journeys[name])


def _check_attempts(journey: Journey) -> None:
    attempts = {line for line in story(journey) if line.startswith("invoke executor")}
    assert attempts == {f"invoke executor task-1 {number}" for number in (1, 2, 3)}
    assert (journey.ended.state, str(journey.ended.plan.tasks[0].mark)) == ("Failed", "F")
    assert "- [F] task-1" in journey.stage.views[-1].progress


@pytest.mark.requirement("orchestrator:retry:qa")
def test_there_are_three_cycles_of_questions(journeys: Journeys) -> None:
    lines = story(journeys["asks_for_ever"])
    assert lines.count("invoke questioner RESEARCH 1") == 3
    assert lines[-2:] == ["invoke planner QA_COORDINATE 1", "planner_completed: Planning → Failed"]


@pytest.mark.requirement("orchestrator:retry:planning")
@pytest.mark.parametrize("name", ["blocked_thrice", "missing_thrice"])
def test_it_is_planned_again_twice(journeys: Journeys, name: str) -> None:
    assert [line for line in story(journeys[name]) if line.startswith("invoke planner")] == [
        "invoke planner INITIALIZE 1",
        *["invoke planner UPDATE 1"] * 2,
    ]
    assert journeys[name].ended.state == "Failed"


@pytest.mark.requirement("orchestrator:failure:planner-blocked")
def test_a_planner_that_is_blocked_ends_the_run_with_its_blockers(journeys: Journeys) -> None:
    ended = journeys["unplannable"].ended
    assert (ended.state, ended.reason) == ("Failed", "the planner is blocked: nobody knows the parts; nor who does")


@pytest.mark.sampled(2)
@pytest.mark.requirement("orchestrator:failure:network")
@pytest.mark.parametrize("role", ["planner", "executor", "reviewer", "holistic"])
def test_a_network_error_is_waited_out_longer_each_time(journeys: Journeys, role: str) -> None:
    journey = journeys["down"]
    assert journey.ended.outcome == "success"
    assert [round(one) for one in journey.stage.waited] == [5, 10] * 4, "each of the four begins anew"
    for_ever = journeys[f"{role}_down_for_ever"]
    assert [round(one) for one in for_ever.stage.waited] == [5, 10, 20, 40, 80]
    assert for_ever.ended.state == "Failed"
    assert for_ever.ended.reason.startswith(f"the {Role(role).called} could not be reached: ")
    assert "Connection refused by the model's server" in for_ever.ended.reason


@pytest.mark.requirement("orchestrator:failure:invalid")
def test_whoever_answers_with_prose_is_asked_again(journeys: Journeys) -> None:
    lines = story(journeys["prose_once"])
    for state, event, role in (
        ("Planning", "planner_completed", "planner INITIALIZE"),
        ("Executing", "executor_completed", "executor task-1"),
        ("Reviewing", "reviewer_completed", "reviewer task-1"),
    ):
        asked = f"invoke {role} 1"
        assert follows(lines, asked, f"{event}: {state} → {state}", asked)
    assert follows(
        story(journeys["holistic_prose"]),
        *["invoke holistic SESSION_REVIEW 1"] * 3,
        "holistic_check_passed: Complete → Exit",
    )


# State Transitions Log


def _log(journey: Journey) -> list[dict[str, object]]:
    found: list[dict[str, object]] = [json.loads(line) for line in journey.file("transitions.jsonl").splitlines()]
    return found


@pytest.mark.requirement("orchestrator:log:form")
def test_every_line_of_the_log_has_the_seeds_form(journeys: Journeys) -> None:
    for line in _log(journeys["rejected"]):
        assert list(line) == ["timestamp", "sessionId", "transition"]
        assert isinstance(line["transition"], dict)
        assert list(line["transition"]) == ["from", "to", "trigger", "taskId", "attemptNumber"]


@pytest.mark.requirement("orchestrator:log:timestamp")
def test_a_line_of_the_log_has_the_time_of_its_move(journeys: Journeys) -> None:
    journey = journeys["rejected"]
    times = [str(line["timestamp"]) for line in _log(journey)]
    assert times == [one.entry.time for one in journey.moves] == sorted(times)
    assert all(datetime.fromisoformat(one).utcoffset() is not None for one in times)


@pytest.mark.requirement("orchestrator:log:session")
def test_a_line_of_the_log_has_the_id_of_its_session(journeys: Journeys) -> None:
    assert {line["sessionId"] for line in _log(journeys["rejected"])} == {"261115-120000"}


@pytest.mark.requirement("orchestrator:log:transition")
def test_a_line_of_the_log_says_what_moved_and_for_which_attempt(journeys: Journeys) -> None:
    rounds = [
        (
            ("Executing", "Executing", "task_selected", "task-1", attempt),
            ("Executing", "Reviewing", "executor_completed", "task-1", attempt),
            ("Reviewing", "Executing", "reviewer_completed", "task-1", attempt),
        )
        for attempt in (1, 2, 3)
    ]
    found = [tuple(line["transition"].values()) for line in _log(journeys["rejected"])]  # type: ignore[attr-defined]
    assert found == [
        ("Initializing", "Planning", "session_resolved", None, None),
        ("Planning", "Executing", "planner_completed", None, None),
        *(one for each in rounds for one in each),
        ("Executing", "Complete", "no_tasks_remaining", None, None),
        ("Complete", "Exit", "holistic_check_passed", None, None),
    ]


# Implementation Patterns


@pytest.mark.requirement("orchestrator:workflow:loop")
def test_it_goes_on_until_it_is_complete_or_failed(journeys: Journeys) -> None:
    for name in ("straight", "asked", "rejected", "missing", "unplannable", "rejected_thrice"):
        states = [one.run.state for one in journeys[name].stage.views]
        assert states[-1] in ("Exit", "Failed")
        assert not {"Exit", "Failed"} & set(states[:-1])


@pytest.mark.requirement("orchestrator:workflow:state-files")
def test_the_files_say_what_was_answered_before_the_next_role_is_asked(journeys: Journeys) -> None:
    for name in ("straight", "rejected", "missing", "blocked"):
        for view in journeys[name].stage.views:
            shown = dict(reversed(one) for one in re.findall(r"^- \[(.)\] (task-\S+)", view.progress, re.MULTILINE))
            assert shown == {one.id: str(one.mark) for one in view.run.plan.tasks}


@pytest.mark.requirement("orchestrator:workflow:rework-reports")
def test_each_attempt_has_a_report_of_its_own(journeys: Journeys) -> None:
    journey = journeys["rejected"]
    names = ("tasks.task-1-report.md", "tasks.task-1-report-r2.md", "tasks.task-1-report-r3.md")
    assert ["Failed" in journey.file(name) for name in names] == [True, True, False]
    assert "Qualified" in journey.file(names[2])
