"""Tickets as tables, to be found by what they are and where they stand: a projection of the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from interlock.decoding import decoder
from interlock.journal.reading import asked_rows
from interlock.machine import load_shipped
from interlock.work.tickets.numbers import MACHINE
from interlock.work.tickets.record import TicketRecord, folded

if TYPE_CHECKING:
    from interlock.journal import Entry, Instance, Sql
    from interlock.journal.look import Look

__all__ = [
    "LINE",
    "TICKETS",
    "TicketRow",
    "asked",
    "by_ids",
    "by_numbers",
    "card_of",
    "find_line",
    "know_lines",
    "line_of",
]

_UNRANKED = 9
_TICKETS = (
    """CREATE TABLE tickets (
  id TEXT {bytewise} NOT NULL PRIMARY KEY,
  number {integer} NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL,
  outcome TEXT,
  estimate TEXT,
  priority TEXT,
  size {integer} NOT NULL,
  rank {integer} NOT NULL,
  labels TEXT NOT NULL,
  assignees TEXT NOT NULL,
  parent TEXT,
  holder TEXT,
  held_by TEXT,
  blockers {integer} NOT NULL,
  parts {integer} NOT NULL,
  since TEXT NOT NULL,
  created TEXT NOT NULL,
  updated TEXT NOT NULL,
  outside TEXT,
  to_show {integer} NOT NULL,
  words TEXT NOT NULL,
  card TEXT NOT NULL
) {rowless}""",
    "CREATE UNIQUE INDEX tickets_by_number ON tickets (number)",
    "CREATE INDEX tickets_ready ON tickets (state, rank, number) "
    "WHERE outcome IS NULL AND holder IS NULL AND blockers = 0 AND parts = 0",
    "CREATE INDEX tickets_by_state ON tickets (state, rank, number, since, size, outcome, parts)",
    "CREATE INDEX tickets_ended ON tickets (since, outcome) WHERE outcome IS NOT NULL",
    "CREATE INDEX tickets_assigned ON tickets (assignees) WHERE outcome IS NULL AND assignees <> '[]'",
    "CREATE INDEX tickets_by_parent ON tickets (parent) WHERE parent IS NOT NULL",
    "CREATE INDEX tickets_held ON tickets (holder) WHERE holder IS NOT NULL",
    "CREATE INDEX tickets_to_show ON tickets (number) WHERE to_show > 0",
    "CREATE INDEX tickets_blocked ON tickets (number, blockers, outcome) WHERE blockers > 0 AND outcome IS NULL",
    "CREATE INDEX tickets_outside ON tickets (number) WHERE outside IS NOT NULL",
)
_BLOCKS = (
    """CREATE TABLE ticket_blocks (
  blocked TEXT {bytewise} NOT NULL,
  blocker TEXT {bytewise} NOT NULL,
  PRIMARY KEY (blocked, blocker)
) {rowless}""",
    "CREATE INDEX ticket_blocks_by_blocker ON ticket_blocks (blocker)",
)


class TicketRow(msgspec.Struct, frozen=True):
    """A ticket as a list shows it."""

    id: str
    number: int
    title: str
    state: str
    outcome: str | None
    estimate: str | None
    priority: str | None
    size: int
    rank: int
    labels: str
    assignees: str
    parent: str | None
    holder: str | None
    held_by: str | None
    blockers: int
    """How many open tickets it waits for."""
    parts: int
    """How many open sub-tickets it has."""
    since: str
    created: str
    updated: str
    outside: str | None
    """What the tracker's board says, where a person has to settle it."""


LINE = ", ".join(f"t.{name}" for name in TicketRow.__struct_fields__)
_COLUMNS = (*TicketRow.__struct_fields__, "to_show", "words", "card")
_PUT = (
    f"INSERT INTO tickets ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) ON CONFLICT (id) "
    f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"
)
_BLOCKERS = (
    "SELECT count(*) FROM ticket_blocks AS b JOIN tickets AS o ON o.id = b.blocker "
    "WHERE b.blocked = ? AND o.outcome IS NULL"
)
_PARTS = "SELECT count(*) FROM tickets AS o WHERE o.parent = ? AND o.outcome IS NULL"
_encoder = msgspec.json.Encoder()
_cards = decoder(TicketRecord)


