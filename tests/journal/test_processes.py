"""Several processes on one journal: each version has one winner, and nothing is lost or doubled."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack

import pytest

from interlock.journal import Journal
from interlock.journal.schema import MIGRATIONS

from .children import child, competing, opening
from .databases import Address, dump
from .histories import AGENT, created

PROCESSES = 8
ROUNDS = 50


def test_of_eight_processes_exactly_one_moves_the_instance_on_from_each_version(
    journal: Journal, address: Address
) -> None:
    id_ = journal.create("session", created(AGENT)).entry.instance
    with ExitStack() as stack:
        children = [
            stack.enter_context(child(competing, address, id_, f"process-{number}", ROUNDS))
            for number in range(PROCESSES)
        ]
        assert [one.receive() for one in children] == ["ready"] * PROCESSES
        for one in children:
            one.send("go")
        tries = [one.receive() for one in children]
    assert Counter(code for each in tries for code, _ in each) == {
        "written": ROUNDS,
        "conflict": ROUNDS * (PROCESSES - 1),
    }
    won = [version for each in tries for code, version in each if code == "written"]
    assert sorted(won) == list(range(2, ROUNDS + 2))
    history = journal.history(id_)
    assert [entry.version for entry in history] == list(range(1, ROUNDS + 2))
    assert [entry.seq for entry in journal.entries()] == list(range(1, ROUNDS + 2))
    for number, each in enumerate(tries):
        mine = [entry.version for entry in history if (entry.key or "").startswith(f"process-{number}-")]
        assert mine == [version for code, version in each if code == "written"]
    assert journal.verify() == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("attempt", range(6))
def test_four_processes_that_open_a_new_journal_at_the_same_moment_all_succeed(address: Address, attempt: int) -> None:
    with ExitStack() as stack:
        children = [stack.enter_context(child(opening, address)) for _ in range(4)]
        assert [one.receive() for one in children] == ["ready"] * 4
        for one in children:
            one.send("go")
        assert [one.receive() for one in children] == [0] * 4
    assert [row[0] for row in dump(address)["migrations"]] == [one.number for one in MIGRATIONS]
