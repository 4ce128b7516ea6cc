"""What stands elsewhere on a tracker's board waits for a person, who takes it over or has the board put right."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from interlock.errors import NotFound, Refusal
from interlock.journal import Instance, Journal, Transaction
from interlock.machine import Actor, ActorKind, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.gates.presence import Person
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.handoff import Handed, handoff
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.outside import TRACKER
from interlock.work.tickets.record import PROJECTED, Tracked
from interlock.work.tickets.ticket_table import TICKETS, card_of, line_of

__all__ = ["BoardDifference", "accept", "may_settle", "remember", "restore", "waiting"]


class BoardDifference(msgspec.Struct, frozen=True, rename="camel"):
    """A ticket that the board shows elsewhere, and what a person can do about it."""

    number: int
    title: str
    here: str
    there: str
    verdict: str


def waiting(journal: Journal) -> list[BoardDifference]:
    """The tickets whose place on the board waits for a person."""
    with journal.projected(TICKETS) as sql:
        rows = sql.rows("SELECT id FROM tickets WHERE outside IS NOT NULL ORDER BY number")
        found = [(line_of(sql, row[0]), card_of(sql, row[0]).tracked) for row in rows]
    return [
        BoardDifference(line.number, line.title, line.state, line.outside or "", (tracked and tracked.verdict) or "")
        for line, tracked in found
    ]


def may_settle(journal: Journal, person: Person, called: str | int) -> None:
    """Refuse everybody but a person at a terminal, who proves to be there; a refused attempt is recorded."""
    if person.actor.kind != ActorKind.HUMAN or not person.is_at_terminal():
        message = f"Only a person at a terminal settles where ticket {called} stands."
        raise Refusal("person_needed", message, "Ask a person to type it in their own terminal.")
    person.vouch(known_ticket(journal, called).id, "settle")


def accept(
    journal: Journal, caller: Caller, called: str | int, *, plan_review: str = "human", present: bool = True
) -> Handed:
    """A person makes the move that was made on the board."""

    def work(transaction: Transaction) -> Handed:
        ticket, tracked = _outside(transaction, called)
        reason = f"accepted as it was moved on the board ({tracked.url})"
        move = handoff(caller, called, to=tracked.outside, reason=reason, plan_review=plan_review, present=present)
        handed = move(transaction)
        remember(transaction, ticket.id, replace(tracked, outside=None, verdict=None), caller.actor)
        return handed

    return journal.transact(work)


def restore(journal: Journal, called: str | int, actor: Actor) -> int:
    """A person says that the board is to show the ticket as it is here; the next synchronisation does it."""

    def work(transaction: Transaction) -> int:
        ticket, tracked = _outside(transaction, called)
        remember(transaction, ticket.id, replace(tracked, outside=None, verdict=None, stale=True), actor)
        return card_of(transaction.project(TICKETS), ticket.id).number

    return journal.transact(work)


def _outside(transaction: Transaction, called: str | int) -> tuple[Instance, Tracked]:
    ticket = known_ticket(transaction, called)
    tracked = card_of(transaction.project(TICKETS), ticket.id).tracked
    if tracked is None or tracked.outside is None:
        message = f"Ticket {called} stands on the board as it does here; there is nothing to settle."
        raise NotFound("nothing_outside", message, "`ralph ticket sync` lists the tickets that wait for a person.")
    return ticket, tracked


def remember(
    transaction: Transaction, ticket: str, tracked: Tracked, actor: Actor = TRACKER, names: tuple[str, ...] = ()
) -> None:
    """Write down how a ticket stands on the board."""
    data = {"type": PROJECTED, "tracked": msgspec.to_builtins(tracked)}
    transaction.append(ticket, Event(NOTED, actor, evidence=Evidence(data=data, names=names)))
