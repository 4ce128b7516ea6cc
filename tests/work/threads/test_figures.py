"""The figures that people decide on: what a diagnosis counts, and what `run.json` says of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.work.formats.times import milliseconds_of
from interlock.work.threads.verbs import revise_spec
from work.threads.benches import DONE, FAIL, IDLE, PASS, Bench, shell

FOUR = """\
# Greet

## Goal

People are greeted.

## Completion Criteria

- [ ] a is there
  - verify: `test -f a`
- [ ] b is there
  - verify: `test -f b`
- [ ] c is there
  - verify: `test -f c`
- [ ] d is there
  - verify: `test -f d`

<promise>COMPLETE</promise>
"""
ALL = [shell("touch a b c d"), {"promise": "COMPLETE"}, {"finish": True}]
BREAKS = [shell("rm -f d"), {"promise": "COMPLETE"}, {"finish": True}]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


def _stuck(bench: Bench, id_: str, event: str, **more: Any) -> str:
    thread = bench.act(id_, event, **more)
    assert thread.state == "Stuck"
    assert thread.diagnosis is not None
    return thread.diagnosis.summary


def _run(bench: Bench, id_: str) -> dict[str, Any]:
    name = bench.thread(id_).run or ""
    data: dict[str, Any] = json.loads((bench.state_directory / "runs" / name / "run.json").read_text())
    return data


# The diagnosis


def test_criteria_that_nobody_verified_are_counted(bench: Bench) -> None:
    bench.play(IDLE)
    bench.settings["thread.iterations"] = 2
    id_ = bench.new(FOUR, mode="quick")
    assert _stuck(bench, id_, "finalize") == "0/4 criteria (2 iterations)"
    diagnosis = bench.thread(id_).diagnosis
    assert diagnosis is not None
    assert diagnosis.passed == ()
    assert [one.partition(":")[0] for one in diagnosis.failed] == [f"{name} is there" for name in "abcd"]
    assert all("not verified" in one for one in diagnosis.failed)


def test_a_diagnosis_is_about_the_last_run(bench: Bench) -> None:
    bench.settings["thread.iterations"] = 2
    bench.play(ALL)
    id_ = bench.new(FOUR, mode="quick")
    assert bench.act(id_, "finalize").state == "PendingReview"
    assert len(bench.thread(id_).judged) == 4
    bench.play(BREAKS)
    assert bench.act(id_, "reject", reason="d is wrong", drives=False).judged == [], "nothing of this run yet"
    assert bench.drive(id_).state == "Stuck"
    diagnosis = bench.thread(id_).diagnosis
    assert diagnosis is not None
    assert diagnosis.summary == "3/4 criteria (2 iterations)"
    bench.play(IDLE)
    assert _stuck(bench, id_, "assist", reason="I looked") == "0/4 criteria (2 iterations)"
    diagnosis = bench.thread(id_).diagnosis
    assert diagnosis is not None
    assert (diagnosis.passed, len(diagnosis.failed)) == ((), 4)


def test_the_iterations_of_a_story_loop_are_counted(bench: Bench) -> None:
    bench.settings |= {"thread.driver": "story", "story.tests": ("true",), "thread.iterations": 2}
    bench.play(DONE)
    bench.judge([{"say": "AC-1: it says hello - ✓ greeting.txt:1\nAC-2: polite - ✓ x:1"}, {"finish": True}], FAIL)
    id_ = bench.new(mode="quick")
    summary = _stuck(bench, id_, "finalize")
    diagnosis = bench.thread(id_).diagnosis
    assert diagnosis is not None
    assert (summary, diagnosis.models_tried) == ("1/2 criteria (2 iterations)", ("scripted",))


def test_a_blocked_story_loop_is_one_iteration(bench: Bench) -> None:
    bench.settings |= {"thread.driver": "story", "story.tests": ("false",), "thread.iterations": 2}
    id_ = bench.new(mode="quick")
    assert _stuck(bench, id_, "finalize") == "0/2 criteria (1 iteration)"
    diagnosis = bench.thread(id_).diagnosis
    assert diagnosis is not None
    assert diagnosis.models_tried == ("scripted",)
    spent = _run(bench, id_)["data"]
    assert spent["seconds"] > 0


# run.json


def test_a_run_says_when_its_iterations_began_and_ended_and_what_was_verified(bench: Bench) -> None:
    bench.play([shell("true"), {"promise": "COMPLETE"}, {"finish": True}], DONE)
    id_ = bench.new()
    bench.act(id_, "finalize", "run", "start")
    run = _run(bench, id_)
    first, second = run["iterations"]
    worked = [one for one in bench.thread(id_).iterations if one.role == "implementer"]
    for one, told in zip(run["iterations"], worked, strict=True):
        took = milliseconds_of(one["ended_at"]) - milliseconds_of(one["started_at"])
        assert abs(took - 1000 * told.seconds) <= 1, one
        assert took
    assert (first["verified"], first["criteria_passed"]) == (False, 0)
    assert (second["verified"], second["criteria_passed"]) == (True, 2)
    assert run["status"] == "Implemented"
    assert milliseconds_of(run["ended_at"]) > milliseconds_of(run["started_at"])
    every = bench.thread(id_).iterations
    assert run["data"]["seconds"] == round(sum(one.seconds for one in every), 3), "the judge works, too"
    ended = run["ended_at"]
    bench.act(id_, "ready", "approve", "commit")
    assert (_run(bench, id_)["status"], _run(bench, id_)["ended_at"]) == ("Implemented", ended)


def test_a_run_has_an_end_once_it_is_over_and_the_spec_that_it_built_from(bench: Bench) -> None:
    bench.play(IDLE)
    bench.settings["thread.iterations"] = 1
    id_ = bench.new()
    assert bench.act(id_, "finalize", "run", "start").state == "Stuck"
    run = _run(bench, id_)
    assert (run["status"], run["ended_at"] is None) == ("Stuck", False)
    bench.act(id_, "revise", reason="another way")
    journal = bench.open()
    revise_spec(bench.context(journal), id_, bench.person.actor, FOUR)
    journal.close()
    assert _run(bench, id_) == run, "a later revision is not what it built from"
    bench.act(id_, "finalize", "run", drives=False)
    bench.drive(id_)
    bench.act(id_, "start", drives=False)
    assert _run(bench, id_)["spec_revision"] == 2
    assert (_run(bench, id_)["status"], _run(bench, id_)["ended_at"]) == ("Running", None)


def test_a_run_as_earlier_versions_wrote_it_is_no_edit(bench: Bench) -> None:
    bench.judge(PASS)
    id_ = bench.new()
    bench.act(id_, "finalize", "run", "start")
    path = bench.state_directory / "runs" / (bench.thread(id_).run or "") / "run.json"
    run = json.loads(path.read_text())
    [one] = run["iterations"]
    [work, _judge] = bench.thread(id_).iterations
    at = one["ended_at"]
    run["iterations"] = [{"number": 1, "agent": "scripted", "started_at": at, "ended_at": at, "ending": "finished"}]
    run["iterations"][0]["promised"] = True
    run |= {"ended_at": None, "data": {"seconds": work.seconds, "usd": work.cost_usd, "tokens": work.tokens}}
    path.write_text(json.dumps(run, indent=2) + "\n")
    before = path.read_text()
    bench.drive(id_)
    assert path.read_text() != before
    assert not (bench.state_directory / "rejected").exists(), bench.told
