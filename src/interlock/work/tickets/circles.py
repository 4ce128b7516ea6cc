"""Circles of waiting: a ticket waits for its blockers and for its parts, so one that waits for itself never begins."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from interlock.work.tickets.ticket_table import TicketRow, by_ids

if TYPE_CHECKING:
    from interlock.journal import Sql

__all__ = ["Circle", "circles", "way_out", "way_to", "worded"]

_MOST = 10
_WAITS_FOR = "SELECT blocker FROM ticket_blocks WHERE blocked = ? UNION SELECT id FROM tickets WHERE parent = ?"
_LINKS = (
    "SELECT b.blocked, b.blocker FROM tickets AS w CROSS JOIN ticket_blocks AS b "
    "WHERE w.blockers > 0 AND w.outcome IS NULL AND b.blocker = w.id "
    "UNION SELECT b.blocked, b.blocker FROM tickets AS w CROSS JOIN ticket_blocks AS b "
    "WHERE w.parent IS NOT NULL AND b.blocker = w.parent"
)
"""The links to tickets that wait themselves: every circle has one. Indexes hold all of it."""
_WHOLES = "SELECT parent, id FROM tickets WHERE parent IS NOT NULL"
_BLOCKED = (
    "SELECT b.blocked, b.blocker FROM ticket_blocks AS b JOIN tickets AS t ON t.id = b.blocked "
    "JOIN tickets AS o ON o.id = b.blocker WHERE t.outcome IS NULL AND o.outcome IS NULL"
)
_PARTS = (
    "SELECT p.id, t.id FROM tickets AS t JOIN tickets AS p ON p.id = t.parent "
    "WHERE t.parent IS NOT NULL AND t.outcome IS NULL AND p.outcome IS NULL"
)


class Circle(msgspec.Struct, frozen=True):
    """Open tickets that wait for each other: none of them is ever offered."""

    tickets: list[TicketRow]
    """Each waits for the next one, and the last for the first."""
    message: str
    way_out: str
    """The command that takes out one of the links."""


def way_to(sql: Sql, start: str, goal: str) -> list[str] | None:
    """The shortest way along which one ticket waits for another, from blocker to blocker and from whole to part."""
    came_from: dict[str, str | None] = {start: None}
    queue = [start]
    for current in queue:
        if current == goal:
            way: list[str] = []
            at: str | None = current
            while at is not None:
                way.append(at)
                at = came_from[at]
            return way[::-1]
        for (further,) in sql.rows(_WAITS_FOR, (current, current)):
            if further not in came_from:
                came_from[further] = current
                queue.append(further)
    return None


def worded(sql: Sql, way: Sequence[str]) -> str:
    """A way of waiting in words: `#2 waits for #1 waits for its part #2`."""
    known = by_ids(sql, way)
    words = [f"#{known[way[0]].number}"]
    for one, other in itertools.pairwise(way):
        how = "waits for its part" if known[other].parent == one else "waits for"
        words.append(f"{how} #{known[other].number}")
    return " ".join(words)


def way_out(sql: Sql, way: Sequence[str]) -> str:
    """The command that takes out the first blocking link of a way."""
    known = by_ids(sql, way)
    for one, other in itertools.pairwise(way):
        if known[other].parent != one:
            return f"ralph ticket deps {known[one].number} --blocked-by {known[other].number} --remove"
    return f"ralph ticket deps {known[way[1]].number} --parent {known[way[0]].number} --remove"


def circles(sql: Sql) -> list[Circle]:
    """The circles among open tickets. None can be made any more; earlier versions accepted some."""
    if not _may_be_any(sql):
        return []
    waits = _without_ends(_waits([*sql.rows(_BLOCKED), *sql.rows(_PARTS)]))
    found: list[Circle] = []
    while len(found) < _MOST and (way := _circle(waits)) is not None:
        known = by_ids(sql, way)
        message = f"{worded(sql, way)}, so none of them is offered"
        found.append(Circle([known[one] for one in way[:-1]], message, way_out(sql, way)))
        for one in way:
            waits.pop(one, None)
    return found


def _may_be_any(sql: Sql) -> bool:
    """False if the links alone rule it out, without a look at the tickets."""
    links = sql.rows(_LINKS)
    return bool(links) and bool(_without_ends(_waits([*links, *sql.rows(_WHOLES)])))


def _waits(links: Iterable[Sequence[str]]) -> dict[str, set[str]]:
    waits: dict[str, set[str]] = {}
    for one, other in links:
        waits.setdefault(one, set()).add(other)
    return waits


def _without_ends(waits: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out every ticket that in the end waits for nothing: what is left are circles, and what waits for them."""
    left = {one: sum(other in waits for other in others) for one, others in waits.items()}
    waiting: dict[str, list[str]] = {}
    for one, others in waits.items():
        for other in others & waits.keys():
            waiting.setdefault(other, []).append(one)
    free = [one for one, count in left.items() if not count]
    for one in free:
        for above in waiting.get(one, ()):
            left[above] -= 1
            if not left[above]:
                free.append(above)
    gone = set(free)
    return {one: others for one, others in waits.items() if one not in gone}


def _circle(waits: dict[str, set[str]]) -> list[str] | None:
    if not waits:
        return None
    from graphlib import CycleError, TopologicalSorter

    try:
        TopologicalSorter({one: sorted(others) for one, others in sorted(waits.items())}).prepare()
    except CycleError as error:
        way: list[str] = error.args[1]
        return way[::-1]
    return None
