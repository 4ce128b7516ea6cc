"""Lists of tickets: those that fit a filter, and the parts of one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from interlock.errors import UsageError
from interlock.journal import CONTROL, Journal, Sql
from interlock.work.formats.times import seconds_of
from interlock.work.tickets.locks import spoken
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.ticket_table import LINE, TICKETS, TicketRow, by_ids

__all__ = ["Filters", "TicketSummary", "children", "hours", "listed", "summaries"]

_MOST = 200
_MAX_TEXT = 1000
_ORDERS = {
    "number": "t.number",
    "created": "t.created DESC, t.number DESC",
    "updated": "t.updated DESC, t.number DESC",
    "priority": "t.rank, t.number",
    "age": "t.since, t.number",
}


_EACH = {
    "sqlite": "json_each(t.{}) AS one",
    "postgresql": "json_array_elements_text(t.{}::json) AS one(value)",
}
"""The elements of a list that is kept as JSON."""


class TicketSummary(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A ticket as a list shows it."""

    number: int
    title: str
    state: str = msgspec.field(name="workflowState")
    estimate: str | None
    priority: str | None
    is_locked: bool
    since: str
    age_hours: float
    labels: list[str] = []
    assignees: list[str] = []
    held_by: str | None = None
    open_blockers: int = 0
    open_sub_tickets: int = 0
    parent: int | None = None
    outside: str | None = None


class Filters(msgspec.Struct, frozen=True):
    """Which tickets a list shows; nothing said, nothing left out but what has ended."""

    state: str | None = None
    estimate: str | None = None
    priority: str | None = None
    label: str | None = None
    assignee: str | None = None
    text: str | None = None
    parent: str | int | None = None
    ended: bool | None = False
    """Those that have ended, those that have not, or both where it is None."""
    order_by: str = "number"
    most: int = 50


def summary(line: TicketRow, now: float, parents: dict[str, TicketRow] | None = None) -> TicketSummary:
    above = (parents or {}).get(line.parent or "")
    return TicketSummary(
        number=line.number,
        title=line.title,
        state=line.state,
        estimate=line.estimate,
        priority=line.priority,
        is_locked=line.holder is not None,
        since=line.since,
        age_hours=hours(line.since, now),
        labels=msgspec.json.decode(line.labels),
        assignees=msgspec.json.decode(line.assignees),
        held_by=None if line.holder is None else spoken(line.holder, line.held_by),
        open_blockers=line.blockers,
        open_sub_tickets=line.parts,
        parent=above.number if above else None,
        outside=line.outside,
    )


def hours(since: str, now: float) -> float:
    """For how many hours something is so."""
    return round(max(0.0, now - seconds_of(since)) / 3600, 2)


# Several


def listed(journal: Journal, filters: Filters) -> list[TicketSummary]:
    """The tickets that a filter lets through."""
    _check(filters)
    parent = None if filters.parent is None else known_ticket(journal, filters.parent).id
    if filters.order_by not in _ORDERS:
        hint = f"One of: {', '.join(_ORDERS)}."
        raise UsageError("invalid_argument", f"{filters.order_by[:80]!r} is no order of tickets.", hint)
    most = max(1, min(filters.most, _MOST))
    with journal.projected(TICKETS) as sql:
        clauses, values = _where(sql, filters, parent)
        where = f"WHERE {' AND '.join(clauses)} " if clauses else ""
        statement = f"SELECT {LINE} FROM tickets AS t {where}ORDER BY {_ORDERS[filters.order_by]} LIMIT {most}"
        return summaries(sql, [TicketRow(*row) for row in sql.rows(statement, values)], journal.now())


def summaries(sql: Sql, lines: Sequence[TicketRow], now: float) -> list[TicketSummary]:
    """Tickets as a list shows them."""
    parents = by_ids(sql, [line.parent for line in lines if line.parent is not None])
    return [summary(line, now, parents) for line in lines]


def _check(filters: Filters) -> None:
    named = (filters.state, filters.estimate, filters.priority, filters.label, filters.assignee, filters.text)
    for text in named:
        if text is not None and (len(text) > _MAX_TEXT or CONTROL.search(text)):
            message = f"What is looked for is a text of {_MAX_TEXT} characters at the most, without control characters."
            raise UsageError("invalid_argument", message, "Look for a part of it.")


def _where(sql: Sql, filters: Filters, parent: str | None) -> tuple[list[str], list[object]]:
    clauses: list[str] = []
    values: list[object] = []
    for column, value in (("state", filters.state), ("estimate", filters.estimate), ("priority", filters.priority)):
        if value is not None:
            clauses.append(f"t.{column} = ?")
            values.append(value if column == "state" else value.upper())
    for column, value in (("labels", filters.label), ("assignees", filters.assignee)):
        if value is not None:
            clauses.append(f"EXISTS (SELECT 1 FROM {_EACH[sql.dialect].format(column)} WHERE one.value = ?)")
            values.append(value)
    if filters.text:
        clauses.append("t.words LIKE ? ESCAPE '!'")
        values.append(f"%{_escaped(filters.text.casefold())}%")
    if parent is not None:
        clauses.append("t.parent = ?")
        values.append(parent)
    if filters.ended is not None:
        clauses.append("t.outcome IS NOT NULL" if filters.ended else "t.outcome IS NULL")
    return clauses, values


def _escaped(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def children(journal: Journal, called: str | int) -> list[TicketRow]:
    """The parts of a ticket, by number."""
    ticket = known_ticket(journal, called)
    with journal.projected(TICKETS) as sql:
        rows = sql.rows(f"SELECT {LINE} FROM tickets AS t WHERE t.parent = ? ORDER BY t.number", (ticket.id,))
    return [TicketRow(*row) for row in rows]
