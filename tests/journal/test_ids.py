"""Ids and times: opaque, sortable, and the same again from the same clock and randomness."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.journal import open_journal
from interlock.journal.ids import is_suffix, make_id, time_text

from .databases import Address
from .histories import Clock, created

milliseconds = st.integers(0, 2**48 - 1)
ten_bytes = st.binary(min_size=10, max_size=10)
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) * 1000


@given(milliseconds, ten_bytes)
def test_an_id_is_a_lower_case_ulid(time: int, randomness: bytes) -> None:
    made = make_id(time, randomness)
    assert re.fullmatch("[0-9a-hjkmnp-tv-z]{26}", made)
    assert is_suffix(made)


@given(milliseconds, ten_bytes)
def test_an_id_holds_all_of_its_time_and_its_randomness(time: int, randomness: bytes) -> None:
    number = 0
    for character in make_id(time, randomness):
        number = number * 32 + ALPHABET.index(character)
    assert number == time << 80 | int.from_bytes(randomness)


@given(milliseconds, milliseconds, ten_bytes, ten_bytes)
def test_ids_sort_by_time(one: int, other: int, first: bytes, second: bytes) -> None:
    if one != other:
        assert (make_id(one, first) < make_id(other, second)) == (one < other)


@given(milliseconds, ten_bytes)
def test_an_id_is_the_same_again_from_the_same_time_and_randomness(time: int, randomness: bytes) -> None:
    assert make_id(time, randomness) == make_id(time, bytes(bytearray(randomness)))


def test_two_journals_with_the_same_clock_and_randomness_are_the_same(address: Address, tmp_path: Address) -> None:
    assert not isinstance(tmp_path, str)
    written = []
    for place in (address, tmp_path / "other.db"):
        journal = open_journal(place, now=Clock(), randomness=lambda length: b"x" * length)
        written.append([journal.create("thread", created()).entry for _ in range(3)])
        journal.close()
    assert written[0] == written[1]


@pytest.mark.parametrize("text", ["", "000", "0" * 27, "O" * 26, "u" * 26, "0" * 25 + "\n", "../" + "0" * 23])
def test_what_can_be_no_end_of_an_id_is_none(text: str) -> None:
    assert not is_suffix(text)


@given(st.integers(0, LAST))
def test_a_time_is_utc_with_milliseconds_and_reads_back(nanoseconds: int) -> None:
    text = time_text(nanoseconds)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    assert datetime.fromisoformat(text) == EPOCH + timedelta(milliseconds=nanoseconds // 1_000_000)


@given(st.integers(0, LAST), st.integers(0, LAST))
def test_times_sort_as_text(one: int, other: int) -> None:
    assert (time_text(one) < time_text(other)) == (one // 1_000_000 < other // 1_000_000)
