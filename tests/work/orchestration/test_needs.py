"""What a run that failed says it needs, by what it failed with."""

from __future__ import annotations

import msgspec
import pytest

from interlock.journal import Entry
from interlock.machine import Evidence
from interlock.work.orchestration.needs import Cause, need_of
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.values import CriterionResult, Part1, Part2, Plan, Task, TaskReport, Verdict


def _failed(event: str, reason: str, facts: dict[str, str], **data: object) -> Entry:
    evidence = msgspec.json.encode(Evidence(facts=facts, data=data)).decode()
    return Entry(
        seq=9,
        instance="x",
        version=9,
        event=event,
        from_state="Executing",
        to_state="Failed",
        actor_kind="system",
        actor_id="ralph",
        channel="driver",
        command=None,
        reason=reason,
        evidence=evidence,
        time="2026-01-31T15:00:00.000Z",
        off_path=0,
        epoch=1,
        key=None,
        previous="",
    )


@pytest.mark.parametrize(
    ("event", "facts", "cause", "passes"),
    [
        ("planner_completed", {"planner": "blocked"}, Cause.BLOCKED, False),
        ("planner_completed", {"planner": "invalid"}, Cause.ANSWER, True),
        ("planner_completed", {"planner": "needs_qa_cycle"}, Cause.QUESTIONS, False),
        ("planner_completed", {"planner": "needs_clarification"}, Cause.QUESTIONS, False),
        ("executor_completed", {"executor": "failed"}, Cause.TASK, False),
        ("executor_completed", {"executor": "invalid"}, Cause.TASK, False),
        ("executor_completed", {"executor": "blocked"}, Cause.REPLANS, False),
        ("reviewer_completed", {"verdict": "Failed"}, Cause.TASK, False),
        ("reviewer_completed", {"verdict": "invalid"}, Cause.TASK, False),
        ("requirements_discovered", {}, Cause.REPLANS, False),
        ("holistic_check_failed", {}, Cause.REPLANS, False),
        ("network_failed", {}, Cause.NETWORK, True),
        ("error", {}, Cause.OTHER, False),
    ],
)
def test_every_way_to_fail_has_a_need_that_says_what_helps(
    event: str, facts: dict[str, str], cause: Cause, passes: bool
) -> None:
    need = need_of(Run(), _failed(event, "it says why: a; b", facts, task="task-1", attempt=3, questions=["Who?"]))
    assert (need.cause, need.may_pass) == (cause, passes)
    assert need.says
    assert need.help
    assert need.questions == (("Who?",) if cause is Cause.QUESTIONS else ())
    assert need.details or cause is Cause.QUESTIONS


def test_a_task_that_was_refused_says_by_whom_and_why() -> None:
    unmet = (CriterionResult("it is polite", met=False), CriterionResult("it greets", met=True))
    part2 = Part2(Verdict.FAILED, feedback="It is rude.\nMend line 3.", criteria_results=unmet)
    run = Run(
        plan=Plan("g", tasks=(Task("task-1", "greet"),)), reports={"task-1": [TaskReport("task-1", 3, Part1(), part2)]}
    )
    need = need_of(run, _failed("reviewer_completed", "x", {"verdict": "Failed"}, task="task-1", attempt=3))
    assert need.says == "task-1 (greet) failed in attempt 3, its last: the reviewer refuses it."
    assert need.details == ("It is rude.", "Mend line 3.", "not met: it is polite")


def test_what_is_long_is_cut_and_counted() -> None:
    need = need_of(Run(), _failed("network_failed", "\n".join(f"line {n}" for n in range(40)), {}))
    assert (len(need.details), need.details[-1]) == (13, "… 28 more lines")
