"""A store that counts what is read from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from interlock.journal import Sql
from interlock.journal.sqlite import SqliteStore

__all__ = ["Count", "Counted"]


class Count(msgspec.Struct):
    """What was read."""

    queries: int = 0
    rows: int = 0


class Counted:
    """A store that counts what is read."""

    def __init__(self, store: SqliteStore, count: Count) -> None:
        self._store = store
        self._count = count

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def read(self) -> Iterator[Sql]:
        with self._store.read() as sql:
            yield _Reading(sql, self._count)


class _Reading:
    def __init__(self, sql: Sql, count: Count) -> None:
        self._sql = sql
        self._count = count
        self.dialect, self.memory = sql.dialect, sql.memory

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        found = self._sql.rows(statement, parameters)
        self._count.queries += 1
        self._count.rows += len(found)
        return found
