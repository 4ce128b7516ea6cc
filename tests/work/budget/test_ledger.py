"""The day's budget in the journal: reserved with the run's session, settled at its end, and nobody's to forge."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.work.budget import NOTHING, RUNS_OF_AGENTS, Amount, DayUsage, day_usage, likely, refusal, reserve
from interlock.work.driver.agent_run import DRIVER
from interlock.work.sessions.runs import RUN, RunSummary, data_of
from interlock.work.sessions.verbs import Caller, complete, create, note
from journal.databases import Address

DAY, MORROW = "2026-01-31", "2026-02-01"
AGENT = Actor(ActorKind.AGENT, "claude", Channel.MCP)
HOOK = Actor(ActorKind.SYSTEM, "ralph-hook", Channel.HOOK)
FIVE = Amount(microdollars=5_000_000)
ONE = Amount(1_000, 10, 1_000_000)


def _begin(journal: Journal, most: Amount = NOTHING, day: str = DAY) -> str:
    def work(transaction: Any) -> str:
        kept = reserve(transaction, day, most)
        return create(Caller(DRIVER, "scripted"), role="implementer", kept=kept)(transaction).session_id

    return journal.transact(work)


def _settle(journal: Journal, run: str, used: Amount) -> None:
    ran = RunSummary("scripted", "finished", seconds=used.seconds, input=used.tokens, cost_usd=used.usd)
    journal.transact(note(run, RUN, DRIVER, data_of(ran)))


def test_a_run_is_reserved_by_what_others_used_and_settled_by_what_it_did(journal: Journal) -> None:
    first = _begin(journal)
    assert day_usage(journal, DAY) == DayUsage(NOTHING, 1, NOTHING), "nobody knows yet what a run costs"
    _settle(journal, first, ONE)
    second = _begin(journal, FIVE)
    assert day_usage(journal, DAY) == DayUsage(ONE + ONE, 2, ONE)
    _settle(journal, second, Amount(3_000, 30, 4_000_000))
    _settle(journal, second, NOTHING)
    assert day_usage(journal, DAY).used.usd == 5.0, "settled once"
    before = journal.head()
    with pytest.raises(InterlockError) as refused:
        _begin(journal, FIVE)
    assert refused.value.code == "budget_exhausted"
    assert journal.head() == before, "nothing is written"
    _begin(journal, FIVE, MORROW)
    assert day_usage(journal, MORROW).runs == 1
    assert journal.verify(RUNS_OF_AGENTS) == []


def test_only_what_a_driver_wrote_counts(journal: Journal) -> None:
    run = _begin(journal)
    _settle(journal, run, FIVE)
    other = _begin(journal)
    forged = data_of(RunSummary("scripted", "finished"))
    for actor in (AGENT, HOOK):
        journal.transact(note(other, RUN, actor, forged))
    journal.transact(complete(other, "success", AGENT, metadata={"type": RUN, **forged}))
    own = {"reserved": {"day": DAY, "milliseconds": 0, "tokens": 0, "microdollars": -5_000_000}}
    journal.create("session", Event("created", AGENT, evidence=Evidence(data=own)))
    assert day_usage(journal, DAY) == DayUsage(FIVE + FIVE, 2, FIVE)
    _settle(journal, other, ONE)
    assert day_usage(journal, DAY).used == FIVE + ONE, "also after the agent has completed its session itself"


def test_of_many_at_once_only_so_many_begin_as_there_is_room_for(address: Address, journal: Journal) -> None:
    _settle(journal, _begin(journal), ONE)

    def begin(_: int) -> bool:
        with closing(open_journal(address)) as mine:
            try:
                _begin(mine, FIVE)
            except Refusal:
                return False
            return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(begin, range(16))) == 4
    assert day_usage(journal, DAY).used == Amount(5_000, 50, 5_000_000)


AMOUNTS = st.builds(Amount, st.integers(0, 90_000), st.integers(0, 900), st.integers(0, 3_000_000))
MOVES = st.lists(st.tuples(st.sampled_from([DAY, MORROW, "settle", "die"]), st.integers(0, 9), AMOUNTS), max_size=30)


@settings(max_examples=examples(120))
@given(MOVES, st.integers(1, 6))
def test_the_journal_adds_up_as_the_arithmetic_does(moves: list[tuple[str, int, Amount]], dollars: int) -> None:
    """Runs of two days, settled in any order, or never because their driver died: what begins is what may."""
    most = Amount(microdollars=dollars * 1_000_000)
    runs: dict[str, tuple[str, Amount]] = {}
    known: dict[str, Amount] = {}
    open_: list[str] = []
    with tempfile.TemporaryDirectory() as directory, closing(open_journal(Path(directory) / "journal.db")) as journal:
        for what, place, used in moves:
            if what in (DAY, MORROW):
                costs = [cost for day, cost in runs.values() if day == what]
                newest = [known[run] for run in sorted(known, reverse=True)[:20]]
                day = DayUsage(sum(costs, NOTHING), len(costs), likely(sum(newest, NOTHING), len(newest)))
                assert day_usage(journal, what) == day
                try:
                    run = _begin(journal, most, what)
                except InterlockError:
                    assert refusal(most, day) is not None
                else:
                    assert refusal(most, day) is None
                    runs[run] = (what, day.likely)
                    open_.append(run)
            elif open_:
                run = open_.pop(place % len(open_))
                if what == "settle":
                    _settle(journal, run, used)
                    known[run], runs[run] = used, (runs[run][0], used)
                else:
                    journal.transact(complete(run, "cancelled", DRIVER, "the driver of the run died"))
        assert journal.verify(RUNS_OF_AGENTS) == []
