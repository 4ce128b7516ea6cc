"""Every row of the orchestrator's table is taken by a run that is driven; what is not in the table changes nothing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from interlock.errors import InterlockError
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence, Transition
from interlock.machine.form import RefusalForm
from interlock.work.driver.agent_run import DRIVER
from interlock.work.orchestration.record import Run
from seeds.manifest import TRANSITIONS
from work.orchestration.playing import (
    MET,
    Stage,
    begun,
    done,
    is_in,
    opened,
    plan,
    qualified,
    rested,
    task,
    unplannable,
)
from work.orchestration.ways import JOURNEYS, MACHINE, Journey, Journeys, Move
from work.threads.benches import AGENT

INVALID = "invalid >= invalid.limit and attempt"
TAKEN: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "straight": (
        ("Initializing", "session_resolved", "Planning", "session == 'new'"),
        ("Planning", "planner_completed", "Executing", "planner == 'completed'"),
        ("Executing", "task_selected", "Executing", ""),
        ("Executing", "executor_completed", "Reviewing", "executor == 'completed'"),
        ("Reviewing", "reviewer_completed", "Executing", "verdict == 'Qualified'"),
        ("Executing", "no_tasks_remaining", "Complete", ""),
        ("Complete", "holistic_check_passed", "Exit", ""),
    ),
    "asked": (("Planning", "planner_completed", "Planning", "planner == 'needs_qa_cycle'"),),
    "clarified": (("Planning", "planner_completed", "Planning", "planner == 'needs_clarification'"),),
    "asks_for_ever": (("Planning", "planner_completed", "Failed", "qa_cycle >= qa_cycle.limit"),),
    "unplannable": (("Planning", "planner_completed", "Failed", "planner == 'blocked'"),),
    "prose_once": (
        ("Planning", "planner_completed", "Planning", "planner == 'invalid'"),
        ("Executing", "executor_completed", "Executing", "executor == 'invalid' and invalid < "),
        ("Reviewing", "reviewer_completed", "Reviewing", "verdict == 'invalid'"),
    ),
    "planner_prose": (("Planning", "planner_completed", "Failed", "planner == 'invalid'"),),
    "executor_prose": (
        ("Executing", "executor_completed", "Executing", f"executor == 'invalid' and {INVALID} <"),
        ("Executing", "executor_completed", "Failed", f"executor == 'invalid' and {INVALID} >="),
    ),
    "reviewer_prose": (
        ("Reviewing", "reviewer_completed", "Executing", f"verdict == 'invalid' and {INVALID} <"),
        ("Reviewing", "reviewer_completed", "Failed", f"verdict == 'invalid' and {INVALID} >="),
    ),
    "rejected": (("Reviewing", "reviewer_completed", "Executing", "verdict == 'Failed'"),),
    "rejected_thrice": (("Reviewing", "reviewer_completed", "Failed", "verdict == 'Failed'"),),
    "executor_failed": (("Executing", "executor_completed", "Executing", "executor == 'failed'"),),
    "executor_failed_thrice": (("Executing", "executor_completed", "Failed", "executor == 'failed'"),),
    "blocked": (("Executing", "executor_completed", "Planning", "executor == 'blocked'"),),
    "blocked_thrice": (("Executing", "executor_completed", "Failed", "executor == 'blocked'"),),
    "missing": (("Complete", "holistic_check_failed", "Planning", ""),),
    "missing_thrice": (("Complete", "holistic_check_failed", "Failed", ""),),
    "discovered_by_executor": (("Executing", "requirements_discovered", "Planning", ""),),
    "discovered_too_often": (("Executing", "requirements_discovered", "Failed", ""),),
    "discovered_by_reviewer": (("Reviewing", "tasks_discovered", "Executing", ""),),
    "unticked_in_planning": (("Planning", "task_reopened", "Planning", ""),),
    "unticked_in_executing": (("Executing", "task_reopened", "Executing", ""),),
    "unticked_in_reviewing": (("Reviewing", "task_reopened", "Reviewing", ""),),
    "unticked_in_complete": (
        ("Complete", "task_reopened", "Complete", ""),
        ("Complete", "tasks_edited", "Executing", ""),
    ),
    "error": (("Initializing", "error", "Failed", ""),),
    "added_in_planning": (("Planning", "requirements_added", "Planning", ""),),
    "added_in_executing": (("Executing", "requirements_added", "Planning", ""),),
    "added_in_reviewing": (
        ("Reviewing", "requirements_added", "Planning", ""),
        ("Executing", "review_pending", "Reviewing", ""),
    ),
    "added_in_complete": (("Complete", "requirements_added", "Planning", ""),),
    "down": (
        ("Planning", "network_failed", "Planning", ""),
        ("Executing", "network_failed", "Executing", ""),
        ("Reviewing", "network_failed", "Reviewing", ""),
        ("Complete", "network_failed", "Complete", ""),
    ),
    "planner_down_for_ever": (("Planning", "network_failed", "Failed", ""),),
    "executor_down_for_ever": (("Executing", "network_failed", "Failed", ""),),
    "reviewer_down_for_ever": (("Reviewing", "network_failed", "Failed", ""),),
    "holistic_down_for_ever": (("Complete", "network_failed", "Failed", ""),),
    "resumed_in_planning": (("Initializing", "session_resolved", "Planning", "session == 'planning'"),),
    "resumed_in_executing": (("Initializing", "session_resolved", "Executing", ""),),
    "resumed_in_reviewing": (("Initializing", "session_resolved", "Reviewing", ""),),
    "resumed_in_complete": (("Initializing", "session_resolved", "Complete", ""),),
}
"""The rows that each journey is there for: from, event, to, and a part of the condition."""


def _journey(row: Transition) -> list[str]:
    """The journeys that are there for a row."""
    return [name for name, rows in TAKEN.items() for one in rows if _is(row, one)]


def _is(row: Transition, known: tuple[str, str, str, str]) -> bool:
    return (row.source, row.on, row.to) == known[:3] and known[3] in (row.when or "")


def _requirements(row: Transition) -> list[str]:
    """The rows of the seed that this one is."""
    return [
        one["id"]
        for one in TRANSITIONS
        if one["machine"] == "orchestrator"
        and (one["from"], one["on"], one["to"]) == (row.source, row.on, row.to)
        and _asked(one.get("when")) <= _asked(row.when)
    ]


def _asked(when: str | None) -> set[str]:
    return set(when.split(" and ")) if when else set()


def _rows() -> list[ParameterSet]:
    return [
        pytest.param(
            row, name, id=f"{row.id} {name}", marks=[pytest.mark.requirement(one) for one in _requirements(row)]
        )
        for row in MACHINE.transitions
        for name in _journey(row)
    ]


def test_every_row_of_the_table_has_a_run_that_takes_it() -> None:
    assert [row.id for row in MACHINE.transitions if not _journey(row)] == []
    assert set(TAKEN) <= set(JOURNEYS)
    for name, rows in TAKEN.items():
        for one in rows:
            assert len([row for row in MACHINE.transitions if _is(row, one)]) == 1, (name, one)


@pytest.mark.sampled(0)
@pytest.mark.parametrize(("row", "name"), _rows())
def test_a_row_of_the_table_is_taken(journeys: Journeys, row: Transition, name: str) -> None:
    journey = journeys[name]
    taken = [one for one in journey.moves if one.row == row]
    assert taken, sorted({one.row.id for one in journey.moves})
    for move in taken:
        _check_entry(move)
        _check_run(journey, move)


def _check_entry(move: Move) -> None:
    row, entry = move.row, move.entry
    assert (entry.from_state, entry.to_state, entry.off_path) == (row.source, row.to, 0)
    assert entry.actor_kind in row.by
    if row.needs or row.to == "Failed":
        assert entry.reason, "whoever reads it wants to know why"
    task = entry.decoded_evidence().task or move.before.task
    known = {name: f"{name}:{task}" if one.per else name for name, one in MACHINE.form.counters.items()}
    for name, value in row.set.items():
        assert move.after.counters[known[name]] == value
    for name, by in row.count.items():
        start = MACHINE.form.counters[name].start
        assert move.after.counters[known[name]] == move.before.counters.get(known[name], start) + by


def _check_run(journey: Journey, move: Move) -> None:
    """What a person sees after it: the run as it is told, and the files."""
    row, view = move.row, journey.view(move)
    those = [one.entry.version for one in journey.moves if one.entry.instance == view.run.id]
    if any(move.entry.version < one <= view.run.version for one in those):
        return  # it was one of several moves that were made at once
    assert view.run.state == row.to
    assert view.run.outcome == {"Exit": "success", "Failed": "failure"}.get(row.to)
    if "task" in row.releases:
        assert view.run.task is None
    if row.selects:
        assert view.run.task == move.entry.decoded_evidence().task
    shown = {id_: mark for mark, id_ in re.findall(r"^- \[(.)\] (task-\S+)", view.progress, re.MULTILINE)}
    assert shown == {one.id: str(one.mark) for one in view.run.plan.tasks}


# What is not in the table

_REFUSED = ("actor_not_allowed", "not_allowed", "person_needed", "terminal")
_ACTORS = {
    ActorKind.SYSTEM: DRIVER,
    ActorKind.AGENT: AGENT,
    ActorKind.HUMAN: Actor(ActorKind.HUMAN, "ann", Channel.CLI),
}
OUTSIDE = {
    (state, kind): [event for event in sorted(MACHINE.actors) if (state, event, kind) not in MACHINE.rules]
    for state, kind in itertools.product(MACHINE.states, _ACTORS)
}


@pytest.fixture(scope="module")
def resting(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Stage, Run]]:
    """A run that rests in a state; one for each, made when it is asked for."""
    made: dict[str, tuple[Stage, Run]] = {}

    def at(state: str) -> tuple[Stage, Run]:
        if state not in made:
            made[state] = _rested(Stage.made(tmp_path_factory.mktemp("resting") / "here"), state)
        return made[state]

    return at


def _rested(stage: Stage, state: str) -> tuple[Stage, Run]:
    stage.play(unplannable() if state == "Failed" else plan(task(1)), done(1))
    stage.judge(qualified(1), MET)
    id_ = begun(stage)
    return stage, rested(stage, id_, is_in(state))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("state", "kind"), OUTSIDE, ids=lambda one: str(one))
def test_what_is_not_in_the_table_is_refused_and_changes_nothing(
    resting: Callable[[str], tuple[Stage, Run]], state: str, kind: ActorKind
) -> None:
    stage, run = resting(state)
    assert run.state == state
    before = (stage.entries(run.id), _files(stage, run))
    for event in OUTSIDE[state, kind]:
        assert _refusal(stage, run, event, kind) in _REFUSED, event
    assert (stage.entries(run.id), _files(stage, run)) == before


def _refusal(stage: Stage, run: Run, event: str, kind: ActorKind, evidence: Evidence | None = None) -> str:
    with opened(stage) as (journal, _), pytest.raises(InterlockError) as caught:
        journal.append(run.id, Event(event, _ACTORS[kind], reason="because", evidence=evidence))
    return caught.value.code


def _files(stage: Stage, run: Run) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in stage.session(run).glob("*")}


def _told(**facts: str) -> Evidence:
    return Evidence(facts=facts, data={"task": "task-1"})


UNMET: dict[str, tuple[str, str, Evidence, str]] = {
    "a second task beside one": ("Executing", "task_selected", Evidence(task="task-1"), "condition_unmet"),
    "the end with a task in hand": ("Executing", "no_tasks_remaining", Evidence(), "condition_unmet"),
    "a review of another task": ("Executing", "review_pending", Evidence(task="task-1"), "condition_unmet"),
    "an answer that there is not": ("Executing", "executor_completed", _told(executor="perfect"), "fact_invalid"),
    "no answer": ("Executing", "executor_completed", Evidence(), "fact_required"),
    "a verdict that there is not": ("Reviewing", "reviewer_completed", _told(verdict="Fine"), "fact_invalid"),
    "no verdict": ("Reviewing", "reviewer_completed", Evidence(), "fact_required"),
    "a plan that there is not": ("Planning", "planner_completed", _told(planner="nearly"), "fact_invalid"),
    "a session that there is not": ("Initializing", "session_resolved", _told(session="somewhere"), "fact_invalid"),
}
"""Events of the table whose condition no row has, and the code of the refusal."""


@pytest.mark.parametrize(("state", "event", "evidence", "code"), UNMET.values(), ids=UNMET)
def test_what_no_condition_of_the_table_allows_is_refused(
    resting: Callable[[str], tuple[Stage, Run]], state: str, event: str, evidence: Evidence, code: str
) -> None:
    stage, run = resting(state)
    before = stage.entries(run.id)
    assert _refusal(stage, run, event, ActorKind.SYSTEM, evidence) == code
    assert stage.entries(run.id) == before


@pytest.mark.parametrize("row", MACHINE.form.refusals, ids=lambda row: row.because)
def test_what_the_table_refuses_is_refused_with_its_reason(tmp_path: Path, row: RefusalForm) -> None:
    stage = Stage.made(tmp_path / "here")
    stage.play(plan(task(1)))
    id_ = begun(stage)
    run = rested(stage, id_, lambda one: one.state == "Executing")
    with opened(stage) as (journal, _), pytest.raises(InterlockError, match=row.because):
        journal.append(run.id, Event(row.on, DRIVER, evidence=_told(executor="completed")))
