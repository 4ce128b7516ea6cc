"""Tickets that belong together, and the order in which they are done: what blocks comes first."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from interlock.errors import Refusal
from interlock.journal.reading import asked_rows
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.ticket_table import TICKETS, TicketRow, asked, by_ids, line_of

if TYPE_CHECKING:
    from interlock.journal import Journal, Sql

__all__ = ["Group", "Member", "group_lines", "group_of", "ordered"]

MOST = 1000
"""How many tickets a group has at the most; what is linked with more than that is no group."""


class Member(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A ticket of a group."""

    number: int
    title: str
    state: str = msgspec.field(name="workflowState")
    order: int
    blocked_by: list[int] = []


class Group(msgspec.Struct, frozen=True, rename="camel"):
    """Tickets that belong together, in the order in which they are done."""

    primary: int
    is_group: bool
    tickets: list[Member]


def group_of(journal: Journal, called: str | int, most: int = MOST) -> Group:
    """The group of a ticket, or so many of it at the most."""
    lines, blocks = _group(journal, called, most)
    numbers = {line.id: line.number for line in lines}
    members = [
        Member(
            line.number,
            line.title,
            line.state,
            place,
            sorted(numbers[one] for one in blocks.get(line.id, ()) if one in numbers),
        )
        for place, line in enumerate(lines, 1)
    ]
    return Group(members[0].number, len(members) > 1, members)


def group_lines(journal: Journal, called: str | int) -> list[TicketRow]:
    """The tickets of a ticket's group, in their order."""
    return _group(journal, called, MOST)[0]


def _group(journal: Journal, called: str | int, most: int) -> tuple[list[TicketRow], dict[str, list[str]]]:
    ticket = known_ticket(journal, called)
    with journal.projected(TICKETS) as sql:
        members = _members(sql, line_of(sql, ticket.id), most)
        blocks: dict[str, list[str]] = {}
        pairs = "SELECT blocked, blocker FROM ticket_blocks WHERE blocked IN ({})"
        for blocked, blocker in asked_rows(sql, pairs, list(members)):
            blocks.setdefault(blocked, []).append(blocker)
    return ordered(list(members.values()), blocks), blocks


_BLOCKERS = "SELECT blocker FROM ticket_blocks WHERE blocked IN ({})"
_BLOCKED = "SELECT blocked FROM ticket_blocks WHERE blocker IN ({})"
_PARTS = "SELECT id FROM tickets WHERE parent = ?"


def _members(sql: Sql, seed: TicketRow, most: int) -> dict[str, TicketRow]:
    """The parts of a ticket that has some, or else its siblings and itself; and all that they are linked with.

    Tickets that only hold others together are no members, unless there is nobody else.
    """
    parts = [row[0] for row in sql.rows(_PARTS, (seed.id,))]
    if parts:
        start = parts
    elif seed.parent is not None:
        start = [row[0] for row in sql.rows(_PARTS, (seed.parent,))]
    else:
        start = [seed.id]
    found = dict.fromkeys(start)
    edge = list(found)
    while edge and len(found) < most:
        edge = [one for statement in (_BLOCKERS, _BLOCKED) for one in asked(sql, statement, edge) if one not in found]
        found.update(dict.fromkeys(edge[: most - len(found)]))
    lines = by_ids(sql, found)
    holding = set(asked(sql, "SELECT parent FROM tickets WHERE parent IN ({})", list(lines)))
    kept = {one: line for one, line in lines.items() if one not in holding}
    return kept or lines


def ordered(lines: Sequence[TicketRow], blocks: Mapping[str, Sequence[str]]) -> list[TicketRow]:
    """Tickets with what blocks them before them, and by number where either could be first; a cycle is refused."""
    by_id = {line.id: line for line in lines}
    waits = {one: {other for other in blocks.get(one, ()) if other in by_id} for one in by_id}
    ready = [(line.number, line.id) for line in lines if not waits[line.id]]
    heapq.heapify(ready)
    done: list[TicketRow] = []
    while ready:
        _, current = heapq.heappop(ready)
        done.append(by_id[current])
        for other, left in waits.items():
            if current in left:
                left.remove(current)
                if not left:
                    heapq.heappush(ready, (by_id[other].number, other))
    if len(done) < len(by_id):
        placed = {line.id for line in done}
        named = ", ".join(
            f"#{line.number}" for line in sorted(lines, key=lambda one: one.number) if line.id not in placed
        )
        message = f"Cycle detected in dependencies! These tickets wait for each other: {named}."
        raise Refusal("dependency_cycle", message, "Remove one of the links between them with `ralph ticket deps`.")
    return done
