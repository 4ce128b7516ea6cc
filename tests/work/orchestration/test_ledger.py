"""The tallies of all runs, kept in tables: on both databases, caught up entry by entry, and never a second truth."""

from __future__ import annotations

import pytest

from interlock.errors import InterlockError
from interlock.journal import Journal, open_journal
from interlock.machine import Event
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.orchestration.ledger import RUNS, all_runs, runs_of_session
from interlock.work.orchestration.metrics import measured
from journal.databases import Address
from journal.histories import HUMAN, Clock
from work.orchestration.runs_made import Made, tally_of


def _anew(journal: Journal, id_: str, now: int) -> object:
    return measured(id_, tally_of(journal.history(id_)), now)


def test_it_is_caught_up_and_says_what_whole_histories_say(address: Address, clock: Clock) -> None:
    journal = open_journal(address, now=clock)
    try:
        first = Made(journal, clock, session="one")
        first.plan(10, ["task-1", "task-2"], cycles=2)
        assert [run.state for run in all_runs(journal)] == ["Executing"]
        first.attempt(20, "task-1", "Failed")
        assert [run.tasks[0].failed for run in all_runs(journal)] == [1]
        first.attempt(20, "task-1")
        first.attempt(20, "task-2")
        first.finish(5)
        second = Made(journal, clock, session="two")
        second.plan(10, ["task-1"])
        second.leave()
        assert [run.id for run in all_runs(journal)] == [first.id, second.id]
        assert all_runs(journal)[0] == _anew(journal, first.id, round(journal.now() * 1000))
        assert [run.is_resting for run in all_runs(journal)] == [False, True]
        assert journal.verify(RUNS) == []
        before = all_runs(journal, is_settled=True)
        journal.rebuild()
        assert all_runs(journal, is_settled=True) == before
    finally:
        journal.close()


def test_a_run_that_somebody_drives_is_at_work(address: Address, clock: Clock) -> None:
    journal = open_journal(address, now=clock)
    try:
        made = Made(journal, clock)
        made.plan(10, ["task-1"])
        made.leave()
        lease = journal.acquire(f"orchestrator:{made.id}", process_holder(), 1000, is_present)
        clock.forward(100)
        [run] = all_runs(journal)
        assert (run.is_resting, run.rested, run.states["Executing"] >= 100_000) == (False, 0, True)
        journal.release(lease)
        [run] = all_runs(journal)
        assert (run.is_resting, run.rested >= 100_000) == (True, True)
    finally:
        journal.close()


def test_runs_of_a_session_are_found_by_one_of_them(address: Address, clock: Clock) -> None:
    journal = open_journal(address, now=clock)
    try:
        made = [Made(journal, clock, session=session) for session in ("one", "two", "one")]
        run, runs = runs_of_session(journal, made[2].id)
        assert (run.id, [one.id for one in runs]) == (made[2].id, [made[0].id, made[2].id])
    finally:
        journal.close()


def test_what_is_no_run_is_none(address: Address, clock: Clock) -> None:
    journal = open_journal(address, now=clock)
    try:
        thread = journal.create("thread", Event("created", HUMAN)).entry.instance
        with pytest.raises(InterlockError) as refused:
            runs_of_session(journal, thread)
        assert refused.value.code == "unknown_instance"
        assert all_runs(journal) == []
    finally:
        journal.close()


def test_an_instance_that_nobody_gave_a_goal_is_counted_all_the_same(address: Address, clock: Clock) -> None:
    journal = open_journal(address, now=clock)
    try:
        made = journal.create("orchestrator", Event("created", HUMAN)).entry.instance
        [run] = all_runs(journal)
        assert (run.id, run.session, run.goal) == (made, made, "")
        assert journal.verify(RUNS) == []
    finally:
        journal.close()
