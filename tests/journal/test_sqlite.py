"""A journal in a file, and all that can be wrong with the file, its directory and its disk."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from interlock.errors import CODES
from interlock.journal import Entry, Journal, open_journal
from interlock.journal.sqlite import SqliteStore
from interlock.machine import Event

from . import full_disk
from .children import SECONDS, Child, beginning, child, reading
from .databases import dump, sql
from .histories import AGENT, HUMAN, Clock, created, reports
from .refusals import failed, failed_to_open
from .test_audit import write_history

# A disk without room


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a program saw whose disk was full."""
    directory = tmp_path_factory.mktemp("full")
    program = [sys.executable, full_disk.__file__, str(directory)]
    alone = ["unshare", "-Urm"]
    may_mount = (
        subprocess.run([*alone, "mount", "-t", "tmpfs", "tmpfs", directory], capture_output=True).returncode == 0
    )
    command = [*alone, *program] if may_mount else [*program, "--limit"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "codes": {"disk_full"} if may_mount else {"disk_full", "journal_io"}}


def test_an_append_for_which_there_is_no_room_writes_nothing_and_works_again_when_there_is(
    seen: dict[str, Any],
) -> None:
    found = seen["one by one"]
    *fitted, last = found["answers"]
    assert fitted
    assert not any(fitted)
    assert last["code"] in seen["codes"]
    assert last["hint"]
    assert found["untouched"]
    assert found["afterwards"] == {}
    assert found["written"] == 1 + len(fitted) + 1
    assert found["problems"] == 0


def test_of_appends_that_share_a_commit_for_which_there_is_no_room_none_is_acknowledged_and_lost(
    seen: dict[str, Any],
) -> None:
    found = seen["together"]
    refused = [answer for answer in found["answers"] if answer]
    assert refused
    assert {answer["code"] for answer in refused} <= seen["codes"]
    assert all(answer["hint"] for answer in refused)
    assert found["kept"]
    assert found["afterwards"] == [{}]
    assert found["problems"] == 0


def test_work_that_hides_that_there_was_no_room_is_not_acknowledged_and_nothing_of_it_stands(
    seen: dict[str, Any],
) -> None:
    found = seen["hidden"]
    assert found["failures"]
    assert found["answer"].get("hint")
    assert found["untouched"]
    assert found["afterwards"] == {}
    assert found["problems"] == 0


def test_a_journal_for_which_there_is_no_room_is_refused_and_made_when_there_is(seen: dict[str, Any]) -> None:
    assert seen["opened"]["refused"]["code"] in seen["codes"]
    assert seen["opened"]["refused"]["hint"]
    assert seen["opened"]["written"] == 1


# What may not be written

