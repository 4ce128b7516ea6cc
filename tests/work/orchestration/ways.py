"""Runs that between them take every row of the orchestrator's table, each in a real repository of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from interlock.journal import Entry
from interlock.machine import Accepted, Event, Machine, Snapshot, Transition, load_shipped, start, step
from interlock.work.driver.agent_run import DRIVER
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.verbs import add
from work.orchestration.playing import (
    MET,
    PROSE,
    Stage,
    View,
    answered,
    asks,
    begun,
    blocked,
    done,
    driven,
    failed,
    is_in,
    missing,
    opened,
    plan,
    qualified,
    rejected,
    rested,
    run,
    run_again,
    task,
    unplannable,
    updated,
)
from work.threads.benches import Steps

__all__ = ["DOWN", "JOURNEYS", "MACHINE", "Journey", "Journeys", "Move", "Row", "key", "moves_of"]

MACHINE = load_shipped("orchestrator")
Row = tuple[str, str, str, str]
Go = Callable[[Stage], object]
DOWN: Steps = [{"complain": "Connection refused by the model's server"}, {"exit": 1}]
"""An agent that cannot reach its model."""
WHOLE = (plan(task(1)), done(1))
"""The planner and the executor of a plan with one task."""


def key(row: Transition) -> Row:
    """A row of the table, by which it is known."""
    return row.source, row.on, row.to, row.when or ""


class Move(msgspec.Struct, frozen=True):
    """One move of a run, with the row that it took, and what was so before and after."""

    entry: Entry
    row: Transition
    before: Snapshot
    after: Snapshot


def moves_of(entries: list[Entry], machine: Machine = MACHINE) -> Iterator[Move]:
    """The moves of a run, stepped again: the machine itself says which row each took."""
    at: Snapshot | None = None
    for entry in entries:
        event = entry.as_event(machine)
        result = start(machine, event) if at is None else step(machine, at, event)
        assert isinstance(result, Accepted), result
        if at is not None and result.transition is not None:
            yield Move(entry, result.transition, at, result.snapshot)
        at = result.snapshot


class Journey(msgspec.Struct, frozen=True):
    """What a repository's runs came to, each move of them with its row."""

    stage: Stage
    moves: list[Move]

    @classmethod
    def made(cls, stage: Stage) -> Journey:
        ids = dict.fromkeys(one.run.id for one in stage.views)
        made = cls(stage, [move for id_ in ids for move in moves_of(stage.entries(id_))])
        made.check()
        return made

    @property
    def ended(self) -> Run:
        return self.stage.last

    def view(self, move: Move) -> View:
        """What was to be seen after a move."""
        id_, version = move.entry.instance, move.entry.version
        return next(one for one in self.stage.views if one.run.id == id_ and one.run.version >= version)

    def check(self) -> None:
        """What is told of a run is, before each step, what the machine says of it."""
        for seen in [view.run for view in self.stage.views]:
            those = [one for one in self.moves if one.entry.instance == seen.id and one.entry.version <= seen.version]
            at = those[-1].after if those else Snapshot(MACHINE.form.initial)
            assert (seen.state, seen.outcome) == (at.state, at.outcome)
            assert seen.task == at.task or seen.outcome is not None
            for one in seen.plan.tasks:
                assert one.attempt == at.counters.get(f"attempt:{one.id}", 1), one.id

    def file(self, name: str) -> str:
        return (self.stage.session(self.ended) / name).read_text()


class Journeys:
    """Each journey, made when it is asked for, once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._made: dict[str, Journey] = {}

    def __getitem__(self, name: str) -> Journey:
        if name not in self._made:
            self._made[name] = Journey.made(self._resumed(name) if name in RESUMED else self._begun(name))
        return self._made[name]

    def _begun(self, name: str) -> Stage:
        stage = Stage.made(self._directory / name)
        WAYS[name](stage)
        return stage

    def _resumed(self, name: str) -> Stage:
        """A copy of a run that failed, and what a person's resume makes of it."""
        first, worker, judge = RESUMED[name]
        stage = self[first].stage.copied(self._directory / name)
        ended = stage.last
        assert ended.outcome == "failure"
        stage.play(*worker)
        stage.judge(*judge)
        run_again(stage, ended)
        return stage


