"""What can be asked of tickets: one of them with everything on it, and a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from interlock.errors import UsageError
from interlock.journal import CONTROL, Entry, Instance, Journal, Sql
from interlock.machine import Machine
from interlock.work.formats.times import seconds_of
from interlock.work.tickets.audit import comment_of, is_move, trail_of
from interlock.work.tickets.groups import Group, group_of
from interlock.work.tickets.handoff import Guidance, guidance
from interlock.work.tickets.locks import spoken
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.record import COMMENTED, TicketDocument
from interlock.work.tickets.threads import open_thread, strays
from interlock.work.tickets.ticket_table import LINE, TICKETS, TicketRow, by_ids, by_numbers, card_of, line_of

__all__ = [
    "Built",
    "Comment",
    "Filters",
    "Related",
    "TicketSummary",
    "TicketView",
    "children",
    "comments_of",
    "hours",
    "listed",
    "summaries",
    "view",
]

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
    workflow_state: str
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


class Related(msgspec.Struct, frozen=True, rename="camel"):
    """Another ticket that one is linked with."""

    number: int
    title: str
    workflow_state: str


class Comment(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Something that was said on a ticket, or a move as its audit comment tells it."""

    author: str
    at: str
    body: str
    is_audit: bool = False


class Built(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The thread that works on a ticket."""

    id: str
    state: str
    differs: str | None = None
    """How the two differ, where one of them could not follow the other."""


class TicketView(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A ticket with everything on it."""

    number: int
    id: str
    title: str
    body: str
    workflow_state: str
    outcome: str | None
    estimate: str | None
    priority: str | None
    labels: list[str]
    assignees: list[str]
    since: str
    age_hours: float
    created_at: str
    updated_at: str
    rework: int
    guidance: Guidance
    parent: Related | None
    sub_tickets: list[Related]
    blocked_by: list[Related]
    blocking: list[Related]
    artifacts: list[TicketDocument]
    commits: list[str]
    pull_requests: list[str]
    comments: list[Comment]
    comment_count: int
    held_by: str | None = None
    url: str | None = None
    outside: str | None = None
    group: Group | None = None
    thread: Built | None = None

    @property
    def plan(self) -> str | None:
        """Where its plan lies: the last one that was attached."""
        return next((one.path for one in reversed(self.artifacts) if one.kind == "plan_document"), None)

    def blockers(self, machine: Machine) -> list[int]:
        """The tickets that come before it and have not ended."""
        return [one.number for one in self.blocked_by if not machine.states[one.workflow_state].terminal]


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
        workflow_state=line.state,
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


# One ticket


def view(journal: Journal, called: str | int, *, comments: int = 50, with_group: bool = True) -> TicketView:
    """A ticket with everything on it; of its comments the newest."""
    ticket = known_ticket(journal, called)
    machine, history, now = journal.machine_of(ticket), journal.history(ticket.id), journal.now()
    said = comments_of(history)
    with journal.projected(TICKETS) as sql:
        line, card = line_of(sql, ticket.id), card_of(sql, ticket.id)
        parts = [row[0] for row in sql.rows("SELECT id FROM tickets WHERE parent = ?", (ticket.id,))]
        blocked = [row[0] for row in sql.rows("SELECT blocked FROM ticket_blocks WHERE blocker = ?", (ticket.id,))]
        linked = by_ids(sql, [*parts, *blocked, *card.blocked_by, *([card.parent] if card.parent else [])])
    held_by = None if line.holder is None else spoken(line.holder, line.held_by)
    return TicketView(
        number=card.number,
        id=ticket.id,
        title=card.title,
        body=card.body,
        workflow_state=ticket.state,
        outcome=ticket.outcome,
        estimate=card.estimate,
        priority=card.priority,
        labels=card.labels,
        assignees=card.assignees,
        since=card.since,
        age_hours=hours(card.since, now),
        created_at=ticket.created,
        updated_at=ticket.updated,
        rework=ticket.snapshot.counters.get("rework", 0),
        guidance=msgspec.structs.replace(guidance(machine, ticket.snapshot), holder=held_by),
        parent=next(iter(_related(linked, [card.parent] if card.parent else [])), None),
        sub_tickets=_related(linked, parts),
        blocked_by=_related(linked, card.blocked_by),
        blocking=_related(linked, blocked),
        artifacts=card.artifacts,
        commits=card.commits,
        pull_requests=card.pull_requests,
        comments=said[-comments:] if comments else [],
        comment_count=len(said),
        held_by=held_by,
        url=card.tracked.url if card.tracked else None,
        outside=line.outside,
        group=group_of(journal, card.number) if with_group else None,
        thread=_built(journal, ticket),
    )


def _built(journal: Journal, ticket: Instance) -> Built | None:
    thread = open_thread(journal, ticket.id)
    if thread is None:
        return None
    return Built(thread.id, thread.state, strays(journal.machine_of(thread), thread, ticket))


def _related(known: dict[str, TicketRow], ids: Iterable[str]) -> list[Related]:
    return [
        Related(line.number, line.title, line.state) for line in by_numbers(known[one] for one in ids if one in known)
    ]


def comments_of(history: Sequence[Entry]) -> list[Comment]:
    """What was said and done, oldest first."""
    found = []
    for entry in history:
        author = f"{entry.actor_kind} {entry.actor_id}"
        if is_move(entry):
            found.append(Comment(author, entry.time, comment_of(trail_of(entry)), is_audit=True))
        elif entry.event == "noted":
            data: dict[str, Any] = entry.decoded_evidence().data
            if data.get("type") == COMMENTED:
                found.append(Comment(str(data.get("by") or author), entry.time, str(data.get("body", ""))))
    return found


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
