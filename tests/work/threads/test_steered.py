"""A person lets a thread rest, and go on at once, while its driver waits for an agent: the last word counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.journal import Journal
from interlock.work.driver.interrupts import Interrupts, PauseRequested
from interlock.work.threads.attending import is_told
from interlock.work.threads.loop import drive
from interlock.work.threads.record import Thread
from interlock.work.threads.verbs import act, pause
from interlock.world.agents.happenings import Said
from work.orchestration.playing import MET, done, plan, qualified, task
from work.threads.benches import DONE, PASS, STORY_MET, Bench, Steps, shell

WAITS: Steps = [{"say": "I begin."}, shell("while :; do sleep 0.05; done"), {"finish": True}]
"""An agent that ends only when it is stopped."""
GREETS: Steps = [shell("echo hello > greeting.txt"), *done(1)[1:]]
DRIVERS: dict[str, tuple[list[Steps], list[Steps]]] = {
    "loop": ([WAITS, DONE], [PASS]),
    "story": ([WAITS, [shell("echo hello > greeting.txt"), {"finish": True}]], [STORY_MET]),
    "orchestrator": ([plan(task(1)), WAITS, GREETS], [qualified(1), MET, PASS]),
}
"""What agents and judges play for each driver; the first one that works is stopped."""


def _steered(bench: Bench, id_: str, *words: str) -> Thread:
    """Drive a thread; as soon as its agent is at work, a person says these words to it from elsewhere."""
    journal = bench.open()
    interrupts = Interrupts(journal, lambda entry: entry.instance == id_ and is_told(entry))
    context = replace(
        bench.context(journal),
        stop=interrupts,
        pausing=PauseRequested(interrupts),
        wait=interrupts.wait,
        refresh=interrupts.listen_again,
    )

    def speak(told: object) -> None:
        if isinstance(told, Said) and told.text == "I begin.":
            elsewhere = bench.open()
            _say(bench, elsewhere, id_, words)
            elsewhere.close()

    bench.hear = speak
    try:
        return drive(context, id_)
    finally:
        journal.close()


def _say(bench: Bench, journal: Journal, id_: str, words: tuple[str, ...]) -> None:
    for word in words:
        if word == "pause":
            pause(bench.context(journal), id_, bench.person)
        else:
            act(bench.context(journal), id_, bench.person, word)


def _begun(directory: Path, driver: str) -> tuple[Bench, str]:
    agents, judges = DRIVERS[driver]
    bench = Bench.made(directory / "repository")
    bench.settings |= {"thread.driver": driver, "thread.iterations": 1, "story.tests": ("true",)}
    bench.play(*agents)
    bench.judge(*judges)
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize", drives=False)
    return bench, id_


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_thread_that_is_paused_and_resumed_at_once_goes_on(tmp_path: Path, driver: str) -> None:
    bench, id_ = _begun(tmp_path, driver)
    thread = _steered(bench, id_, "pause", "resume")
    assert thread.state == "PendingReview", thread.reason
    assert [one.event for one in bench.entries(id_) if one.event in ("pause", "resume")] == ["pause", "resume"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_thread_that_is_paused_rests_and_its_agent_ends(tmp_path: Path, driver: str) -> None:
    bench, id_ = _begun(tmp_path, driver)
    assert _steered(bench, id_, "pause").state == "Paused"
    thread = bench.act(id_, "resume")
    assert thread.state == "PendingReview", thread.reason


@pytest.mark.sampled(1)
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_thread_that_is_abandoned_while_its_agent_works_is_over(tmp_path: Path, driver: str) -> None:
    bench, id_ = _begun(tmp_path, driver)
    assert _steered(bench, id_, "pause", "resume", "abandon").outcome == "abandoned"
