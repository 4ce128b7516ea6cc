"""The journal in one SQLite file: WAL, every commit synced before it is acknowledged."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw

from interlock.errors import JournalError
from interlock.journal.ids import time_text
from interlock.journal.schema import Created, is_newest, migrate
from interlock.journal.store import Row, Sql, Writer, closed

__all__ = ["SqliteStore", "in_memory"]

Result = TypeVar("Result")

_ERRORS: Final = (apsw.Error, UnicodeDecodeError)
_APPLICATION_ID: Final = 0x494C_434B
"""Says "ILCK" in the file's header: this database is a journal and nothing else."""
_BUSY_MILLISECONDS: Final = 10_000
_PRAGMAS: Final = (
    "synchronous = FULL",
    "fullfsync = ON",
    "trusted_schema = OFF",
    "cell_size_check = ON",  # a damaged page is found when it is read, not when it is believed
)
_LARGEST_VALUE: Final = 16 * 1024 * 1024
"""No value of ours is nearly as large; in a damaged file one may claim to be, and take all memory."""
_IN_MEMORY: Final = "memdb"
"""The file system of SQLite for a journal that is gone with its connections."""
_MOST_REMEMBERED: Final = 10_000
_RETRY_SECONDS: Final = 0.005
_POLL_SECONDS: Final = 0.05
"""How soon a reader sees what another process wrote."""


class SqliteStore:
    """A journal in a file. Opening makes the file, and migrates an older one. Without a path, one in memory."""

    url = None

    def __init__(
        self,
        path: Path | None,
        now: Callable[[], int],
        busy_milliseconds: int = _BUSY_MILLISECONDS,
        created: Created | None = None,
    ) -> None:
        self.path = path
        self._place = path or Path(f"/{id(self)}")  # both connections share what has this name in memory
        self._committed = threading.Condition()
        self._reading = threading.Lock()
        if path is not None:
            if path.exists() and not os.access(path, os.W_OK):
                raise _read_only(path)  # before SQLite makes files beside it that nobody may write either
            _make_private(path)
        with translated(self._place):
            vfs = _IN_MEMORY if path is None else None
            self._reader = _connect(self._place, busy_milliseconds, vfs)
            self._write = _WriteConnection(self._place, busy_milliseconds, self._committed, vfs)
            try:
                if not _is_prepared(self._reader, self._place):
                    _prepare(self._write, now, created)
            except BaseException:
                self._write.close()
                self._reader.close()
                raise
        self._writer = Writer(self._write)

    def write(self, work: Callable[[Sql], Result], *, decides_first: bool = False) -> Result:
        return self._writer.do(work, decides_first=decides_first)

    async def write_async(self, work: Callable[[Sql], Result], *, decides_first: bool = False) -> Result:
        return await self._writer.do_async(work, decides_first=decides_first)

    def read(self) -> AbstractContextManager[Sql]:
        return _Read(self._reader, self._reading, self._place)

    def wait(self, seconds: float) -> None:
        with self._committed:
            self._committed.wait(min(seconds, _POLL_SECONDS))

    def close(self) -> None:
        self._writer.close()
        with self._reading:
            self._reader.close()
        self._write.close()


class _Read:
    """A transaction of the reader; a class, because a look makes hundreds and a generator costs as much as they do."""

    __slots__ = ("_database", "_path", "_reading")

    def __init__(self, database: apsw.Connection, reading: threading.Lock, path: Path) -> None:
        self._database = database
        self._reading = reading
        self._path = path

    def __enter__(self) -> Sql:
        self._reading.acquire()
        try:
            self._database.execute("BEGIN")
        except BaseException as error:
            self._reading.release()
            if isinstance(error, _ERRORS):
                raise _translate(error, self._path) from error
            raise
        return _Sql(self._database, self._path)

    def __exit__(self, *_: object) -> None:
        try:
            self._database.execute("ROLLBACK")
        except _ERRORS as error:
            raise _translate(error, self._path) from error
        finally:
            self._reading.release()


@contextmanager
def in_memory() -> Iterator[Sql]:
    """An empty database that is gone afterwards."""
    path = Path(":memory:")
    database = apsw.Connection(str(path))
    try:
        yield _Sql(database, path)
    finally:
        database.close()


class _Sql:
    dialect = "sqlite"

    def __init__(self, database: apsw.Connection, path: Path) -> None:
        self._execute = database.execute
        self._path = path
        self.memory: dict[str, Any] = {}

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        try:
            return self._execute(statement, parameters).fetchall()
        except _ERRORS as error:
            raise _translate(error, self._path) from error


class _InTransaction(_Sql):
    """SQL of the writer. A full disk ends a transaction by itself, and what came after would stand alone."""

    def __init__(self, database: apsw.Connection, path: Path) -> None:
        super().__init__(database, path)
        self._database = database

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        if not self._database.in_transaction:
            message = "The transaction was undone by an earlier error, and nothing of it stands."
            raise JournalError("journal_io", message, "Let the first error through: it says what happened.")
        return super().rows(statement, parameters)