class _Tickets:
    """The projection of every ticket. What one waits for is counted, so that the next one is found by an index."""

    name = "tickets"
    version = 1
    machine = MACHINE
    tables: Mapping[str, tuple[str, ...]] = {"tickets": _TICKETS, "ticket_blocks": _BLOCKS}

    def fold(self, sql: Sql, instance: Instance, entries: Sequence[Entry]) -> None:
        found = sql.rows("SELECT card, outcome FROM tickets WHERE id = ?", (instance.id,))
        before = _cards.decode(found[0][0]) if found else TicketRecord()
        card = before
        for entry in entries:
            card = folded(card, entry)
        if not card.number:
            return  # it was begun by no verb of ours, and nobody could name it
        _relate(sql, instance.id, before, card)
        blockers = _counted(sql, _BLOCKERS, instance.id) if card.blocked_by else 0
        sql.rows(_PUT, _row(instance, card, blockers, _counted(sql, _PARTS, instance.id)))
        begun_or_ended = not found or found[0][1] != instance.outcome
        if begun_or_ended:
            for (waiting,) in sql.rows("SELECT blocked FROM ticket_blocks WHERE blocker = ?", (instance.id,)):
                number = _counted(sql, _BLOCKERS, waiting)
                sql.rows("UPDATE tickets SET blockers = ? WHERE id = ?", (number, waiting))
        if begun_or_ended or card.parent != before.parent:
            for above in {card.parent, before.parent} - {None}:
                sql.rows("UPDATE tickets SET parts = ? WHERE id = ?", (_counted(sql, _PARTS, above), above))


TICKETS = _Tickets()


def _relate(sql: Sql, ticket: str, before: TicketRecord, card: TicketRecord) -> None:
    for gone in set(before.blocked_by) - set(card.blocked_by):
        sql.rows("DELETE FROM ticket_blocks WHERE blocked = ? AND blocker = ?", (ticket, gone))
    for new in set(card.blocked_by) - set(before.blocked_by):
        sql.rows("INSERT INTO ticket_blocks (blocked, blocker) VALUES (?, ?)", (ticket, new))


def _counted(sql: Sql, statement: str, ticket: str | None) -> int:
    return int(sql.rows(statement, (ticket,))[0][0])


def _row(instance: Instance, card: TicketRecord, blockers: int, parts: int) -> tuple[object, ...]:
    form = load_shipped(MACHINE).form
    size = form.estimates[card.estimate].rank if card.estimate in form.estimates else 0
    rank = form.priorities[card.priority].rank if card.priority in form.priorities else _UNRANKED
    holder, tracked = instance.snapshot.holder, card.tracked
    return (
        instance.id,
        card.number,
        card.title,
        instance.state,
        instance.outcome,
        card.estimate,
        card.priority,
        size,
        rank,
        _encoder.encode(card.labels).decode(),
        _encoder.encode(card.assignees).decode(),
        card.parent,
        holder,
        card.held_by if holder else None,
        blockers,
        parts,
        card.since,
        instance.created,
        instance.updated,
        tracked.outside if tracked else None,
        card.shown if tracked is None or tracked.stale or card.shown > tracked.upto else 0,
        f"{card.title}\n{card.body}".casefold(),
        _encoder.encode(card).decode(),
    )


# Reading


def line_of(sql: Sql, ticket: str) -> TicketRow:
    """One ticket by its instance."""
    [line] = by_ids(sql, [ticket]).values()
    return line


def find_line(sql: Sql, ticket: str) -> TicketRow | None:
    """One ticket by its instance; None if it has no number."""
    return by_ids(sql, [ticket]).get(ticket)


def know_lines(look: Look, tickets: Sequence[str]) -> None:
    """Read several tickets, so that the look knows the `find_line` of each."""
    lines = by_ids(look.sql, tickets)
    look.know(find_line, {(one,): lines.get(one) for one in tickets})


def card_of(sql: Sql, ticket: str) -> TicketRecord:
    """What is written on a ticket."""
    [(card,)] = sql.rows("SELECT card FROM tickets WHERE id = ?", (ticket,))
    return _cards.decode(card)


def by_ids(sql: Sql, ids: Iterable[str]) -> dict[str, TicketRow]:
    """Tickets by their instances."""
    rows = asked_rows(sql, f"SELECT {LINE} FROM tickets AS t WHERE t.id IN ({{}})", sorted(set(ids)))
    return {row[0]: TicketRow(*row) for row in rows}


def asked(sql: Sql, statement: str, ids: Sequence[str]) -> list[str]:
    """The first column of what is found for these, each once; `{}` in the statement stands for them."""
    return list(dict.fromkeys(row[0] for row in asked_rows(sql, statement, ids)))


def by_numbers(lines: Iterable[TicketRow]) -> list[TicketRow]:
    """Tickets in the order of their numbers."""
    return sorted(lines, key=lambda line: line.number)
