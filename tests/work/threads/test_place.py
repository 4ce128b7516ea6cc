"""Where a thread works is a place, not an absolute path; entries of earlier versions still count."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import msgspec

from interlock.machine import Event, Evidence
from interlock.work.driver.agent_run import DRIVER
from interlock.work.formats.hashing import sha256_of
from work.threads.benches import Bench


def test_no_entry_names_an_absolute_path_as_the_place(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path)
    bench.act(bench.new(), "finalize", "run", "start")
    with closing(bench.open()) as journal:
        told = [(one.event, one.evidence) for one in journal.entries() if '"place"' in one.evidence]
    assert {event for event, _ in told} >= {"created", "checks_passed"}
    assert [event for event, evidence in told if str(bench.root) in evidence] == []


def test_a_thread_continues_in_a_repository_that_was_moved(tmp_path: Path) -> None:
    before = Bench.made(tmp_path / "before")
    id_ = before.new()
    assert before.act(id_, "finalize", "run", "start", "ready").state == "PendingReview"
    moved = tmp_path / "after" / "shop"
    moved.parent.mkdir()
    shutil.move(before.root, moved)
    bench = Bench(moved, settings=before.settings)
    assert bench.act(id_, "approve", "commit").state == "Done"
    assert bench.git("show", f"ralf/{id_}:greeting.txt") == "hello"


def test_a_work_tree_that_an_earlier_version_gave_to_a_thread_stays_its_own(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path)
    first, second = bench.new(), bench.new()
    bench.act(first, "finalize")
    bench.act(first, "run", drives=False)
    name = f"work-tree:{sha256_of(str(bench.root))[:32]}"
    data = {"checks": [], "branch": f"ralf/{first}", "work_tree": str(bench.root), "guarded": ""}
    with closing(bench.open()) as journal:
        journal.append(first, Event("checks_passed", DRIVER, evidence=Evidence(data=data, names=(name,))))
    assert bench.thread(first).directory(tmp_path, tmp_path) == bench.root
    failed = bench.act(second, "finalize", "run")
    assert failed.state == "PreflightFailed"
    wrong = [one["message"] for one in msgspec.to_builtins(failed.checks) if not one["passed"]]
    assert any(f"Thread {first} has this work tree" in one for one in wrong), wrong
