"""A thread that works on a ticket: how it begins, what it needs of the ticket, and how its driver claims it."""

from __future__ import annotations

import msgspec

from interlock.errors import Refusal
from interlock.journal import Instance, Journal, Transaction
from interlock.machine import Actor, ActorKind, Event, Evidence
from interlock.machine.model import led
from interlock.work.driver.agent_run import DRIVER
from interlock.work.threads.record import Thread
from interlock.work.tickets.locks import expire, spoken
from interlock.work.tickets.numbers import known_ticket, number_of
from interlock.work.tickets.threads import PLACES, THREAD, open_thread, strays

__all__ = ["Above", "check_ticket", "claim_ticket", "open_for", "ticket_of"]

_TICKET = "ticket"


def open_for(transaction: Transaction, *, event: Event, called: str | int | None) -> str:
    """A new thread; for a ticket it is opened only where the ticket is being built, and nobody else builds it."""
    if called is None:
        return transaction.create(THREAD, event).entry.instance
    ticket = known_ticket(transaction, called)
    number = _number(transaction, ticket)
    other = open_thread(transaction, ticket.id)
    if other is not None:
        message = f"The thread {other.id} works on #{number} already, in {other.state}."
        raise Refusal("driven_by_thread", message, f"`ralph thread use {other.id[-6:]}` takes it up.")
    if expire(transaction, ticket):
        ticket = transaction.instance(ticket.id)
    row = led(transaction.current(THREAD), None, transaction.current(THREAD).form.initial)
    if row is not None and ticket.state != row.to:
        message = f"A thread works on a ticket that is in {row.to!r}, and #{number} is in {ticket.state!r}."
        raise Refusal("not_allowed", message, f"`ralph work {number}` leads it there.")
    _let_go(transaction, ticket, event.actor)
    holder = transaction.instance(ticket.id).snapshot.holder
    if holder is not None:
        message = f"#{number} is held by {spoken(holder, None)}."
        raise Refusal("lock_held", message, f"`ralph ticket show {number}` says who that is.")
    return transaction.create(THREAD, event, parent=ticket.id).entry.instance


class Above(msgspec.Struct, frozen=True):
    """The ticket that a thread is for."""

    number: int
    state: str
    differs: str | None
    """How the two differ, where one of them could not follow the other."""


def ticket_of(journal: Journal, thread: Thread) -> Above | None:
    """The ticket that a thread is for, as people see it."""
    ticket = journal.instance(thread.ticket) if thread.ticket is not None else None
    if ticket is None or ticket.machine != _TICKET:
        return None
    known = journal.instance(thread.id)
    return Above(_number(journal, ticket), ticket.state, strays(journal.machine_of(known), known, ticket))


def _number(reader: Journal | Transaction, ticket: Instance) -> int:
    return number_of(reader.history(ticket.id)[0].decoded_evidence().names)


def _let_go(transaction: Transaction, ticket: Instance, actor: Actor) -> None:
    """What a person holds themselves is handed to their thread."""
    holder = f"person:{actor.id}"
    if actor.kind == ActorKind.HUMAN and ticket.snapshot.holder == holder:
        given = Evidence(holder=holder)
        transaction.append(ticket.id, Event("release", actor, reason="a thread goes on with it", evidence=given))


def check_ticket(reader: Journal | Transaction, thread: str, event: str) -> None:
    """Refuse what a thread cannot do while its ticket is elsewhere; that it is abandoned is always possible."""
    known = reader.instance(thread)
    ticket = reader.instance(known.parent) if known.parent is not None else None
    if ticket is None or ticket.machine != _TICKET or event == "abandon":
        return
    if ticket.outcome is not None:
        message = f"The ticket of this thread has ended, as {ticket.state}."
        raise Refusal("parent_refused", message, "`ralph thread abandon` ends the thread; its files stay.")
    if event == "commit" and ticket.state not in PLACES:
        number = _number(reader, ticket)
        message = f"The ticket #{number} of this thread is in {ticket.state!r}, where nothing is committed for it."
        raise Refusal("parent_refused", message, f'`ralph ticket handoff {number} --to "In Progress"` brings it back.')


def claim_ticket(transaction: Transaction, thread: str) -> str | None:
    """Before a thread is driven, its ticket is its own; why it is not, where it cannot be."""
    known = transaction.instance(thread)
    ticket = transaction.instance(known.parent) if known.parent is not None else None
    if ticket is None or ticket.machine != _TICKET:
        return None
    row = led(transaction.machine_of(known), None, "Running")
    holder = f"{THREAD}:{thread}"
    if row is None or (ticket.state == row.to and ticket.snapshot.holder == holder):
        return None
    if known.state != "Running" and ticket.state != row.to and ticket.state in PLACES:
        return None  # what was reviewed is proven again, and goes to be reviewed again
    if ticket.outcome is None and expire(transaction, ticket):
        ticket = transaction.instance(ticket.id)
    evidence = Evidence(holder=holder, data={THREAD: thread})
    try:
        transaction.append(
            ticket.id, Event(row.event, DRIVER, row.to, row.command, "its thread is driven again", evidence)
        )
    except Refusal as error:
        return f"its ticket is in {ticket.state!r}: {error.message}"
    return None