NOBODY = 65534


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that belongs to an ordinary user and lies where that user may go."""
    directory = Path(tempfile.mkdtemp(prefix="interlock-public-"))
    if os.geteuid() == 0:
        os.chown(directory, NOBODY, NOBODY)
    yield directory
    for one in (directory, *directory.iterdir()):
        one.chmod(0o700)
    shutil.rmtree(directory)


def ordinary(address: Path) -> object:
    """What an ordinary user gets who opens a journal and begins a session."""
    with child(beginning, address, NOBODY if os.geteuid() == 0 else None) as user:
        return user.receive()


def test_a_directory_that_may_not_be_written_is_named_and_works_again_when_it_may(public: Path) -> None:
    address = public / "journal.db"
    public.chmod(0o555)
    assert ordinary(address) == "journal_readonly"
    assert ordinary(public / "deeper" / "journal.db") == "journal_readonly"
    assert list(public.iterdir()) == []
    public.chmod(0o755)
    assert ordinary(address) == 1


def test_a_journal_in_a_directory_that_may_not_be_written_is_left_alone(public: Path) -> None:
    address = public / "journal.db"
    assert ordinary(address) == 1
    before = address.read_bytes()
    public.chmod(0o555)
    assert ordinary(address) == "journal_readonly"
    public.chmod(0o755)
    assert address.read_bytes() == before
    assert [file.name for file in public.iterdir()] == ["journal.db"]
    assert ordinary(address) == 2


@pytest.mark.parametrize("mode", [0o444, 0o000])
def test_a_file_that_may_not_be_written_is_left_alone(public: Path, mode: int) -> None:
    address = public / "journal.db"
    assert ordinary(address) == 1
    before = address.read_bytes()
    address.chmod(mode)
    assert ordinary(address) == "journal_readonly"
    address.chmod(0o644)
    assert address.read_bytes() == before
    assert ordinary(address) == 2


# What is no journal


def files(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


@pytest.mark.parametrize("content", [b"hello", b"\0" * 4096, b"x" * 100_000, b"SQLite format 3\0" + b"?" * 5000])
def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path: Path, content: bytes) -> None:
    address = tmp_path / "journal.db"
    address.write_bytes(content)
    failed_to_open(lambda: open_journal(address), "not_a_journal", "journal_tampered")
    assert files(tmp_path) == {"journal.db": content}


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path: Path, mode: str) -> None:
    address = tmp_path / "journal.db"
    with closing(sqlite3.connect(address)) as other:
        other.execute(f"PRAGMA journal_mode = {mode}")
        other.execute("CREATE TABLE recipes (name TEXT)")
        other.execute("INSERT INTO recipes VALUES ('soup')")
        other.commit()
    before = files(tmp_path)
    failed_to_open(lambda: open_journal(address), "not_a_journal")
    assert files(tmp_path) == before


def test_a_database_of_another_program_that_looks_like_a_journal_is_refused(tmp_path: Path) -> None:
    address = tmp_path / "journal.db"
    with closing(sqlite3.connect(address)) as other:
        other.execute("CREATE TABLE migrations (number INTEGER, name TEXT, applied TEXT)")
        other.commit()
    failed_to_open(lambda: open_journal(address), "not_a_journal")


def test_an_empty_file_becomes_a_journal(sqlite_address: Path, clock: Clock) -> None:
    sqlite_address.touch()
    journal = open_journal(sqlite_address, now=clock)
    assert journal.create("thread", created()).entry.seq == 1
    journal.close()


def test_missing_directories_are_made(tmp_path: Path, clock: Clock) -> None:
    journal = open_journal(tmp_path / "a" / "b" / "journal.db", now=clock)
    assert journal.head() == 0
    journal.close()


def test_a_directory_in_the_place_of_the_file_is_refused(sqlite_address: Path) -> None:
    sqlite_address.mkdir()
    failed_to_open(lambda: open_journal(sqlite_address), "journal_unopenable")
    assert list(sqlite_address.iterdir()) == []
    sqlite_address.rmdir()
    open_journal(sqlite_address).close()


def test_a_file_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    failed_to_open(lambda: open_journal(tmp_path / "file" / "journal.db"), "journal_unopenable", "journal_readonly")
    assert (tmp_path / "file").read_text() == "text"


# What was damaged


REFUSED = ("journal_tampered", "not_a_journal", "problems")
"""How a damaged file may be refused: with a code when it is opened or read, or by what is found in it."""


@pytest.fixture
def last(sqlite_address: Path, clock: Clock, randomness: Callable[[int], bytes]) -> Entry:
    """The last entry of a journal that was written and closed."""
    journal = open_journal(sqlite_address, now=clock, randomness=randomness)
    write_history(journal)
    *_, entry = journal.all_entries()
    journal.close()
    return entry


@pytest.fixture
def whole(sqlite_address: Path, last: Entry) -> bytes:
    """The bytes of a closed journal."""
    assert [file.name for file in sqlite_address.parent.iterdir()] == ["journal.db"]
    return sqlite_address.read_bytes()


@pytest.fixture
def reader(sqlite_address: Path) -> Iterator[Child]:
    """Another process, with little memory, that reads whatever the file is made to be."""
    with child(reading, sqlite_address) as reader:
        yield reader


def read(reader: Child, content: bytes) -> object:
    """What is read from a journal of these bytes, or the code with which it is refused."""
    reader.send(content)
    return reader.receive()


def test_a_journal_with_a_changed_byte_is_refused_or_reads_the_same(whole: bytes, reader: Child) -> None:
    """Some bytes of a file mean nothing; none may lead to another history, or to an error that is not ours."""
    expected = read(reader, whole)
    assert expected not in CODES
    chance, refused = random.Random(5), 0
    for _ in range(150):
        at = chance.randrange(len(whole))
        changed = bytes([whole[at] ^ 1 << chance.randrange(8)])
        found = read(reader, whole[:at] + changed + whole[at + 1 :])
        assert found == expected or found in REFUSED, f"byte {at} became {changed!r}: {found}"
        refused += found != expected
    assert refused > 10


def test_a_journal_that_was_cut_short_is_refused_or_reads_the_same(whole: bytes, reader: Child) -> None:
    expected = read(reader, whole)
    chance = random.Random(6)
    for length in (2, 15, 100, 512, 4095, 4096, *(chance.randrange(1, len(whole)) for _ in range(60))):
        found = read(reader, whole[:length])
        assert found == expected or found in REFUSED, f"{length} bytes are left: {found}"


def test_rows_of_a_damaged_file_that_come_in_no_order_are_refused(whole: bytes, reader: Child, last: Entry) -> None:
    """The number of a row stands before its content; whoever reads on from a lower one would never finish."""
    expected, at, tried = read(reader, whole), -1, 0
    while (at := whole.find(last.instance.encode(), at + 1)) >= 0:
        for place in range(at - 40, at):
            if whole[place] == last.seq:
                tried += 1
                found = read(reader, whole[:place] + b"\x03" + whole[place + 1 :])
                assert found == expected or found in REFUSED
    assert tried


def test_a_damaged_journal_says_so_and_what_to_do(sqlite_address: Path, whole: bytes) -> None:
    page = 4096
    for file in sqlite_address.parent.iterdir():
        file.unlink()
    sqlite_address.write_bytes(whole[:page] + b"\xaa" * (len(whole) - page))
    failed_to_open(lambda: open_journal(sqlite_address), "journal_tampered")


def test_a_journal_whose_file_was_removed_while_it_was_open_acknowledges_nothing_more(
    sqlite_journal: Journal, sqlite_address: Path
) -> None:
    """`git clean -fdx` removes it; an entry in a file that nobody can find again is lost."""
    id_ = sqlite_journal.create("thread", created()).entry.instance
    for file in sqlite_address.parent.iterdir():
        file.unlink()
    failed(lambda: sqlite_journal.append(id_, Event("assess", HUMAN)), "journal_io", "journal_unopenable")


# What is locked


@pytest.fixture
def impatient(sqlite_address: Path, clock: Clock) -> Iterator[Journal]:
    """A journal that waits no longer than a moment for others."""
    journal = Journal(SqliteStore(sqlite_address, clock, busy_milliseconds=20), now=clock)
    yield journal
    journal.close()


@pytest.fixture
def locking(sqlite_address: Path, impatient: Journal) -> Iterator[apsw.Connection]:
    """Another program that is in the middle of writing."""
    with closing(apsw.Connection(str(sqlite_address))) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def test_a_journal_that_others_lock_for_too_long_is_busy_and_can_still_be_read(
    impatient: Journal, locking: apsw.Connection, sqlite_address: Path
) -> None:
    failed(lambda: impatient.create("thread", created()), "busy")
    assert impatient.instances() == []
    locking.execute("ROLLBACK")
    assert impatient.create("thread", created()).entry.seq == 1
    assert impatient.verify() == []


def test_many_appends_to_a_locked_journal_are_all_busy_and_none_is_written_later(
    impatient: Journal, locking: apsw.Connection
) -> None:
    with ThreadPoolExecutor(20) as pool:
        futures = [pool.submit(impatient.create, "thread", created()) for _ in range(20)]
        wait(futures, timeout=SECONDS)
    codes = [getattr(future.exception(), "code", None) for future in futures]
    assert codes == ["busy"] * 20
    locking.execute("ROLLBACK")
    assert impatient.head() == 0


def test_a_locked_journal_can_be_opened_and_read(
    impatient: Journal, locking: apsw.Connection, sqlite_address: Path, clock: Clock
) -> None:
    journal = Journal(SqliteStore(sqlite_address, clock, busy_milliseconds=20), now=clock)
    assert journal.instances() == []
    assert journal.verify() == []
    failed(lambda: journal.create("thread", created()), "busy")
    journal.close()


def test_a_locked_file_that_is_no_journal_yet_is_busy_when_it_is_opened(sqlite_address: Path, clock: Clock) -> None:
    with closing(apsw.Connection(str(sqlite_address))) as other:
        other.execute("BEGIN EXCLUSIVE")
        failed_to_open(lambda: SqliteStore(sqlite_address, clock, busy_milliseconds=20), "busy")
    open_journal(sqlite_address, now=clock).close()


def test_a_new_journal_that_another_is_just_making_is_waited_for(sqlite_address: Path, clock: Clock) -> None:
    with closing(apsw.Connection(str(sqlite_address))) as other, ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN IMMEDIATE")
        other.execute("PRAGMA application_id = 0x494C434B")
        opening = pool.submit(open_journal, sqlite_address, now=clock)
        too_early, _ = wait([opening], timeout=0.3)
        other.execute("COMMIT")
        journal = opening.result(SECONDS)
        assert not too_early
        assert journal.head() == 0
        journal.close()


@pytest.mark.parametrize("moment", range(12))
def test_a_journal_that_another_makes_while_it_is_being_opened_is_opened(
    sqlite_address: Path, clock: Clock, moment: int
) -> None:
    """Another process may come between any two statements of an opening."""
    statements = 0

    def come_between(cursor: apsw.Cursor, statement: str, given: object) -> bool:
        nonlocal statements
        statements += 1
        if statements == moment + 1 and not cursor.connection.in_transaction:
            open_journal(sqlite_address, now=clock).close()
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = come_between

    apsw.connection_hooks.append(watch)
    try:
        journal = open_journal(sqlite_address, now=clock)
    finally:
        apsw.connection_hooks.remove(watch)
    assert statements > moment
    assert journal.create("thread", created()).entry.seq == 1
    journal.close()


# How it is kept


def test_every_commit_is_synced_and_the_log_is_written_ahead(sqlite_journal: Journal, sqlite_address: Path) -> None:
    sqlite_journal.create("thread", created())
    assert sql(sqlite_address, "PRAGMA journal_mode") == [("wal",)]
    assert sql(sqlite_address, "PRAGMA application_id") == [(0x494C434B,)]
    store = sqlite_journal._store
    assert isinstance(store, SqliteStore)
    assert store._write.database.execute("PRAGMA synchronous").fetchall() == [(2,)]


def test_a_journal_that_was_not_closed_is_read_by_the_next_with_all_that_was_acknowledged(
    sqlite_address: Path, clock: Clock, opened: Callable[[Path], Journal]
) -> None:
    abandoned = open_journal(sqlite_address, now=clock)
    id_ = abandoned.create("session", created(AGENT)).entry.instance
    abandoned.append(id_, reports("testing"))
    before = dump(sqlite_address)
    later = opened(sqlite_address)
    assert later.instance(id_).version == 2
    assert later.append(id_, reports("implementing")).entry.version == 3
    assert dump(sqlite_address)["entries"][:2] == before["entries"]
    abandoned.close()
