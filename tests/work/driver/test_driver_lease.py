"""The lease of a driver: renewed whatever it does, and nothing runs on under one that is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interlock.errors import InterlockError, JournalError
from interlock.journal import Holder, Journal, Lease, leases, open_journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.driver_lease import hold_lease
from interlock.work.driver.lease_holders import lease_name
from interlock.work.orchestration.beginning import begin, roles_of
from interlock.work.orchestration.loop import drive
from interlock.work.orchestration.replay import run_of
from interlock.work.settings.values import Settings
from interlock.work.threads.dialogue import say
from interlock.world.agents.happenings import Said
from interlock.world.repository import own_tree
from journal.databases import sql
from patience import SECONDS
from work.stories.yards import WORK, Ground
from work.threads.benches import Bench, Steps

WAITS: Steps = [{"say": "I begin"}, {"wait": "never"}]
OTHER = Holder("another host", "boot", 1, "1", "driver")
ANN = Actor(ActorKind.HUMAN, "ann", Channel.CLI)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench.made(tmp_path / "repository")
    made.settings["driver.lease_seconds"] = 1
    return made


@pytest.fixture
def journal(bench: Bench) -> Iterator[Journal]:
    with closing(bench.open()) as opened:
        yield opened


def _taken_over(journal: Journal, resource: str) -> None:
    journal.acquire(resource, OTHER, 60, lambda holder: False)


def test_a_lease_is_renewed_while_its_holder_does_something_else(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed, beats = threading.Event(), 0
    renew = Journal.renew

    def counting(self: Journal, lease: Lease, seconds: float) -> None:
        nonlocal beats
        renew(self, lease, seconds)
        beats += 1
        if beats == 3:
            renewed.set()

    monkeypatch.setattr(Journal, "renew", counting)
    with hold_lease(bench.context(journal), "it") as held:
        assert renewed.wait(SECONDS)
        assert not held.context.stop.is_set()
        assert journal.is_held("it", lambda holder: None), "for somebody who cannot see the process, too"
    assert journal.is_held("it", lambda holder: None) is False


def test_a_talk_about_a_spec_that_lost_its_lease_writes_nothing_more(bench: Bench, journal: Journal) -> None:
    bench.play(WAITS)
    id_ = bench.new()
    resource = lease_name("thread", id_)
    bench.hear = lambda told: _taken_over(journal, resource) if isinstance(told, Said) else None
    with pytest.raises(InterlockError) as caught:
        say(bench.context(journal), id_, ANN, "Shorter.")
    assert caught.value.code == "lease_lost"
    thread = bench.thread(id_)
    assert (len(thread.iterations), [one.role for one in thread.messages]) == (0, ["user"])


def test_a_lost_lease_stops_the_agent_and_nothing_more_is_written(bench: Bench, journal: Journal) -> None:
    bench.play(WAITS)
    context = bench.context(journal)
    id_ = begin(context, "All parts are there", "261115-120000", roles_of(context, {}))
    resource = lease_name("orchestrator", id_)
    bench.hear = lambda told: _taken_over(journal, resource) if isinstance(told, Said) else None
    with pytest.raises(InterlockError) as caught:
        drive(context, id_)
    assert caught.value.code == "lease_lost"
    [session] = journal.instances("session")
    assert session.outcome == "cancelled", "the agent was ended, and what it used is written"
    types = [one.decoded_evidence().data.get("type") for one in journal.history(id_)]
    assert types[-1] == "asked", "nothing is written on what somebody else drives now"
    assert journal.is_held(resource, lambda holder: True), "and it is not taken from them"


def test_a_lease_that_cannot_be_renewed_in_time_counts_as_lost(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise JournalError("journal_unreachable", "It does not answer.", "Start it.")

    monkeypatch.setattr(Journal, "renew", fails)
    with hold_lease(bench.context(journal), "it") as held:
        until = time.monotonic() + SECONDS
        while not held.context.stop.is_set() and time.monotonic() < until:
            pass
        assert held.context.stop.is_set()
        assert not bench.stop.is_set(), "it is this driver's own signal"
        with pytest.raises(InterlockError) as caught:
            held.check()
        assert (caught.value.code, "in time" in caught.value.message) == ("lease_lost", True)


def test_a_renewal_that_hangs_is_not_waited_for(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    monkeypatch.setattr(Journal, "renew", lambda *_: over.wait(SECONDS))
    with hold_lease(bench.context(journal), "it") as held:
        until = time.monotonic() + SECONDS
        while not held.context.stop.is_set() and time.monotonic() < until:
            pass
        assert held.context.stop.is_set()
        over.set()


def test_a_lease_that_ran_out_is_no_interrupt_of_a_person(
    bench: Bench, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise JournalError("journal_unreachable", "It does not answer.", "Start it.")

    monkeypatch.setattr(Journal, "renew", fails)
    bench.play(WAITS)
    context = bench.context(journal)
    id_ = begin(context, "All parts are there", "261115-120000", roles_of(context, {}))
    with pytest.raises(InterlockError) as caught:
        drive(context, id_)
    assert caught.value.code == "lease_lost"
    assert run_of(journal.history(id_)).paused is None


def test_a_lease_expires_by_the_clock_of_a_shared_database(
    postgres_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host whose clock is a day ahead takes nothing from others, and is not mistaken for one that is gone."""

    def ahead() -> int:
        return time.time_ns() + 86_400 * 10**9

    monkeypatch.setattr(leases, "HOST_CLOCK", ahead)
    with closing(open_journal(postgres_address)) as here, closing(open_journal(postgres_address, now=ahead)) as there:
        here.acquire("it", OTHER, 60, lambda holder: None)
        with pytest.raises(InterlockError) as caught:
            there.acquire("it", Holder("third", "boot", 1, "1"), 60, lambda holder: None)
        assert caught.value.code == "lease_held"
        there.acquire("mine", OTHER, 60, lambda holder: None)
    statement = "SELECT expires - extract(epoch FROM now()) * 1000 FROM leases WHERE resource = 'mine'"
    [(left,)] = sql(postgres_address, statement)
    assert left < 61_000


@pytest.mark.parametrize("while_", ["agent", "tests"])
def test_whoever_lost_a_story_loop_touches_none_of_its_files(tmp_path: Path, while_: str) -> None:
    """They are the next driver's now, who puts back what was changed in them."""
    ground = Ground(tmp_path).made()

    def taken(told: object) -> None:
        if isinstance(told, Said) if while_ == "agent" else str(told).startswith("test: "):
            with closing(ground.journal()) as other:
                _taken_over(other, lease_name("story", other.instances("story")[0].id))

    ground.hear = taken
    tampers = "echo mine > progress.txt"
    agent: Steps = [{"run": ["/bin/sh", "-c", tampers]}, *WAITS] if while_ == "agent" else WORK
    settings = Settings({**Settings().values, "agent.sandbox": "none", "driver.lease_seconds": 1})
    with pytest.raises(InterlockError) as caught:
        ground.drive(agents=[ground.agent(agent)], settings=settings, tests=(f"{tampers}; sleep 600",))
    assert caught.value.code == "lease_lost"
    files = own_tree(ground.root / ".ralf", ground.loop().id)
    assert (files / "progress.txt").read_text() == "mine\n"
    assert "mine" not in ground.progress_file.read_text()
