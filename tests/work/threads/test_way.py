"""The way of a thread, from an idea to a commit, in a real repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.world.agents.happenings import Said
from work.threads.benches import DONE, FAIL, PASS, WORK, Bench

WHOLE = (
    *("Drafting", "Finalized", "Preflight", "Configuring", "Running", "Verifying", "Implemented"),
    *("PendingReview", "Approved", "ReadyToCommit", "Done"),
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


def test_a_thread_goes_from_a_spec_to_a_commit(bench: Bench) -> None:
    base = bench.git("rev-parse", "HEAD")
    id_ = bench.new()
    thread = bench.act(id_, "finalize", "run", "start")
    assert thread.state == "Implemented"
    thread = bench.act(id_, "ready", "approve", "commit")
    assert (thread.state, thread.outcome) == ("Done", "success")
    assert tuple(bench.states(id_)) == WHOLE
    assert bench.git("rev-parse", f"ralf/{id_}") == thread.commit
    assert bench.git("rev-parse", f"{thread.commit}^") == base
    assert bench.git("rev-parse", "main") == base
    assert bench.git("show", f"{thread.commit}:greeting.txt") == "hello"
    assert bench.git("status", "--porcelain") == ""
    said = bench.git("log", "-1", "--format=%B", thread.commit or "")
    assert said.startswith("Greet people\n\nPeople are greeted.")
    assert f"Thread: {id_}" in said


def test_quick_mode_goes_on_by_itself_and_stops_at_every_gate(bench: Bench) -> None:
    id_ = bench.new(mode="quick")
    assert bench.drive(id_).state == "Drafting"
    assert bench.act(id_, "finalize").state == "PendingReview"
    assert bench.act(id_, "approve").state == "ReadyToCommit"
    assert bench.act(id_, "commit").state == "Done"


def test_what_fails_comes_back_to_the_next_iteration(bench: Bench) -> None:
    bench.play(DONE, DONE)
    bench.judge(FAIL, PASS)
    id_ = bench.new(mode="quick")
    thread = bench.act(id_, "finalize")
    assert thread.state == "PendingReview"
    assert [one.ending for one in thread.iterations if one.role == "implementer"] == ["finished", "finished"]
    failed = [one for one in bench.entries(id_) if one.event == "criteria_failed"]
    assert len(failed) == 1
    assert "it is rude" in (failed[0].reason or "")
    assert [one for one in bench.told if isinstance(one, str) and one.startswith("✗") and "it is rude" in one]


@pytest.mark.requirement("thread:files:append-only")
def test_the_log_of_a_run_has_what_all_of_its_iterations_said(bench: Bench) -> None:
    bench.play([{"say": "I begin."}, {"finish": True}], [{"say": "I go on."}, *DONE])
    id_ = bench.new()
    bench.act(id_, "finalize", "run", "start")
    [log] = bench.state_directory.glob("runs/run-*/output.log")
    said = log.read_text()
    assert 0 <= said.find("I begin.") < said.find("I go on.")


def test_a_promise_without_work_never_gets_to_implemented(bench: Bench) -> None:
    bench.play([{"say": "done"}, {"promise": "COMPLETE"}, {"finish": True}])
    bench.settings["thread.iterations"] = 2
    id_ = bench.new(mode="quick")
    thread = bench.act(id_, "finalize")
    assert thread.state == "Stuck"
    assert "Implemented" not in bench.states(id_)
    assert thread.diagnosis is not None
    assert thread.diagnosis.iterations_attempted == 2
    assert thread.diagnosis.spec_revision == 1


def test_iterations_without_a_claim_are_counted_until_it_is_stuck(bench: Bench) -> None:
    bench.play([*WORK, {"say": "still at it"}, {"finish": True}])
    bench.settings["thread.iterations"] = 2
    id_ = bench.new(mode="quick")
    thread = bench.act(id_, "finalize")
    assert thread.state == "Stuck"
    assert sum(one.role == "implementer" for one in thread.iterations) == 2
    bench.play(DONE)
    assert bench.act(id_, "assist", reason="I wrote the file").state == "PendingReview"


def test_a_claim_that_was_made_while_it_was_to_rest_is_verified_when_it_goes_on(bench: Bench) -> None:
    bench.hear = lambda told: bench.pausing.set() if isinstance(told, Said) else None
    id_ = bench.new(mode="quick")
    thread = bench.act(id_, "finalize")
    assert thread.state == "Paused"
    assert thread.ran is not None
    bench.pausing.clear()
    bench.hear = lambda told: None
    thread = bench.act(id_, "resume")
    assert thread.state == "PendingReview"
    assert sum(one.role == "implementer" for one in thread.iterations) == 1