def _plays(worker: tuple[Steps, ...], judge: tuple[Steps, ...] = (qualified(1), MET)) -> Go:
    """A run from its beginning to its end."""

    def go(stage: Stage) -> None:
        stage.play(*worker)
        stage.judge(*judge)
        run(stage)

    return go


def _added(state: str, worker: tuple[Steps, ...], judge: tuple[Steps, ...]) -> Go:
    """A person adds something while a run is in a state: the driver rests, and goes on with it."""

    def go(stage: Stage) -> None:
        stage.play(*worker)
        stage.judge(*judge)
        id_ = begun(stage)
        resting = rested(stage, id_, is_in(state))
        assert resting.state == state
        with opened(stage) as (journal, _):
            add(journal, stage.person.actor, resting, "and part 2")
        driven(stage, id_)

    return go


def _unticked(state: str, worker: tuple[Steps, ...], judge: tuple[Steps, ...], wish: str = "") -> Go:
    """A person unticks the first of two tasks while a run is in a state."""

    at = "Executing" if wish else state

    def go(stage: Stage) -> None:
        stage.play(*worker)
        stage.judge(*judge)
        id_ = begun(stage)
        resting = rested(stage, id_, lambda run: run.state == at and (at == "Complete" or run.task == "task-2"))
        if wish:
            with opened(stage) as (journal, _):
                add(journal, stage.person.actor, resting, wish)
        progress = stage.session(resting) / "progress.md"
        progress.write_text(progress.read_text().replace("[x] task-1", "[ ] task-1"))
        driven(stage, id_)

    return go


def _appended(event: str, when: Callable[[Run], bool], worker: tuple[Steps, ...] = WHOLE) -> Go:
    """A row that no driver comes to: straight into the journal, and the driver copes with it."""

    def go(stage: Stage) -> None:
        stage.play(*worker)
        id_ = begun(stage)
        resting = rested(stage, id_, when)
        with opened(stage) as (journal, _):
            journal.append(resting.id, Event(event, DRIVER, reason="the disk is full"))
        driven(stage, id_)

    return go


def _without_directory(stage: Stage) -> None:
    """The directory of the sessions is a link to somewhere else."""
    (stage.root / "elsewhere").mkdir()
    (stage.root / ".ralph-sessions").symlink_to("elsewhere")
    run(stage)


FOUND: dict[str, Any] = {
    "discovered_tasks": [{"id": "task-2", "description": "write part 2", "rationale": "1 needs it"}]
}
"""What an executor or a reviewer finds to be missing."""
FINE = {"criterion": "write part 2", "met": True, "evidence": "part-2:1"}
"""The criterion of a task that was found: that it is done."""
PLAN = plan(task(1), task(2))
AGAIN = (updated(task(2)), done(2), updated(task(3)), done(3))
"""Two more plans, with a task each."""

