"""An interrupt is asked for by whoever pressed Ctrl+C: nobody is told of it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from interlock.machine import Event
from interlock.work.driver.step import noted
from interlock.work.notifying.news import news_of
from interlock.work.orchestration.loop import begin, drive
from work.orchestration.playing import ROLES
from work.stories.yards import IDLE, Ground
from work.threads.benches import Bench


def test_nobody_is_told_that_they_interrupted_a_story_loop(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()
    ground.stop.set()
    loop = ground.drive(agents=[ground.agent(IDLE)]).loop
    assert loop.paused is not None
    assert loop.paused.cause == "interrupt"
    with closing(ground.journal()) as journal:
        instance = journal.instance(loop.id)
        told = [news_of(one, journal.machine_of(instance), instance.snapshot, None) for one in journal.history(loop.id)]
    assert told[-1] is None


def test_nobody_is_told_that_they_interrupted_a_run(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path / "repository")
    bench.pausing.set()
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        id_ = begin(context, "All parts are there", "261115-120000", ROLES)
        paused = drive(context, id_).paused
        assert paused is not None
        assert paused.cause == "interrupt"
        instance = journal.instance(id_)
        told = [news_of(one, journal.machine_of(instance), instance.snapshot, None) for one in journal.history(id_)]
    assert [one for one in told if one is not None] == []


@pytest.mark.parametrize("type_", ["paused", "stopped"])
def test_a_rest_by_itself_is_told(tmp_path: Path, type_: str) -> None:
    bench = Bench.made(tmp_path / "repository")
    with closing(bench.open()) as journal:
        id_ = begin(bench.context(journal), "All parts are there", "261115-120000", ROLES)
        event: Event = noted(type_, reason="it gets nowhere")
        entry = journal.append(id_, event).entry
        instance = journal.instance(id_)
        assert news_of(entry, journal.machine_of(instance), instance.snapshot, None) is not None
