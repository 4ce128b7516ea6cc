"""What the design decides where the seeds are silent or disagree, held against the shipped machines."""

from __future__ import annotations

import pytest

from interlock.machine import (
    SHIPPED,
    Accepted,
    Event,
    Evidence,
    Machine,
    Refused,
    Snapshot,
    Transition,
    load_shipped,
    step,
)

from .walks import HOLDER, TASK, by

MACHINES = {name: load_shipped(name) for name in SHIPPED}


def _rows(name: str, **wanted: object) -> list[Transition]:
    rows = [row for row in MACHINES[name].transitions if all(getattr(row, key) == one for key, one in wanted.items())]
    assert rows
    return rows


def _after(name: str, snapshot: Snapshot, event: str, kind: str, **evidence: object) -> Snapshot:
    result = _tried(name, snapshot, event, kind, **evidence)
    assert isinstance(result, Accepted), result
    return result.snapshot


def _tried(name: str, snapshot: Snapshot, event: str, kind: str, **evidence: object) -> Accepted | Refused:
    return step(MACHINES[name], snapshot, Event(event, by(kind), reason="because", evidence=Evidence(**evidence)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_gate_is_a_persons(name: str) -> None:
    assert all(row.by == ("human",) for row in MACHINES[name].transitions if row.gate)


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_child_tells_its_parent_exists_on_both_sides(name: str) -> None:
    child = MACHINES[name]
    outcomes = {row.outcome for row in child.transitions} | {state.outcome for state in child.states.values()}
    for told in child.form.parents:
        parent: Machine = MACHINES[told.machine]
        assert told.event in parent.actors
        assert set(told.enters + told.leaves) <= child.states.keys()
        assert set(told.outcomes) <= outcomes
        assert told.to is None or told.to in parent.targets[told.event]
        assert told.command is None or parent.form.commands[told.command].internal
        assert told.enters or told.leaves or told.outcomes


def test_every_end_of_a_driver_means_something_to_the_thread() -> None:
    for name in ("story", "orchestrator"):
        machine = MACHINES[name]
        ends = {
            row.outcome or machine.states[row.to].outcome
            for row in machine.transitions
            if machine.states[row.to].terminal
        }
        assert ends == {outcome for told in machine.form.parents for outcome in told.outcomes}
        told_success = {told.event for told in machine.form.parents if "success" in told.outcomes}
        assert told_success == {"claims_done"}


# Session


def test_a_session_reports_analyzing_to_reviewing_and_nothing_else() -> None:
    reported = {"analyzing", "implementing", "testing", "committing", "reviewing"}
    assert MACHINES["session"].targets == {"update_session_state": reported}


@pytest.mark.parametrize("outcome", ["failure", "timeout", "cancelled"])
@pytest.mark.parametrize("kind", ["agent", "system", "human"])
def test_a_session_that_did_not_succeed_has_failed(outcome: str, kind: str) -> None:
    ended = _after("session", Snapshot("testing"), "complete_ralph_session", kind, facts={"outcome": outcome})
    assert (ended.state, ended.outcome) == ("failed", outcome)


def test_a_person_cannot_say_that_a_session_succeeded() -> None:
    result = _tried("session", Snapshot("reviewing"), "complete_ralph_session", "human", facts={"outcome": "success"})
    assert isinstance(result, Refused)
    assert result.code == "refused_by_rule"


@pytest.mark.parametrize("state", ["committing", "reviewing"])
def test_a_bug_found_late_leads_back_to_implementing(state: str) -> None:
    (row,) = _rows("session", source=state, to="implementing")
    assert row.added
    assert not row.off_path


# Story


def test_failures_of_implementing_testing_and_validating_share_one_counter() -> None:
    snapshot = Snapshot("IMPLEMENT", task=TASK)
    snapshot = _after("story", snapshot, "attempt_failed", "system")
    snapshot = _after("story", _after("story", snapshot, "code_written", "system"), "tests_failed", "system")
    for event in ("code_written", "tests_passed", "criteria_failed"):
        snapshot = _after("story", snapshot, event, "system")
    assert (snapshot.state, snapshot.counters) == ("BLOCKER", {f"retry:{TASK}": 3})


def test_a_context_is_exhausted_three_times_a_task_and_then_blocks_it() -> None:
    counters: dict[str, int] = {}
    states = []
    for _ in range(4):
        exhausted = _after("story", Snapshot("TEST", task=TASK, counters=counters), "context_exhausted", "system")
        counters = dict(exhausted.counters)
        states.append(exhausted.state)
    assert states == ["INIT", "INIT", "INIT", "BLOCKER"]


def test_a_transient_blocker_is_retried_once_with_fresh_attempts() -> None:
    blocked = Snapshot("STORY_SELECT", counters={f"retry:{TASK}": 3, f"exhausted:{TASK}": 3})
    retried = _after("story", blocked, "blocker_retried", "system", task=TASK, data={"story": "s"})
    assert (retried.counters[f"retry:{TASK}"], retried.counters[f"exhausted:{TASK}"]) == (0, 0)
    again = _tried("story", retried, "blocker_retried", "system", task=TASK, data={"story": "s"})
    assert isinstance(again, Refused)
    assert again.code == "refused_by_rule"


def test_only_blocked_stories_left_is_an_end_but_no_success() -> None:
    assert _after("story", Snapshot("STORY_SELECT"), "only_blocked_left", "system").outcome == "blocked"
    assert _after("story", Snapshot("STORY_SELECT"), "all_complete", "system").outcome == "success"


# Thread


def test_approval_and_commit_ask_for_all_that_must_still_hold() -> None:
    (approve,), (commit,) = _rows("thread", on="approve"), _rows("thread", on="commit")
    assert set(approve.requires) == {"finalize", "receipt"}
    assert set(commit.requires) == {"finalize", "approve", "receipt"}


@pytest.mark.parametrize(
    ("state", "event"),
    [("Stuck", "assist"), ("Stuck", "reconfigure"), ("Paused", "reconfigure"), ("PendingReview", "reject")],
)
def test_a_persons_decision_to_go_on_starts_the_iterations_anew(state: str, event: str) -> None:
    again = _after("thread", Snapshot(state, counters={"iteration": 5}), event, "human", subjects={"diagnosis": "d"})
    assert again.counters == {"iteration": 1}


@pytest.mark.parametrize("mode", ["methodical", "quick"])
def test_a_mode_decides_what_goes_on_by_itself_and_never_a_gate(mode: str) -> None:
    for state, event in (("Finalized", "run"), ("Configuring", "start"), ("Implemented", "ready")):
        snapshot = Snapshot(state, settings={"mode": mode}, proofs={"finalize": "f"}, subjects={"spec": "f"})
        assert isinstance(_tried("thread", snapshot, event, "system"), Accepted) == (mode == "quick")
        assert isinstance(_tried("thread", snapshot, event, "human"), Accepted)
    approved = Snapshot("Approved", settings={"mode": mode}, proofs={"approve": "t"}, subjects={"tree": "t"})
    assert _after("thread", approved, "prepare", "system").state == "ReadyToCommit"


def test_polish_goes_back_to_implemented_only_with_a_receipt_that_still_holds() -> None:
    proven = Snapshot("Polishing", proofs={"receipt": "t"}, subjects={"tree": "t"})
    assert _after("thread", proven, "polished", "human").state == "Implemented"
    assert _after("thread", proven, "polished", "human", subjects={"tree": "edited"}).state == "Verifying"


def test_verifying_is_stopped_by_way_of_running_and_not_counted() -> None:
    stopped = _after("thread", Snapshot("Verifying", counters={"iteration": 3}), "verification_stopped", "human")
    assert (stopped.state, stopped.counters) == ("Running", {"iteration": 3})


# Orchestrator


def test_every_replan_that_is_not_a_persons_is_counted() -> None:
    for row in _rows("orchestrator", to="Planning"):
        if row.source not in ("Initializing", "Planning"):
            assert ("planning_retry" in row.count) == (row.by == ("system",)), row.id


@pytest.mark.parametrize("answer", ["needs_qa_cycle", "needs_clarification"])
def test_a_planner_gets_three_cycles_of_answers(answer: str) -> None:
    snapshot = Snapshot("Planning")
    for _ in range(3):
        snapshot = _after("orchestrator", snapshot, "planner_completed", "system", facts={"planner": answer})
        assert snapshot.state == "Planning"
    assert _after("orchestrator", snapshot, "planner_completed", "system", facts={"planner": answer}).state == "Failed"


@pytest.mark.parametrize(
    ("session", "state"),
    [
        ("new", "Planning"),
        ("planning", "Planning"),
        ("executing", "Executing"),
        ("reviewing", "Reviewing"),
        ("complete", "Complete"),
    ],
)
def test_what_is_found_on_disk_decides_where_a_run_goes_on(session: str, state: str) -> None:
    found = _after(
        "orchestrator", Snapshot("Initializing"), "session_resolved", "system", facts={"session": session}, task=TASK
    )
    assert found.state == state


@pytest.mark.parametrize("answer", ["completed", "failed", "blocked", "invalid"])
def test_an_executor_answers_only_for_a_task_that_was_selected(answer: str) -> None:
    result = _tried("orchestrator", Snapshot("Executing"), "executor_completed", "system", facts={"executor": answer})
    assert isinstance(result, Refused)


def test_invalid_answers_of_one_role_are_not_counted_for_another() -> None:
    reviewing = Snapshot("Reviewing", task=TASK, counters={"invalid": 2})
    planning = _after("orchestrator", reviewing, "requirements_added", "human")
    assert (
        _after("orchestrator", planning, "planner_completed", "system", facts={"planner": "invalid"}).state
        == "Planning"
    )


# Ticket


def test_a_ticket_follows_its_thread_by_a_command_that_nobody_is_offered() -> None:
    assert MACHINES["ticket"].form.commands["thread"].internal
    for row in _rows("ticket", on="follow"):
        assert row.commands == ("thread",)
        assert not row.count
        assert row.holds == (row.to == "In Progress")
        assert row.source != "Human Needed" or row.by == ("human",)


def test_closing_what_was_never_worked_on_is_no_success() -> None:
    for source, outcome in (("Backlog", "closed"), ("In Review", "success")):
        done = step(MACHINES["ticket"], Snapshot(source), Event("handoff", by("human"), "Done"))
        assert isinstance(done, Accepted)
        assert done.snapshot.outcome == outcome


def test_a_person_cancels_whatever_nobody_is_working_on() -> None:
    for name, state in MACHINES["ticket"].states.items():
        cancelled = step(MACHINES["ticket"], Snapshot(name, holder=HOLDER), Event("handoff", by("human"), "Canceled"))
        assert isinstance(cancelled, Accepted) == (not state.lock and not state.terminal), name
