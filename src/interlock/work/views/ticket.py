"""A ticket with everything on it: its fields, links, documents and comments, its group, and its thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from interlock.journal import Entry, Instance, Journal
from interlock.machine import Machine
from interlock.work.tickets.audit import comment_of, is_move, trail_of
from interlock.work.tickets.groups import Group, group_of
from interlock.work.tickets.handoff import Guidance, guidance
from interlock.work.tickets.locks import spoken
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.queries import hours
from interlock.work.tickets.record import COMMENTED, TicketDocument
from interlock.work.tickets.threads import open_thread, strays
from interlock.work.tickets.ticket_table import TICKETS, TicketRow, by_ids, by_numbers, card_of, line_of
from interlock.work.views.values import InstanceView

__all__ = ["Built", "Comment", "Related", "TicketView", "comments_of", "ticket_view"]


class Related(msgspec.Struct, frozen=True, rename="camel"):
    """Another ticket that one is linked with."""

    number: int
    title: str
    state: str = msgspec.field(name="workflowState")


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


class TicketView(InstanceView, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A ticket with everything on it."""

    number: int
    state: str = msgspec.field(name="workflowState")
    body: str
    estimate: str | None
    priority: str | None
    labels: list[str]
    assignees: list[str]
    since: str
    age_hours: float
    created_at: str
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
        return [one.number for one in self.blocked_by if not machine.states[one.state].terminal]


def ticket_view(journal: Journal, called: str | int, *, comments: int = 50, with_group: bool = True) -> TicketView:
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
        machine=ticket.machine,
        title=card.title,
        body=card.body,
        state=ticket.state,
        label=machine.label(ticket.state),
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
