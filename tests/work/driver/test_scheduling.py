"""Two drivers whose effects are interleaved in any order: each effect of a driver passes through its context."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from exhaustive import EXHAUSTIVE
from interlock.errors import InterlockError
from interlock.journal import Holder
from interlock.work.driver.context import DriverContext
from interlock.work.driver.ports import Ports
from interlock.work.orchestration.loop import drive as drive_run
from interlock.work.orchestration.record import Run
from interlock.work.threads.loop import drive
from interlock.work.threads.record import Thread
from interlock.work.ticket_driver.loop import TicketResult, drive_ticket
from interlock.work.ticket_driver.thread_stage import Choices
from work.driver.scheduling import Scheduler
from work.orchestration.playing import MET, begun, done, plan, qualified, task
from work.threads.benches import DONE, Bench
from work.ticket_driver.ways import NUMBER, made, planned

SEEDS = range(40 if EXHAUSTIVE else 2)


def _driver(
    bench: Bench, id_: str, host: str = "", drives: Callable[[DriverContext, str], object] = drive
) -> Callable[[Ports], object]:
    """A driver of an instance, with a journal of its own; on another host, its lease is another one's."""

    def go(ports: Ports) -> object:
        other = Holder(host, "boot", 1, "1", "ralph", "", host)
        given = replace(ports, holder=lambda: other) if host else ports
        with closing(bench.open()) as journal:
            return drives(replace(bench.context(journal), ports=given), id_)

    return go


def _refused(results: dict[str, object]) -> list[str]:
    """The codes of the errors that drivers ended with; every other end is a result."""
    assert not [one for one in results.values() if isinstance(one, Exception) and not isinstance(one, InterlockError)]
    return [one.code for one in results.values() if isinstance(one, InterlockError)]


@pytest.mark.parametrize("seed", SEEDS)
def test_two_threads_do_not_disturb_each_other_whatever_happens_between_two_effects(tmp_path: Path, seed: int) -> None:
    bench = Bench.made(tmp_path)
    bench.settings["thread.isolation"] = "worktree"
    bench.play(DONE, DONE)
    ids = [bench.new(), bench.new()]
    for id_ in ids:
        bench.act(id_, "finalize", "run")
        bench.act(id_, "start", drives=False)
    scheduler = Scheduler(seed)
    results = scheduler.run({id_: _driver(bench, id_) for id_ in ids})
    assert [getattr(one, "state", one) for one in results.values()] == ["Implemented", "Implemented"]
    wanted = {"run_agent", "verification.verify", "take", "folder.write", "files.mark", "files.file_clock"}
    assert wanted | {"sessions.take_in", "sessions.written_since"} <= {what for _, what in scheduler.effects}
    turns = [name for name, _ in scheduler.effects]
    assert any(a != b for a, b in pairwise(turns)), "they took turns"
    for id_ in ids:
        assert bench.act(id_, "ready", "approve", "commit").state == "Done"
        assert bench.git("show", f"ralf/{id_}:greeting.txt") == "hello"
    with closing(bench.open()) as journal:
        assert list(journal.verify()) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_two_hosts_that_drive_one_thread_never_work_at_the_same_time(tmp_path: Path, seed: int) -> None:
    bench = Bench.made(tmp_path)
    bench.play(DONE)
    id_ = bench.new()
    bench.act(id_, "finalize", "run")
    bench.act(id_, "start", drives=False)
    scheduler = Scheduler(seed)
    results = scheduler.run({"a": _driver(bench, id_, "a"), "b": _driver(bench, id_, "b")})
    states = [one.state for one in results.values() if isinstance(one, Thread)]
    assert "Implemented" in states, results
    assert set(_refused(results)) <= {"lease_held"}, results
    agents = [name for name, what in scheduler.effects if what == "run_agent"]
    assert len(agents) == 2, "one implementer and one judge, whoever drove"
    assert len(set(agents)) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_two_hosts_that_drive_one_run_leave_the_files_of_one(tmp_path: Path, seed: int) -> None:
    bench = Bench.made(tmp_path)
    bench.play(plan(task(1)), done(1))
    bench.judge(qualified(1), MET)
    id_ = begun(bench)
    scheduler = Scheduler(seed)
    results = scheduler.run({host: _driver(bench, id_, host, drive_run) for host in ("a", "b")})
    assert "Exit" in [one.state for one in results.values() if isinstance(one, Run)], results
    assert set(_refused(results)) <= {"lease_held"}, results
    wanted = {"run_agent", "folder.read", "folder.write", "folder.append", "files.mark", "files.read_file"}
    assert wanted <= {what for _, what in scheduler.effects}
    assert [what for _, what in scheduler.effects].count("run_agent") == 4, "each role was asked once, whoever drove"
    assert not (bench.state_directory / "rejected").exists(), "neither took the files of the other for an edit"
    with closing(bench.open()) as journal:
        assert list(journal.verify()) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_two_hosts_that_work_on_one_ticket_find_its_merge_once(tmp_path: Path, seed: int) -> None:
    way = planned(made(tmp_path))
    way.play(DONE)
    assert "merged" in way.walk(asks=True).stop.why
    way.git("switch", "-q", "main")
    with closing(way.open()) as journal:
        way.git("merge", "-q", "--ff-only", f"ralf/{journal.instances('thread')[0].id}")
    scheduler = Scheduler(seed)

    def work(context: DriverContext, _: str) -> TicketResult:
        return drive_ticket(context, NUMBER, way.person, Choices())

    results = scheduler.run({host: _driver(way, "", host, work) for host in ("a", "b")})
    assert set(_refused(results)) <= {"lease_held"}, results
    assert "git.merged_at" in {what for _, what in scheduler.effects}
    assert way.moves.count(("Done", "system", "merge")) == 1
