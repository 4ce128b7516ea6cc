"""The journal in PostgreSQL, where several hosts share it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict

from interlock.errors import JournalError
from interlock.journal.ids import time_text
from interlock.journal.schema import Created, migrate
from interlock.journal.store import Row, Sql, Writer, closed

__all__ = ["PostgresStore"]

Result = TypeVar("Result")

_LOCK: Final = 0x494C_434B
"""The advisory lock that every append holds until it commits, so that a reader's cursor misses none."""
_TIMES: Final[dict[str, Any]] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""A server that has vanished is noticed well before a lease expires: in seconds, the last one in milliseconds."""
_PATIENCE: Final = "SELECT set_config('lock_timeout', '10s', false) WHERE current_setting('lock_timeout') = '0'"
"""How long an append waits for others, unless the address says otherwise: as long as on SQLite."""
_AGAIN = "Nothing was written; the command can be repeated as it is."


class PostgresStore:
    """A journal in a PostgreSQL database, in the schema `interlock` of it."""

    path = None

    def __init__(self, url: str, now: Callable[[], int], created: Created | None = None) -> None:
        self.url = url
        self._write = _WriteConnection(url, _PATIENCE)
        self._read = _Session(url)
        self._listen = _Session(url, "LISTEN interlock")
        self._reading = threading.Lock()
        self._writer = Writer(self._write)
        try:
            self._writer.do(lambda sql: _prepare(sql, now, created))
        except BaseException:
            self.close()
            raise

    def write(self, work: Callable[[Sql], Result], *, decides_first: bool = False) -> Result:
        return self._writer.do(work, decides_first=decides_first)

    async def write_async(self, work: Callable[[Sql], Result], *, decides_first: bool = False) -> Result:
        return await self._writer.do_async(work, decides_first=decides_first)

    @contextmanager
    def read(self) -> Iterator[Sql]:
        with self._reading:
            self._read.rows("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield self._read
            finally:
                self._read.rollback()

    def wait(self, seconds: float) -> None:
        self._listen.wait(seconds)

    def close(self) -> None:
        self._writer.close()
        for session in (self._write, self._read, self._listen):
            session.close()


class _Session:
    """A connection that is made when it is needed and made anew after it broke."""

    dialect = "postgresql"

    def __init__(self, url: str, *greetings: str) -> None:
        self._url = url
        self._greetings = greetings
        self._connection: psycopg.Connection[Row] | None = None
        self._closed = False
        self._connecting = threading.Lock()
        self.memory: dict[str, Any] = {}

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        with self._translated():
            return _rows(self._connected(), statement, parameters)

    def wait(self, seconds: float) -> None:
        with self._translated():
            for _ in self._connected().notifies(timeout=seconds, stop_after=1):
                pass

    def close(self) -> None:
        """Close for good."""
        self._closed = True
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def rollback(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                _rows(self._connection, "ROLLBACK")
            self._drop_broken()

    def _connected(self) -> psycopg.Connection[Row]:
        with self._connecting:  # followers share a connection, and the first of them makes it
            if self._closed:
                raise closed()
            if self._connection is None or self._connection.closed:
                connection = psycopg.connect(self._url, autocommit=True, **_TIMES)
                self._connection = connection
                for greeting in ("SET search_path TO interlock", *self._greetings):
                    _rows(connection, greeting)
            return self._connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            self._drop_broken()
            raise _translate(error, self._url) from error

    def _drop_broken(self) -> None:
        if self._connection is not None and self._connection.broken:
            self._disconnect()


class _WriteConnection(_Session):
    """The connection that the writer begins, commits and rolls back."""

    _transaction: psycopg.Connection[Row] | None = None

    def begin(self) -> Sql:
        self._transaction = None
        super().rows("BEGIN")
        super().rows("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
        self._transaction = self._connection
        self.memory.clear()
        return self

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        # What was written on a connection that is gone is gone; on a new one the rest would stand alone.
        if self._transaction is None or self._transaction is not self._connection:
            message = "The connection to the database was lost in the middle of a transaction."
            raise JournalError("journal_unreachable", message, f"Check the server. {_AGAIN}")
        return super().rows(statement, parameters)

    def commit(self) -> None:
        try:
            self.rows("NOTIFY interlock")
            assert self._connection is not None  # rows has looked
            _rows(self._connection, "COMMIT")
        except psycopg.Error as error:
            self._drop_broken()
            hint = "Repeat the command with the same idempotency key: it writes nothing twice."
            message = f"The connection broke during the commit; it may or may not be written: {_said(error)}."
            raise JournalError("outcome_unknown", message, hint) from error


def _prepare(sql: Sql, now: Callable[[], int], created: Created | None) -> None:
    """Make the schema where it is missing; the writer's lock keeps others from making it at the same time."""
    if not sql.rows("SELECT 1 FROM pg_namespace WHERE nspname = 'interlock'"):
        sql.rows("SAVEPOINT making")
        try:
            sql.rows("CREATE SCHEMA interlock")
        except JournalError as error:
            if not isinstance(error.__cause__, psycopg.errors.UniqueViolation | psycopg.errors.DuplicateSchema):
                raise
            sql.rows("ROLLBACK TO SAVEPOINT making")  # another program made it just now
    migrate(sql, time_text(now()), created)


def _rows(connection: psycopg.Connection[Row], statement: str, parameters: Sequence[object] = ()) -> list[Row]:
    cursor = connection.execute(cast("Any", _placeholders(statement)), parameters or None)
    return cursor.fetchall() if cursor.description else []


@lru_cache(maxsize=256)
def _placeholders(statement: str) -> str:
    return statement.replace("?", "%s")


def _said(error: psycopg.Error) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _translate(error: psycopg.Error, url: str) -> JournalError:
    match error:
        case psycopg.errors.DiskFull():
            return JournalError(
                "disk_full", f"The database server has no room left: {_said(error)}.", f"Make room. {_AGAIN}"
            )
        case psycopg.errors.ReadOnlySqlTransaction() | psycopg.errors.InsufficientPrivilege():
            hint = f"Use a server and a role that may write. {_AGAIN}"
            return JournalError("journal_readonly", f"The database may not be written: {_said(error)}.", hint)
        case psycopg.errors.LockNotAvailable() | psycopg.errors.QueryCanceled():
            return JournalError("busy", f"The journal is locked by others: {_said(error)}.", f"Try again. {_AGAIN}")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            message = f"The database server at {_where(url)} does not answer: {_said(error)}."
            return JournalError("journal_unreachable", message, f"Check RALPH_DATABASE_URL and the server. {_AGAIN}")
    return JournalError("journal_io", f"The database refused: {_said(error)}.", _AGAIN)


def _where(url: str) -> str:
    """The server's address without the password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return "the given address"
    return f"{parts.get('host', 'localhost')}/{parts.get('dbname', '')}"
