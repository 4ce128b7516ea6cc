"""What is kept at hand: whole, never read twice, and not without an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.journal import Entry, open_journal
from interlock.machine import Event
from interlock.work.driver.fold import RecordCache
from work.attention.standings import AGENT


def test_only_what_is_new_is_read_and_only_so_many_are_kept(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "journal.db")
    taken: list[tuple[str, int]] = []

    def take(record: list[int], entry: Entry) -> None:
        taken.append((entry.instance, entry.version))
        record.append(entry.version)

    kept: RecordCache[list[int]] = RecordCache(list, take, most=2)
    first, second, third = (journal.create("session", Event("created", AGENT)).entry.instance for _ in range(3))
    assert kept.of(journal, journal.instance(first)) == [1]
    journal.append(first, Event("update_session_state", AGENT, "analyzing"))
    assert kept.of(journal, journal.instance(first)) == [1, 2]
    assert taken == [(first, 1), (first, 2)]
    kept.of(journal, journal.instance(second))
    kept.of(journal, journal.instance(third))
    taken.clear()
    assert kept.of(journal, journal.instance(third)) == [1]
    assert not taken
    assert kept.of(journal, journal.instance(first)) == [1, 2]  # it had to make room, and is made anew
    assert taken == [(first, 1), (first, 2)]
    journal.close()


def test_a_record_that_could_not_be_made_whole_is_made_anew(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "journal.db")
    fails = iter([True, False])

    def take(record: list[int], entry: Entry) -> None:
        record.append(entry.version)
        if entry.version == 2 and next(fails):
            raise RuntimeError(entry.version)

    kept: RecordCache[list[int]] = RecordCache(list, take)
    id_ = journal.create("session", Event("created", AGENT)).entry.instance
    kept.of(journal, journal.instance(id_))
    journal.append(id_, Event("update_session_state", AGENT, "analyzing"))
    with pytest.raises(RuntimeError):
        kept.of(journal, journal.instance(id_))
    assert kept.of(journal, journal.instance(id_)) == [1, 2]
    journal.close()
