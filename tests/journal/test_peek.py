"""One look at one session or ticket, in each kind of database; and that what cannot be read is said to be so."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec
import psycopg
import pytest

from interlock.journal import Journal, open_journal
from interlock.journal.peek import JournalUnreadable, SessionPeek, peek, peek_ticket
from interlock.machine import Evidence, load_shipped

from .databases import Address, connected, dump, sql
from .histories import AGENT, created, paths, reports


def _made(journal: Journal, *names: str, machine: str = "session") -> str:
    evidence = Evidence(names=names) if names else None
    return journal.create(machine, created(AGENT, evidence)).entry.instance


def _seen(address: Address, session: str | None = None, *names: str) -> SessionPeek:
    found = peek(str(address), session, list(names))
    assert found is not None
    return found


@pytest.mark.parametrize("state", load_shipped("session").states)
def test_a_session_is_seen_in_its_state_with_its_machine(journal: Journal, address: Address, state: str) -> None:
    session = _made(journal)
    for event in paths(load_shipped("session"))[state]:
        journal.append(session, event)
    seen = _seen(address, session)
    found = journal.instance(session)
    assert (seen.session, seen.state, seen.outcome, seen.name) == (session, state, found.outcome, None)
    form = load_shipped("session").form
    assert json.loads(seen.definition) == json.loads(msgspec.json.encode(form))


def test_what_is_not_there_is_not_seen(journal: Journal, address: Address) -> None:
    _made(journal, "a")
    assert peek(str(address), "01h00000000000000000000000", []) is None
    assert peek(str(address), "", []) is None
    assert peek(str(address), None, []) is None
    assert peek(str(address), None, ["b", "A", "a "]) is None


def test_what_is_no_session_is_not_seen(journal: Journal, address: Address) -> None:
    ticket = _made(journal, "a", machine="ticket")
    assert peek(str(address), ticket, []) is None
    assert peek(str(address), None, ["a"]) is None


def test_a_part_of_an_id_is_none(journal: Journal, address: Address) -> None:
    session = _made(journal)
    assert peek(str(address), session[-8:], []) is None
    assert peek(str(address), session.upper(), []) is None


def test_a_session_is_found_by_the_first_name_that_one_took(journal: Journal, address: Address) -> None:
    first, second = _made(journal, "one"), _made(journal, "two", "three")
    assert _seen(address, None, "zero", "one", "two").session == first
    assert _seen(address, None, "two", "one").session == second
    assert _seen(address, None, "three").name == "three"
    assert _seen(address, None, "zero", "one").name == "one"


def test_the_last_one_to_take_a_name_has_it(journal: Journal, address: Address) -> None:
    _made(journal, "one")
    second = _made(journal, "one")
    assert _seen(address, None, "one").session == second


def test_an_id_comes_before_names(journal: Journal, address: Address) -> None:
    first, second = _made(journal, "one"), _made(journal)
    assert _seen(address, second, "one").session == second
    assert _seen(address, first).name is None


def test_what_was_just_written_is_seen(journal: Journal, address: Address) -> None:
    session = _made(journal)
    for state in ("analyzing", "implementing", "testing"):
        journal.append(session, reports(state))
        assert _seen(address, session).state == state


def test_looking_changes_nothing(journal: Journal, address: Address) -> None:
    session = _made(journal, "one")
    before = dump(address)
    peek(str(address), session, [])
    peek(str(address), None, ["one", "two"])
    assert dump(address) == before


def test_a_statement_is_no_name(journal: Journal, address: Address) -> None:
    _made(journal, "one")
    for text in ("' OR 1=1 --", "%", "one' --", "{schema}", "?", "%s", "\ud800"):
        try:
            assert peek(str(address), text, []) is None
            assert peek(str(address), None, [text]) is None
        except JournalUnreadable:
            assert text == "\ud800", "no database can hold it"


def test_a_session_without_its_machine_is_not_seen(journal: Journal, address: Address) -> None:
    session = _made(journal)
    sql(address, "DELETE FROM machines")
    assert peek(str(address), session, []) is None


# A ticket


def test_a_ticket_is_seen_by_its_name_with_its_machine(journal: Journal, address: Address) -> None:
    _made(journal, "number:000000000001", machine="session")
    assert peek_ticket(str(address), "number:000000000001") is None
    ticket = _made(journal, "number:000000000001", machine="ticket")
    for event in paths(load_shipped("ticket"))["Plan in Review"]:
        journal.append(ticket, event)
    found = peek_ticket(str(address), "number:000000000001")
    assert found is not None
    assert found[0] == "Plan in Review"
    assert json.loads(found[1]) == json.loads(msgspec.json.encode(load_shipped("ticket").form))


def test_where_no_ticket_has_the_name_the_newest_stands_for_its_machine(journal: Journal, address: Address) -> None:
    assert peek_ticket(str(address), "c", or_newest=True) is None
    first, second = _made(journal, "a", machine="ticket"), _made(journal, "b", machine="ticket")
    _made(journal, "c", machine="session")
    for state, ticket in (("Done", first), ("Human Needed", second)):
        for event in paths(load_shipped("ticket"))[state]:
            journal.append(ticket, event)
    assert peek_ticket(str(address), "c") is None
    for name, state in (("a", "Done"), ("b", "Human Needed"), ("c", "Human Needed")):
        found = peek_ticket(str(address), name, or_newest=True)
        assert found is not None
        assert found[0] == state


def test_a_ticket_in_what_is_no_journal_cannot_be_seen(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"no database")
    for one in (path, tmp_path / "none.db"):
        with pytest.raises(JournalUnreadable):
            peek_ticket(str(one), "a")


# In a file


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(JournalUnreadable):
        peek(str(tmp_path / "journal.db"), "x", [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_journal(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(content)
    with pytest.raises(JournalUnreadable):
        peek(str(path), "x", [])
    assert path.read_bytes() == content


def test_what_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    directory, pipe, link = tmp_path / "directory", tmp_path / "pipe", tmp_path / "link"
    directory.mkdir()
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "nowhere")
    for path in (directory, pipe, link):
        with pytest.raises(JournalUnreadable):
            peek(str(path), "x", [])


def test_a_damaged_file_is_unreadable_or_read_right(
    sqlite_address: Path, opened: Callable[[Address], Journal], tmp_path: Path
) -> None:
    journal = opened(sqlite_address)
    session = _made(journal, "one")
    journal.close()
    whole = sqlite_address.read_bytes()
    damaged = tmp_path / "damaged.db"
    for offset in range(0, len(whole), 997):
        damaged.write_bytes(whole[:offset] + b"\xa5" * 64 + whole[offset + 64 :])
        try:
            seen = peek(str(damaged), session, [])
        except JournalUnreadable:
            continue
        assert seen is None or (seen.session == session and isinstance(seen.state, str))


@pytest.mark.parametrize(
    "change", ["state = x'ff00'", "state = 5", "id = x'00'", "outcome = 7", "state = CAST(x'fffe' AS TEXT)"]
)
def test_values_of_a_wrong_kind_are_no_session(change: str, sqlite_journal: Journal, sqlite_address: Path) -> None:
    session = _made(sqlite_journal)
    with connected(sqlite_address) as run:
        run("PRAGMA ignore_check_constraints = ON")
        run(f"UPDATE instances SET {change}")
    try:
        seen = peek(str(sqlite_address), session, [])
    except JournalUnreadable:
        return
    assert seen is None or isinstance(seen.outcome, str) or isinstance(seen.state, str)


def test_a_file_that_another_has_locked_is_given_up_on(sqlite_journal: Journal, sqlite_address: Path) -> None:
    session = _made(sqlite_journal)
    sqlite_journal.close()
    other = apsw.Connection(str(sqlite_address))
    try:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE leases SET expires = expires")
        with pytest.raises(JournalUnreadable, match=r"(?i)lock|busy"):
            peek(str(sqlite_address), session, [])
        other.execute("ROLLBACK")
    finally:
        other.close()
    assert _seen(sqlite_address, session).state == "idle"


# On a server


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2hunter2@127.0.0.1:1/x",
        "postgres://me:hunter2 hunter2@127.0.0.1/x",
        "postgresql:///x?host=/no/such/directory&password=hunter2hunter2",
        "postgresql://[broken",
        "postgresql://127.0.0.1/x?nosuch=option&password=hunter2hunter2",
    ],
)
def test_a_server_that_does_not_answer_and_no_password_is_said(url: str) -> None:
    with pytest.raises(JournalUnreadable) as caught:
        peek(url, "x", [])
    assert "hunter2" not in str(caught.value)


def test_a_database_that_holds_no_journal(postgres_address: str) -> None:
    with pytest.raises(JournalUnreadable):
        peek(postgres_address, "x", [])


def test_tables_of_others_are_not_taken_for_the_journals(postgres_address: str) -> None:
    journal = open_journal(postgres_address)
    session = _made(journal, "one")
    journal.close()
    with psycopg.connect(postgres_address, autocommit=True) as other:
        other.execute("CREATE TABLE public.instances (id TEXT)")
        other.execute("CREATE TABLE public.names (machine TEXT, name TEXT, instance TEXT)")
    assert _seen(postgres_address, None, "one").session == session


def test_a_table_that_another_has_locked_is_given_up_on(postgres_address: str) -> None:
    journal = open_journal(postgres_address)
    session = _made(journal)
    journal.close()
    with psycopg.connect(postgres_address) as other:
        other.execute("LOCK TABLE interlock.instances IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(JournalUnreadable):
            peek(postgres_address, session, [])
        other.rollback()
    assert _seen(postgres_address, session).state == "idle"
