"""Finding instances by where they stand, and the newest page by page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from interlock.journal import Journal, Sql
from interlock.journal.projection import is_current
from interlock.journal.sqlite import SqliteStore
from interlock.machine import Event, Evidence
from interlock.work.tickets.ticket_table import TICKETS

from .histories import AGENT, HUMAN, created


def test_what_stands_in_a_state_is_counted_and_the_newest_of_it_are_given(journal: Journal) -> None:
    made = [journal.create("session", created(HUMAN)).entry.instance for _ in range(4)]
    moved = made[1]
    journal.append(moved, Event("update_session_state", AGENT, "testing"))
    journal.append(made[3], Event("complete_ralph_session", HUMAN, evidence=Evidence(facts={"outcome": "failure"})))
    count, newest = journal.in_states("session", ["idle", "testing"], 2)
    assert (count, [one.id for one in newest]) == (3, made[2:0:-1])
    assert [one.id for one in journal.in_states("session", ["testing"], 9)[1]] == [moved]
    assert journal.in_states("session", ["failed"], 9) == (0, [])
    assert journal.in_states("thread", ["idle"], 9) == journal.in_states("session", [], 9) == (0, [])


def test_the_newest_are_given_page_by_page(journal: Journal) -> None:
    made = [journal.create("session", created(HUMAN)).entry.instance for _ in range(5)]
    first = [one.id for one in journal.recent("session", 2)]
    then = [one.id for one in journal.recent("session", 2, before=first[-1])]
    assert [*first, *then] == made[:0:-1]


def test_what_is_new_for_a_projection_is_looked_for_among_new_entries(tmp_path: Path) -> None:
    """An index of instances by machine must not lead through all of them, each time that tickets are looked at."""
    store = SqliteStore(tmp_path / "journal.db", time.time_ns)
    journal = Journal(store)
    journal.create("ticket", created(HUMAN))
    with journal.projected(TICKETS) as sql:
        asked = _Spy(sql)
        assert is_current(asked, TICKETS)
        plan = [row[3] for row in sql.rows(f"EXPLAIN QUERY PLAN {asked.last[0]}", asked.last[1])]
    assert plan[0].startswith("SEARCH e ")
    journal.close()


class _Spy:
    """Reads, and knows what was asked last."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self.dialect, self.memory = sql.dialect, sql.memory
        self.last: tuple[str, Sequence[object]] = ("", ())

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        self.last = (statement, parameters)
        return self._sql.rows(statement, parameters)
