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
from interlock.work.driver.ports import Ports
from interlock.work.threads.loop import drive
from interlock.work.threads.record import Thread
from work.driver.scheduling import Scheduler
from work.threads.benches import DONE, Bench

SEEDS = range(40 if EXHAUSTIVE else 3)


def _driver(bench: Bench, id_: str, host: str = "") -> Callable[[Ports], Thread]:
    """A driver of a thread, with a journal of its own; on another host, its lease is another one's."""

    def go(ports: Ports) -> Thread:
        other = Holder(host, "boot", 1, "1", "ralph", "", host)
        given = replace(ports, holder=lambda: other) if host else ports
        with closing(bench.open()) as journal:
            return drive(replace(bench.context(journal), ports=given), id_)

    return go


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
    assert {"run_agent", "verification.verify", "git.state"} <= {what for _, what in scheduler.effects}
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
    refused = [one.code for one in results.values() if isinstance(one, InterlockError)]
    assert "Implemented" in states, results
    assert set(refused) <= {"lease_held"}, results
    agents = [name for name, what in scheduler.effects if what == "run_agent"]
    assert len(agents) == 2, "one implementer and one judge, whoever drove"
    assert len(set(agents)) == 1
