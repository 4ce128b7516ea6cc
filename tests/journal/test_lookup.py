"""Finding an instance by its id or by the end of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from interlock.errors import InterlockError
from interlock.journal import Journal, open_journal
from interlock.machine import Event

from .databases import Address, dump
from .histories import HUMAN, Clock, created

MEGABYTES = 3_000_000
NO_IDS = {
    "nothing": "",
    "too short": "abc",
    "a path": "../../etc/passwd",
    "an absolute path": "/etc/passwd",
    "a backslash": "..\\..\\x",
    "a wildcard for many": "%%%%",
    "a wildcard for one": "____",
    "wildcards of an id's length": "_" * 26,
    "a wildcard within": "0000%",
    "a quote": "0000'",
    "a statement": "0000'; DROP TABLE entries; --",
    "a NUL": "0000\x00",
    "a newline": "0000\n",
    "an escape": "\x1b[2J0000",
    "a lone surrogate": "0000\ud800",
    "other digits": "٠١٢٣",
    "a letter that no id has": "000u",
    "capitals": "ABCD",
    "longer than an id": "0" * 27,
    "megabytes of digits": "0" * MEGABYTES,
    "megabytes of wildcards": "%" * MEGABYTES,
}


Made: TypeAlias = "tuple[Journal, list[str]]"


@pytest.fixture(scope="module")
def made(shared_address: Address) -> Iterator[Made]:
    """A journal with three instances, the first two of which have the same end."""
    ends = iter([b"\0" * 6 + b"abcd", b"\1" * 6 + b"abcd", b"\2" * 6 + b"efgh"])
    journal = open_journal(shared_address, now=Clock(), randomness=lambda length: next(ends)[:length])
    yield journal, [journal.create("thread", created()).entry.instance for _ in range(3)]
    journal.close()


@pytest.fixture
def address(shared_address: Address) -> Address:
    return shared_address


def test_an_instance_is_found_by_its_id(made: Made) -> None:
    assert [made[0].instance(id_).id for id_ in made[1]] == made[1]


def test_an_instance_is_found_by_an_end_that_only_it_has(made: Made) -> None:
    journal, (*_, third) = made
    assert [journal.instance(third[-length:]).id for length in range(4, 27)] == [third] * 23


def test_an_end_that_two_have_is_ambiguous_and_names_both(made: Made) -> None:
    journal, (one, two, _) = made
    assert one[-4:] == two[-4:]
    with pytest.raises(InterlockError) as refusal:
        journal.instance(one[-4:])
    assert refusal.value.code == "ambiguous_instance"
    assert one in refusal.value.message
    assert two in refusal.value.message
    assert refusal.value.hint


def test_an_id_that_nothing_has_is_unknown(made: Made) -> None:
    for reference in ("0" * 26, "0000", "zzzzzzzz"):
        with pytest.raises(InterlockError) as refusal:
            made[0].instance(reference)
        assert refusal.value.code == "unknown_instance"
        assert refusal.value.hint


@pytest.mark.parametrize("reference", NO_IDS.values(), ids=NO_IDS.keys())
def test_what_can_be_no_id_is_refused_everywhere_and_writes_nothing(
    made: Made, address: Address, reference: str
) -> None:
    journal, _ = made
    before = dump(address)
    attempts: list[Callable[[], object]] = [
        lambda: journal.instance(reference),
        lambda: journal.history(reference),
        lambda: journal.snapshot(reference),
        lambda: journal.append(reference, Event("assess", HUMAN)),
        lambda: journal.create("thread", created(), parent=reference),
    ]
    for attempt in attempts:
        with pytest.raises(InterlockError) as refusal:
            attempt()
        assert refusal.value.code == "invalid_argument"
        assert refusal.value.hint
        assert len(refusal.value.message) < 500
    assert dump(address) == before


def test_what_can_be_no_id_is_refused_with_a_key_that_was_used_before(made: Made) -> None:
    journal, (one, *_) = made
    journal.append(one, Event("assess", HUMAN), key="assess")
    for reference in ("", one[-1:], one[-3:]):
        with pytest.raises(InterlockError) as refusal:
            journal.append(reference, Event("assess", HUMAN), key="assess")
        assert refusal.value.code == "invalid_argument"


def test_the_newest_instances_are_read_page_by_page(made: Made) -> None:
    journal, ids = made
    page = journal.recent("thread", 2)
    assert [one.id for one in page] == [ids[2], ids[1]]
    assert [one.id for one in journal.recent("thread", 2, before=page[-1].id)] == [ids[0]]
    assert journal.recent("thread", 2, before=ids[0]) == []
    assert journal.recent("story", 2, before=ids[2]) == []


def test_instances_are_known_by_their_first_entries(made: Made) -> None:
    journal, ids = made
    found = journal.first_entries([ids[0], ids[2], "0" * 26])
    assert {id_: (one.version, one.event) for id_, one in found.items()} == dict.fromkeys(
        (ids[0], ids[2]), (1, "created")
    )
    assert journal.first_entries([]) == {}