WAYS: Mapping[str, Go] = {
    "straight": _plays((plan(task(1), task(2, "task-1")), done(1), done(2)), (qualified(1), qualified(2), MET)),
    "asked": _plays((asks("Which parts?"), answered(), *WHOLE)),
    "clarified": _plays((asks(status="needs_clarification"), answered(), *WHOLE)),
    "asks_for_ever": _plays((*[asks(), answered()] * 3, asks())),
    "unplannable": _plays((unplannable("nobody knows the parts", "nor who does"),)),
    "prose_once": _plays((PROSE, plan(task(1)), PROSE, done(1)), (PROSE, qualified(1), MET)),
    "planner_prose": _plays((PROSE,)),
    "executor_prose": _plays((plan(task(1)), PROSE)),
    "reviewer_prose": _plays((*WHOLE, done(1), done(1)), (PROSE,)),
    "holistic_prose": _plays(WHOLE, (qualified(1), PROSE, PROSE, MET)),
    "holistic_prose_for_ever": _plays(WHOLE, (qualified(1), PROSE)),
    "rejected": _plays((*WHOLE, done(1), done(1)), (rejected(1), rejected(1), qualified(1), MET)),
    "rejected_thrice": _plays((*WHOLE, done(1), done(1)), (rejected(1),)),
    "executor_failed": _plays((plan(task(1)), failed(1), done(1))),
    "executor_failed_thrice": _plays((plan(task(1)), failed(1))),
    "blocked": _plays(
        (plan(task(1), task(2, "task-1")), blocked(1), updated(task(3), closes=("task-1",)), done(2), done(3)),
        (qualified(2), qualified(3), MET),
    ),
    "blocked_thrice": _plays((plan(task(1)), blocked(1), *[updated(task(1)), blocked(1)] * 2)),
    "missing": _plays((*WHOLE, updated(task(2)), done(2)), (qualified(1), missing(2), qualified(2), MET)),
    "missing_thrice": _plays(
        (*WHOLE, *AGAIN), (qualified(1), missing(2), qualified(2), missing(3), qualified(3), missing(4))
    ),
    "discovered_by_executor": _plays(
        (plan(task(1)), failed(1, **FOUND), updated(task(2)), done(1), done(2)), (qualified(1), qualified(2), MET)
    ),
    "discovered_by_reviewer": _plays(
        (*WHOLE, done(2)),
        (qualified(1, **FOUND), qualified(2, criteria_results=[FINE]), MET),
    ),
    "unticked_in_planning": _unticked(
        "Planning",
        (PLAN, done(1), updated(task(2)), done(1), done(2)),
        (*[qualified(1)] * 2, qualified(2), MET),
        "more",
    ),
    "unticked_in_executing": _unticked(
        "Executing", (PLAN, done(1), done(2), done(1)), (qualified(1), qualified(2), qualified(1), MET)
    ),
    "unticked_in_reviewing": _unticked(
        "Reviewing", (PLAN, done(1), done(2), done(1)), (qualified(1), qualified(2), qualified(1), MET)
    ),
    "unticked_in_complete": _unticked(
        "Complete", (PLAN, done(1), done(2), done(1)), (qualified(1), qualified(2), qualified(1), MET)
    ),
    "error": _without_directory,
    "discovered_too_often": _appended(
        "requirements_discovered",
        lambda run: run.state == "Executing" and len(run.invocations) == 5,
        (plan(task(1)), blocked(1), updated(task(1)), blocked(1), updated(task(1))),
    ),
    "added_in_planning": _added(
        "Planning", (plan(task(1), task(2)), done(1), done(2)), (qualified(1), qualified(2), MET)
    ),
    "added_in_executing": _added(
        "Executing", (plan(task(1)), updated(task(2)), done(1), done(2)), (qualified(1), qualified(2), MET)
    ),
    "added_in_reviewing": _added("Reviewing", (*WHOLE, updated(task(2)), done(2)), (qualified(1), qualified(2), MET)),
    "added_in_complete": _added("Complete", (*WHOLE, updated(task(2)), done(2)), (qualified(1), qualified(2), MET)),
    "down": _plays((DOWN, DOWN, plan(task(1)), DOWN, DOWN, done(1)), (DOWN, DOWN, qualified(1), DOWN, DOWN, MET)),
    "planner_down_for_ever": _plays((DOWN,)),
    "executor_down_for_ever": _plays((plan(task(1)), DOWN)),
    "reviewer_down_for_ever": _plays(WHOLE, (DOWN,)),
    "holistic_down_for_ever": _plays(WHOLE, (qualified(1), DOWN)),
}
"""Each run from its beginning, by what happens in it."""
RESUMED: Mapping[str, tuple[str, tuple[Steps, ...], tuple[Steps, ...]]] = {
    "resumed_in_executing": ("rejected_thrice", (done(1),), (qualified(1), MET)),
    "resumed_in_reviewing": ("reviewer_down_for_ever", (PROSE,), (qualified(1), MET)),
    "resumed_in_complete": ("holistic_down_for_ever", (PROSE,), (MET,)),
    "resumed_in_planning": ("unplannable", WHOLE, (qualified(1), MET)),
}
"""Runs that a person resumes: the one that failed, and what the agents and the reviewer play then."""
JOURNEYS = frozenset((*WAYS, *RESUMED))
"""By what happens in them."""
