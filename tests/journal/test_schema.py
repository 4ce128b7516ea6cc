"""Migrations, and the view that SQL users keep from the seed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from interlock.journal import Journal, open_journal, schema
from interlock.journal.schema import MIGRATIONS, NEWEST
from interlock.machine import Event, Evidence

from .databases import TABLES, Address, dump, sql
from .histories import AGENT, HUMAN, SYSTEM, Clock, created, reports
from .refusals import code_of, failed_to_open

# The seed's own debugging query, as it is written at the end of 000_3ae188d06f2a041b.txt.
SEED_QUERY = """SELECT
  id,
  current_state,
  json_extract(state_history, '$[#-1].state') as last_state,
  json_extract(state_history, '$[#-1].metadata.error') as error
FROM ralph_sessions
WHERE outcome = 'failure'
ORDER BY completed_at DESC
LIMIT 10;
"""
COLUMNS = ("id", "ticket_id", "outcome", "current_state", "state_history", "started_at", "completed_at", "updated_at")


def test_a_new_journal_has_every_migration_recorded_with_its_time(journal: Journal, address: Address) -> None:
    rows = sql(address, "SELECT number, name, applied FROM migrations ORDER BY number")
    assert [(number, name) for number, name, _ in rows] == [(one.number, one.name) for one in MIGRATIONS]
    assert all(applied.startswith("2023-11-14T") for *_, applied in rows)


def test_migrations_are_numbered_from_one_without_a_gap() -> None:
    assert [one.number for one in MIGRATIONS] == list(range(1, NEWEST + 1))


def test_a_journal_of_the_first_schema_is_migrated_when_it_is_opened(
    address: Address, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(schema, "MIGRATIONS", MIGRATIONS[:1])
        earlier.setattr(schema, "NEWEST", 1)
        old = open_journal(address, now=clock)
        id_ = old.create("session", created(AGENT)).entry.instance
        old.close()
    assert sql(address, "SELECT number FROM migrations") == [(1,)]
    tables = {table: order for table, order in TABLES.items() if table != "names"}
    before = {table: sql(address, f"SELECT * FROM {table} ORDER BY {order}") for table, order in tables.items()}
    new = open_journal(address, now=clock)
    assert sql(address, "SELECT number FROM migrations ORDER BY number") == [(one.number,) for one in MIGRATIONS]
    assert sql(address, "SELECT id, current_state FROM ralph_sessions") == [(id_, "idle")]
    assert {**dump(address), "migrations": []} == {**before, "names": [], "migrations": []}
    assert dump(address)["migrations"][0] == before["migrations"][0]
    assert new.append(id_, reports("analyzing")).entry.version == 2
    assert new.verify() == []
    new.close()


def test_opening_again_applies_nothing_twice(
    journal: Journal, address: Address, opened: Callable[[Address], Journal]
) -> None:
    journal.create("thread", created())
    before = dump(address)
    for _ in range(3):
        assert opened(address).head() == 1
    assert dump(address) == before


def test_a_journal_of_a_newer_schema_is_refused_and_not_touched(
    journal: Journal, address: Address, clock: Clock
) -> None:
    journal.create("thread", created())
    row = (NEWEST + 1, "from the future", "2030-01-01T00:00:00.000Z")
    sql(address, "INSERT INTO migrations (number, name, applied) VALUES (?, ?, ?)", *row)
    before = dump(address)
    failed_to_open(lambda: open_journal(address, now=clock), "journal_newer")
    assert dump(address) == before
    sql(address, "DELETE FROM migrations WHERE number = ?", NEWEST + 1)
    later = open_journal(address, now=clock)
    assert later.head() == 1
    later.close()


def test_a_migration_that_fails_leaves_the_journal_as_it_was(
    journal: Journal, address: Address, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(address)
    broken = schema.Migration(NEWEST + 1, "broken", ("CREATE TABLE half (x TEXT)", "CREATE NONSENSE"), {})
    with monkeypatch.context() as later:
        later.setattr(schema, "MIGRATIONS", (*MIGRATIONS, broken))
        later.setattr(schema, "NEWEST", NEWEST + 1)
        failed_to_open(lambda: open_journal(address, now=clock), "journal_io")
    assert dump(address) == before
    later_journal = open_journal(address, now=clock)
    later_journal.create("thread", created())
    later_journal.close()
    with pytest.raises(Exception, match="half"):
        sql(address, "SELECT * FROM half")


# The view of sessions


def end(outcome: str, error: str | None = None) -> Event:
    data = {"error": error} if error else {}
    return Event("complete_ralph_session", AGENT, evidence=Evidence(facts={"outcome": outcome}, data=data))


@pytest.fixture
def sessions(journal: Journal, clock: Clock) -> dict[str, str]:
    """Sessions that ended in each way, by what became of them; oldest first."""
    ticket = journal.create("ticket", created()).entry.instance
    made = {}
    for name in ("failed early", "succeeded", "failed late", "timed out", "open"):
        named = Evidence(data={"ticket_id": "T-7"}) if name == "failed early" else None
        parent = ticket if name == "failed late" else None
        made[name] = journal.create("session", created(AGENT, named), parent=parent).entry.instance
        journal.append(made[name], reports("analyzing", Evidence(data={"message": "reading"})))
    journal.append(made["failed late"], reports("testing"))
    for name, event in {
        "failed early": end("failure", "no such file"),
        "succeeded": end("success"),
        "failed late": end("failure", 'tests "fail" ☃'),
        "timed out": end("timeout", "too slow"),
    }.items():
        clock.forward(60)
        journal.append(made[name], event)
    return made


def test_the_query_of_the_seed_runs_as_it_is_written(address: Address, sessions: dict[str, str]) -> None:
    assert sql(address, SEED_QUERY) == [
        (sessions["failed late"], "failed", "failed", 'tests "fail" ☃'),
        (sessions["failed early"], "failed", "failed", "no such file"),
    ]


def test_the_view_has_the_columns_and_the_values_of_the_seed(
    journal: Journal, address: Address, sessions: dict[str, str]
) -> None:
    rows = {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in _view(address)}
    assert rows.keys() == set(sessions.values())
    for name, (ticket, outcome, state) in {
        "failed early": ("T-7", "failure", "failed"),
        "succeeded": (None, "success", "done"),
        "failed late": (journal.instances("ticket")[0].id, "failure", "failed"),
        "timed out": (None, "timeout", "failed"),
        "open": (None, None, "analyzing"),
    }.items():
        row, history = rows[sessions[name]], journal.history(sessions[name])
        assert (row["ticket_id"], row["outcome"], row["current_state"]) == (ticket, outcome, state)
        assert row["started_at"] == history[0].time
        assert row["updated_at"] == history[-1].time
        assert row["completed_at"] == (history[-1].time if outcome else None)


def _view(address: Address) -> list[tuple[object, ...]]:
    return sql(address, f"SELECT {', '.join(COLUMNS)} FROM ralph_sessions")


def test_the_history_of_a_session_is_every_report_in_order_and_begins_with_its_creation(
    journal: Journal, address: Address, sessions: dict[str, str]
) -> None:
    id_ = sessions["failed early"]
    [(text,)] = sql(address, "SELECT state_history FROM ralph_sessions WHERE id = ?", id_)
    first, second, last = journal.history(id_)
    assert json.loads(text) == [
        {"state": "idle", "timestamp": first.time, "metadata": {"action": "session_created", "ticket_id": "T-7"}},
        {"state": "analyzing", "timestamp": second.time, "metadata": {"message": "reading"}},
        {"state": "failed", "timestamp": last.time, "metadata": {"error": "no such file"}},
    ]


def test_what_the_system_observes_of_a_session_is_not_part_of_its_reported_history(
    journal: Journal, address: Address, sessions: dict[str, str]
) -> None:
    id_ = sessions["open"]
    data = {"key": "k", "effect": "notify"}
    journal.append(id_, Event("effect_intended", SYSTEM, evidence=Evidence(data=data)))
    [(text,)] = sql(address, "SELECT state_history FROM ralph_sessions WHERE id = ?", id_)
    assert [one["state"] for one in json.loads(text)] == ["idle", "analyzing"]


def test_other_machines_are_not_in_the_view(journal: Journal, address: Address) -> None:
    journal.create("thread", created(HUMAN))
    assert _view(address) == []


def test_evidence_that_was_accepted_never_breaks_the_view(journal: Journal, address: Address) -> None:
    id_ = journal.create("session", created(AGENT)).entry.instance
    odd: list[dict[str, Any]] = [
        {"x": [1e308, -0.0, 2**200, "\\u0000?", "\x7f", "☃𝄞"]},
        {"": {"a.b[0]": "$"}},
        {"n": _nested(60)},
    ]
    for data in odd:
        code = code_of(lambda data=data: journal.append(id_, reports("testing", Evidence(data=data))))  # type: ignore[misc]
        assert code in (None, "evidence_invalid")
    assert len(sql(address, SEED_QUERY.replace("'failure'", "'failure' OR 1 = 1"))) == 1


def test_the_deepest_evidence_that_is_accepted_does_not_break_the_view(journal: Journal, address: Address) -> None:
    id_ = journal.create("session", created(AGENT)).entry.instance
    for depth in (100, 300, 500, 700, 800, 850, 900, 950, 980):
        event = reports("testing", Evidence(data={"x": _nested(depth)}))
        assert code_of(lambda event=event: journal.append(id_, event)) in (None, "evidence_invalid")  # type: ignore[misc]
    assert len(sql(address, SEED_QUERY.replace("'failure'", "'failure' OR 1 = 1"))) == 1


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def test_the_file_is_read_by_the_sqlite_that_comes_with_python(
    sqlite_journal: Journal, sqlite_address: Path, clock: Clock
) -> None:
    id_ = sqlite_journal.create("session", created(AGENT)).entry.instance
    sqlite_journal.append(id_, reports("analyzing"))
    sqlite_journal.append(id_, end("failure", "broken"))
    with closing(sqlite3.connect(sqlite_address)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute(SEED_QUERY).fetchall() == [(id_, "failed", "failed", "broken")]
        assert database.execute("SELECT count(*) FROM entries").fetchone() == (3,)
    sqlite_journal.close()
    with closing(sqlite3.connect(f"file:{sqlite_address}?mode=ro", uri=True)) as database:
        assert database.execute(SEED_QUERY).fetchall() == [(id_, "failed", "failed", "broken")]
