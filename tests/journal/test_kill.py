"""SIGKILL at any moment: nothing that was acknowledged is lost, and nothing is written twice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from exhaustive import EXHAUSTIVE
from interlock.journal import Journal, open_journal

from .children import acknowledging, child, opening
from .databases import Address
from .histories import AGENT, created

SQLITE_KILLS = 300 if EXHAUSTIVE else 30
POSTGRES_KILLS = 20 if EXHAUSTIVE else 5


def killed_and_repeated(journal: Journal, address: Address, kills: int, seed: int) -> int:
    """Kill a writer so many times, each time going on with the key that was not acknowledged; how many there are."""
    chance = random.Random(seed)
    id_ = journal.create("session", created(AGENT)).entry.instance
    following = 0
    for _ in range(kills):
        with child(acknowledging, address, id_, following) as writer:
            acknowledged = [writer.receive() for _ in range(chance.randrange(5))]
            for _ in range(chance.randrange(60_000)):
                pass
            writer.kill()
            acknowledged += writer.rest()
        numbers = [number for number, _ in acknowledged]
        assert numbers == list(range(following, following + len(numbers)))
        assert all(written for _, written in acknowledged[1:])
        following += len(numbers)
        assert journal.head() in (1 + following, 1 + following + 1)
    return following


def check(journal: Journal, address: Address, acknowledged: int) -> None:
    """All that was acknowledged is there, once and in order; and so is the next, written or not, after a repetition."""
    id_ = journal.instances()[0].id
    with child(acknowledging, address, id_, acknowledged) as writer:
        assert writer.receive()[0] == acknowledged
        writer.kill()
        last = acknowledged + len(writer.rest())
    journal.transact(lambda transaction: None)  # a server may still be at what its dead client had asked for
    keys = [entry.key for entry in journal.all_entries()][1:]
    assert keys[: last + 1] == [f"key-{number}" for number in range(last + 1)]
    assert len(keys) in (last + 1, last + 2)
    assert journal.verify() == []
    before = journal.instances()
    journal.rebuild()
    assert journal.instances() == before


@pytest.mark.exhaustive
def test_a_writer_on_sqlite_that_is_killed_again_and_again_loses_and_doubles_nothing(
    sqlite_journal: Journal, sqlite_address: Path
) -> None:
    check(sqlite_journal, sqlite_address, killed_and_repeated(sqlite_journal, sqlite_address, SQLITE_KILLS, seed=1))


@pytest.mark.exhaustive
def test_a_writer_on_postgresql_that_is_killed_loses_and_doubles_nothing(postgres_address: str) -> None:
    journal = open_journal(postgres_address)
    check(journal, postgres_address, killed_and_repeated(journal, postgres_address, POSTGRES_KILLS, seed=2))
    journal.close()


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(3 if EXHAUSTIVE else 1))
def test_a_journal_whose_maker_was_killed_can_be_opened_and_written(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(10 if EXHAUSTIVE else 3):
        address = tmp_path / f"{number}.db"
        with child(opening, address) as maker:
            assert maker.receive() == "ready"
            maker.send("go")
            for _ in range(chance.randrange(100_000)):
                pass
            maker.kill()
        journal = open_journal(address)
        assert journal.create("session", created(AGENT)).entry.seq == 1
        assert journal.verify() == []
        journal.close()
