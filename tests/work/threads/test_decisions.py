"""Which move a verb means, and that choosing how a loop runs is the same decision on every face."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.work.threads.decisions import changed, choose_configuration, event_of
from interlock.work.threads.record import Config, Thread
from interlock.work.threads.verbs import pause
from work.threads.benches import IDLE, Bench


@pytest.mark.parametrize(
    ("verb", "state", "event"),
    [
        ("start", "Finalized", "run"),
        ("start", "PreflightFailed", "retry"),
        ("start", "Running", ""),
        ("run", "Configuring", "start"),
        ("run", "Running", ""),
        ("run", "Paused", ""),
        ("resume", "Paused", "resume"),
        ("resume", "Verifying", ""),
        ("assess", "Drafting", "assess"),
        ("assess", "Assessing", ""),
        ("approve", "PendingReview", "approve"),
    ],
)
def test_a_verb_means_one_move_in_each_state(verb: str, state: str, event: str) -> None:
    assert event_of(verb, Thread(state=state)) == event


def test_what_is_left_empty_stays_as_it_was() -> None:
    known = Config(agents=("codex",), iterations=3, budget_usd=7, judge="claude")
    assert changed(known, {"agents": "", "iterations": None, "judge": " "}) == known
    chosen = changed(known, {"agents": "claude, codex:gpt-5", "iterations": "0", "budget_usd": 0, "driver": "story"})
    assert chosen == Config(agents=("claude", "codex:gpt-5"), iterations=0, driver="story", judge="claude")


@pytest.mark.parametrize("value", ["-1", "x", "1.5", "9" * 13, "٣"])
def test_what_is_no_number_is_refused(value: str) -> None:
    with pytest.raises(InterlockError) as caught:
        changed(Config(), {"budget_usd": value})
    assert caught.value.code == "invalid_argument"


@pytest.mark.parametrize("mode", ["methodical", "quick"])
def test_choosing_takes_a_thread_that_rests_back_to_its_choices(tmp_path: Path, mode: str) -> None:
    bench = Bench.made(tmp_path / "repository")
    bench.play(IDLE)
    id_ = bench.new(mode="quick")
    bench.hear = lambda told: bench.pausing.set() if isinstance(told, Thread) and told.state == "Running" else None
    assert bench.act(id_, "finalize").state == "Paused"
    bench.hear = lambda told: None
    bench.pausing.clear()
    with closing(bench.open()) as journal:
        moved = choose_configuration(bench.context(journal), id_, bench.person, {"iterations": 2}, mode)
    thread = bench.thread(id_)
    assert (moved, thread.state, thread.mode) == (True, "Configuring", mode)
    assert thread.config is not None
    assert thread.config.iterations == 2


def test_choosing_before_the_loop_moves_nothing(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path / "repository")
    id_ = bench.new()
    with closing(bench.open()) as journal:
        assert not choose_configuration(bench.context(journal), id_, bench.person, {}, None)
        with pytest.raises(InterlockError):
            pause(bench.context(journal), id_, bench.person)
    assert bench.thread(id_).state == "Drafting"
