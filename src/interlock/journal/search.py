"""Looking through the entries: the newest that match, page by page, however many there are.

What an index finds is found by it. The rest is looked for in a window of so many entries; where it ends is told, so
that whoever asks can go on from there. So a question costs the same in a long journal as in a short one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from interlock.journal.entry import Entry
from interlock.journal.store import Sql

__all__ = ["WINDOW", "SearchPage", "Sought", "find_entries", "find_entry"]

WINDOW: Final = 20_000
"""So many entries are looked through at once."""
_ENTRY: Final = ", ".join(f"e.{name}" for name in Entry.__struct_fields__)
# A cross join, so that SQLite goes along the entries and ends with the page, and never sorts all of a machine's.
_FROM: Final = "FROM entries AS e CROSS JOIN instances AS i"
_JOINED: Final = "i.id = e.instance"
_TEXTS: Final = ("e.reason", "e.actor_id", "e.event", "e.command", "e.from_state", "e.to_state")


class Sought(msgspec.Struct, frozen=True):
    """What entries must have; empty where anything will do."""

    machine: str = ""
    instance: str = ""
    """The whole id."""
    event: str = ""
    actor: str = ""
    """A kind of actor, or a part of an actor's id, or a channel."""
    text: str = ""
    """A part of the reason, of the evidence as it is written, or of another word of the entry."""

    @property
    def is_anything(self) -> bool:
        return not any((self.machine, self.instance, self.event, self.actor, self.text))


class SearchPage(msgspec.Struct, frozen=True):
    """A page of entries, each with its machine, newest first."""

    entries: tuple[tuple[str, Entry], ...]
    older: int | None
    """Where to go on to older ones: those before this number. None where there are no more."""
    newer: int | None
    """Where to go on to newer ones: those after this number. None where it was looked up to the newest."""


def find_entries(
    sql: Sql, sought: Sought, *, before: int | None = None, after: int | None = None, most: int = 50
) -> SearchPage:
    """The newest entries that match before a number, or the oldest after one; without either, the newest of all."""
    [(head,)] = sql.rows("SELECT coalesce(max(seq), 0) FROM entries")
    if after is not None and before is None:
        return _onwards(sql, sought, min(after, head), int(head), most)
    return _backwards(sql, sought, int(head) + 1 if before is None else min(before, int(head) + 1), int(head), most)


def _backwards(sql: Sql, sought: Sought, before: int, head: int, most: int) -> SearchPage:
    lowest = 1 if _is_indexed(sought) else max(1, before - WINDOW)
    found = _matching(sql, sought, lowest, before - 1, "DESC", most + 1)
    reached = found[most - 1][1].seq if len(found) > most else lowest
    newest = before - 1
    return SearchPage(tuple(found[:most]), reached if reached > 1 else None, newest if newest < head else None)


def _onwards(sql: Sql, sought: Sought, after: int, head: int, most: int) -> SearchPage:
    highest = head if _is_indexed(sought) else min(head, after + WINDOW)
    found = _matching(sql, sought, after + 1, highest, "ASC", most + 1)
    reached = found[most - 1][1].seq if len(found) > most else highest
    return SearchPage(tuple(found[:most][::-1]), after + 1 if after > 0 else None, reached if reached < head else None)


def _is_indexed(sought: Sought) -> bool:
    return bool(sought.instance) or sought.is_anything


def _matching(sql: Sql, sought: Sought, low: int, high: int, order: str, most: int) -> list[tuple[str, Entry]]:
    wanted = list(_conditions(sought))
    clauses = " AND ".join([_JOINED, "e.seq >= ?", "e.seq <= ?", *(clause for clause, _ in wanted)])
    values = [low, high, *(value for _, several in wanted for value in several)]
    # Of one instance, versions are in the order of the numbers, and there is an index of them.
    by = "e.version" if sought.instance else "e.seq"
    rows = sql.rows(
        f"SELECT i.machine, {_ENTRY} {_FROM} WHERE {clauses} ORDER BY {by} {order} LIMIT {int(most)}", values
    )
    return [(row[0], Entry(*row[1:])) for row in rows]


def _conditions(sought: Sought) -> Iterator[tuple[str, list[str]]]:
    plain = {"i.machine = ?": sought.machine, "e.instance = ?": sought.instance, "e.event = ?": sought.event}
    yield from ((clause, [value]) for clause, value in plain.items() if value)
    if sought.actor:
        yield (
            f"(e.actor_kind = ? OR e.channel = ? OR {_like('e.actor_id')})",
            [
                sought.actor,
                sought.actor,
                _pattern(sought.actor),
            ],
        )
    if sought.text:
        written = msgspec.json.encode(sought.text).decode()[1:-1]  # quotes and line ends are escaped in evidence
        alike = " OR ".join(_like(column) for column in (*_TEXTS, "e.evidence"))
        yield f"({alike})", [_pattern(sought.text)] * len(_TEXTS) + [_pattern(written)]


def _like(column: str) -> str:
    return f"lower({column}) LIKE ? ESCAPE '!'"


def _pattern(text: str) -> str:
    """A part of a text, whatever it holds."""
    for special in "!%_":
        text = text.replace(special, f"!{special}")
    # Only what both databases make small alike: SQLite knows no other letters.
    return f"%{''.join(one.lower() if one.isascii() else one for one in text)}%"


def find_entry(sql: Sql, seq: int) -> tuple[str, Entry] | None:
    """An entry by its number, with its machine."""
    rows = sql.rows(f"SELECT i.machine, {_ENTRY} {_FROM} WHERE {_JOINED} AND e.seq = ?", (seq,))
    return (rows[0][0], Entry(*rows[0][1:])) if rows else None
