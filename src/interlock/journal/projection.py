"""Projections: tables that are made of entries, to find by what entries say; they can be made anew at any time.

A projection is caught up by whoever asks it, not by whoever appends: an append costs the same with and without
it, and a program that does not know a projection cannot leave it wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from interlock.journal.entry import Entry, Instance, instance_columns
from interlock.journal.schema import make
from interlock.journal.store import Sql

__all__ = ["Projection", "catch_up", "is_begun", "is_current", "refold"]

_BATCH = 2000
_BEHIND = 500
"""How many entries of other machines may be looked through again, before the place is kept."""
_ENTRY = ", ".join(f"e.{name}" for name in Entry.__struct_fields__)
# A cross join, so that SQLite goes along what is new, and not through all instances of the machine.
_NEWER = "FROM entries AS e CROSS JOIN instances AS i WHERE i.id = e.instance AND e.seq > ? AND i.machine = ?"
_KEPT = "SELECT seq FROM projections WHERE name = ? AND version = ?"
_HEAD = "SELECT coalesce(max(seq), 0) FROM entries"


class Projection(Protocol):
    """What the entries of one machine add up to, or those of all, as tables."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int:
        """Tables of another version are made anew."""

    @property
    def machine(self) -> str | None:
        """Whose entries it is made of; None is those of all."""

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """Each table with the statements that make it, in the words of `schema`."""

    def fold(self, sql: Sql, instance: Instance, entries: Sequence[Entry]) -> None:
        """Take in the next entries of an instance that now stands as given. Instances come in any order."""


def is_begun(sql: Sql, projection: Projection) -> bool:
    """Whether somebody asked for it before, so that there are tables."""
    return bool(sql.rows(_KEPT, (projection.name, projection.version)))


def is_current(sql: Sql, projection: Projection) -> bool:
    """Whether the tables hold everything there is."""
    kept = sql.rows(_KEPT, (projection.name, projection.version))
    if not kept:
        return False
    [(head,)] = sql.rows(_HEAD)
    if head - kept[0][0] > _BEHIND:
        return False
    if projection.machine is None:
        return bool(head == kept[0][0])
    return not sql.rows(f"SELECT 1 {_NEWER} LIMIT 1", (kept[0][0], projection.machine))


def catch_up(sql: Sql, projection: Projection, most: int | None = None) -> bool:
    """Take in what is new, or so many entries of it at the most; whether that was all. Part of a transaction."""
    kept = sql.rows(_KEPT, (projection.name, projection.version))
    seq = kept[0][0] if kept else _begin(sql, projection)
    taken = 0
    while most is None or taken < most:
        batch = _batch(sql, projection, seq)
        for instance, entries in _by_instance(sql, batch):
            projection.fold(sql, instance, entries)
        taken += len(batch)
        is_all = len(batch) < _BATCH
        [(seq,)] = sql.rows(_HEAD) if is_all else [(batch[-1].seq,)]
        if is_all:
            break
    sql.rows("UPDATE projections SET seq = ? WHERE name = ?", (seq, projection.name))
    return is_all


def _begin(sql: Sql, projection: Projection) -> int:
    for table, statements in projection.tables.items():
        sql.rows(f"DROP TABLE IF EXISTS {table}")
        make(sql, statements)
    sql.rows("DELETE FROM projections WHERE name = ?", (projection.name,))
    sql.rows("INSERT INTO projections (name, version, seq) VALUES (?, ?, 0)", (projection.name, projection.version))
    return 0


def _by_instance(sql: Sql, entries: Sequence[Entry]) -> Iterator[tuple[Instance, list[Entry]]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.instance, []).append(entry)
    for instance, its in found.items():
        [row] = sql.rows(f"SELECT {instance_columns} FROM instances WHERE id = ?", (instance,))
        yield Instance(*row), its


def refold(sql: Sql, projection: Projection, into: Sql) -> None:
    """Make the tables anew in another, empty database."""
    for statements in projection.tables.values():
        make(into, statements)
    seq = 0
    while batch := _batch(sql, projection, seq):
        for instance, entries in _by_instance(sql, batch):
            projection.fold(into, instance, entries)
        seq = batch[-1].seq


def _batch(sql: Sql, projection: Projection, after: int) -> list[Entry]:
    clauses = _NEWER if projection.machine is not None else "FROM entries AS e WHERE e.seq > ?"
    values = (after, projection.machine) if projection.machine is not None else (after,)
    statement = f"SELECT {_ENTRY} {clauses}"
    return [Entry(*row) for row in sql.rows(f"{statement} ORDER BY e.seq LIMIT {_BATCH}", values)]
