"""Somebody adds to a run while its driver settles its files, between two steps: it goes on with what was added."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from pathlib import Path

from msgspec.structs import replace

from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.interrupts import Interrupts, PauseRequested
from interlock.work.orchestration.loop import drive
from interlock.work.orchestration.reading import known_run
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.verbs import add
from work.orchestration.playing import MET, begun, done, plan, qualified, task, updated
from work.threads.benches import Bench

ANN = Actor(ActorKind.HUMAN, "ann", Channel.CLI)


def test_what_is_added_between_two_steps_is_planned_at_once(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path / "repository")
    bench.play(plan(task(1)), updated(task(1)), done(1))
    bench.judge(qualified(1), MET)
    id_ = begun(bench)

    def speak(told: object) -> None:
        if isinstance(told, Run) and told.state == "Executing" and not told.wishes:
            with closing(bench.open()) as elsewhere:
                add(elsewhere, ANN, known_run(elsewhere, id_), "and in Welsh")

    bench.hear = speak
    with closing(bench.open()) as journal:
        seconds = count()  # the journal is looked at each time
        interrupts = Interrupts(journal, lambda one: one.event == "requirements_added", lambda: float(next(seconds)))
        steered = replace(
            bench.context(journal), stop=interrupts, pausing=PauseRequested(interrupts), refresh=interrupts.listen_again
        )
        run = drive(steered, id_)
    assert run.outcome == "success", run.state
    assert run.wishes == ["and in Welsh"]