class _WriteConnection:
    """The connection that the writer begins, commits and rolls back; opened for the first write, as most only read."""

    def __init__(
        self, path: Path, busy_milliseconds: int, committed: threading.Condition, vfs: str | None = None
    ) -> None:
        self.path = path
        self._connect = partial(_connect, path, busy_milliseconds, vfs)
        self._committed = committed
        self._identity = _identity(path)
        self._seen = -1

    @cached_property
    def database(self) -> apsw.Connection:
        with translated(self.path):
            return self._connect()

    @cached_property
    def _inside(self) -> _InTransaction:
        return _InTransaction(self.database, self.path)

    def close(self) -> None:
        if "database" in self.__dict__:
            self.database.close()

    def begin(self) -> Sql:
        _Sql(self.database, self.path).rows("BEGIN IMMEDIATE")
        if _identity(self.path) != self._identity:
            message = f"{self.path} was removed or replaced while it was open."
            raise JournalError("journal_unopenable", message, "Put it back if you can, then start again.")
        if self.database.data_version() != self._seen or len(self._inside.memory) > _MOST_REMEMBERED:
            self._inside.memory.clear()
        return self._inside

    def commit(self) -> None:
        try:
            self._inside.rows("COMMIT")
        except JournalError:
            self.rollback()
            raise
        self._seen = self.database.data_version()  # another number after every commit; this one is ours
        with self._committed:
            self._committed.notify_all()

    def rollback(self) -> None:
        self._inside.memory.clear()
        # A full disk or a failed write may have rolled back already.
        if self.database.in_transaction:
            _Sql(self.database, self.path).rows("ROLLBACK")


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file a path leads to: an entry in a file that nobody can find again would be lost."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_private(path: Path) -> None:
    """Close the file to other users, before anything is in it and where an older version left it open.

    SQLite gives the files that it makes beside it the same permissions.
    """
    with suppress(OSError):  # SQLite says what is wrong with it
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    for name in (path, f"{path}-wal", f"{path}-shm"):
        with suppress(OSError):
            found = os.stat(name)
            if found.st_uid == os.geteuid() and stat.S_ISREG(found.st_mode) and found.st_mode & 0o077:
                Path(name).chmod(found.st_mode & 0o700)


def _connect(path: Path, busy_milliseconds: int, vfs: str | None = None) -> apsw.Connection:
    database = apsw.Connection(str(path), vfs=vfs)
    try:
        database.set_busy_timeout(busy_milliseconds)
        database.limit(apsw.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
        # Otherwise a statement that compares a range is planned again each time, for the values that it is given.
        database.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        _refuse_stranger(database, path)
        _use_wal(database, busy_milliseconds)
        for pragma in _PRAGMAS:
            database.execute(f"PRAGMA {pragma}")
    except BaseException:
        database.close()
        raise
    return database


def _refuse_stranger(database: apsw.Connection, path: Path) -> None:
    """Another program's database is left exactly as it is; an empty file may become a journal."""
    # In this order: a journal that another is just making has its id before it has tables.
    [(tables,)] = database.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    [(application,)] = database.execute("PRAGMA application_id").fetchall()
    if application != _APPLICATION_ID and tables:
        raise _not_a_journal(path)


def _use_wal(database: apsw.Connection, busy_milliseconds: int) -> None:
    """Switch to the write-ahead log; SQLite does not wait for others here, so we do."""
    until = time.monotonic() + busy_milliseconds / 1000
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() > until:
                raise
            time.sleep(_RETRY_SECONDS)


def _is_prepared(database: apsw.Connection, path: Path) -> bool:
    """True if the file has our newest schema; it takes no lock."""
    sql = _Sql(database, path)
    [(tables,)] = sql.rows("SELECT count(*) FROM sqlite_schema")
    [(application,)] = sql.rows("PRAGMA application_id")
    return application == _APPLICATION_ID and bool(tables) and is_newest(sql)


def _prepare(connection: _WriteConnection, now: Callable[[], int], created: Created | None) -> None:
    """Bring the file to our newest schema."""
    sql = connection.begin()
    try:
        _refuse_stranger(connection.database, connection.path)
        sql.rows(f"PRAGMA application_id = {_APPLICATION_ID}")
        # Triggers of a prepared file would write into what is made here: only an empty one is this user's own.
        [(tables,)] = sql.rows("SELECT count(*) FROM sqlite_schema")
        migrate(sql, time_text(now()), None if tables else created)
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Errors of SQLite as errors of the catalogue."""
    try:
        yield
    except _ERRORS as error:
        raise _translate(error, path) from error


def _translate(error: Exception, path: Path) -> JournalError:
    again = "Nothing was written; the command can be repeated as it is."
    match error:
        case apsw.ConnectionClosedError():
            return closed()
        case apsw.FullError():
            return JournalError("disk_full", f"There is no room left to write {path}.", f"Make room. {again}")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return _read_only(path)
        case apsw.CantOpenError():
            if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
                return _read_only(path)
            return JournalError(
                "journal_unopenable", f"{path} cannot be opened: {error}.", f"Look at the path. {again}"
            )
        case apsw.NotADBError():
            return _not_a_journal(path)
        case apsw.CorruptError() | apsw.TooBigError() | UnicodeDecodeError():
            hint = "Run `ralph journal verify`; keep a copy of the file before anything else."
            return JournalError("journal_tampered", f"{path} is damaged: {error}.", hint)
        case apsw.BusyError() | apsw.LockedError():
            return JournalError("busy", f"{path} was locked by other processes for too long.", f"Try again. {again}")
        case apsw.IOError():
            return JournalError("journal_io", f"The disk failed on {path}: {error}.", f"Look at the disk. {again}")
    return JournalError("journal_io", f"{path}: {error}.", again)


def _read_only(path: Path) -> JournalError:
    hint = "Give yourself write permission, or run it as the user who owns the directory. Nothing was written."
    return JournalError("journal_readonly", f"{path} or its directory may not be written.", hint)


def _not_a_journal(path: Path) -> JournalError:
    return JournalError(
        "not_a_journal", f"{path} is no journal of Interlock.", "Name another file; this one was not touched."
    )
