"""Who holds a ticket in a lock state, and when that is over.

A lock's holder is a run, else a session, else the agent's process, else a person. A session's lock ends with the
session, a process's with the process; a person's ends when a person says so. Whoever asks for a lock, for the next
ticket or for the board first ends the locks of those who are gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.errors import InterlockError
from interlock.machine import ActorKind, Event
from interlock.work.driver.lease_holders import is_present, lease_name, process_holder
from interlock.work.tickets.threads import THREAD, pause_events
from interlock.work.tickets.ticket_table import TICKETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.journal import Instance, Journal, Transaction
    from interlock.work.sessions.verbs import Caller

__all__ = ["claim", "expire", "expire_lost", "identities", "lease_of", "spoken", "the_holder"]

_SESSION = "session:"
_PROCESS = "process:"
_PERSON = "person:"


def identities(transaction: Transaction, caller: Caller) -> list[str]:
    """What a caller may hold a lock as, the best first: its session, the agent's process, or the person."""
    if caller.actor.kind == ActorKind.HUMAN:
        return [f"{_PERSON}{caller.actor.id}"]
    found = []
    if caller.session is not None:
        from interlock.work.sessions.verbs import find_session

        given = find_session(transaction, caller.session)
        if given.outcome is None:  # a lock ends with its session, so one that has ended can hold none
            found.append(_SESSION + given.id)
    if caller.process is not None:
        session = transaction.named("session", caller.process.name)
        if session is not None and session.outcome is None:
            found.append(_SESSION + session.id)
        found.append(caller.process.name)
    return list(dict.fromkeys(found))


def the_holder(known_as: Sequence[str], current: str | None) -> str | None:
    """As whom a caller acts: as the holder that it is already, else by its best name."""
    if current in known_as:
        return current
    return known_as[0] if known_as else None


def spoken(holder: str, held_by: str | None) -> str:
    """A holder as people say it."""
    kind, _, rest = holder.partition(":")
    name = held_by or "somebody"
    if kind == "process":
        host, _, pid, _ = rest.split(":", 3)
        return f"{name} (process {pid} on {host})"
    return name if kind == "person" else f"{name} ({kind} …{rest[-6:]})"


def claim(transaction: Transaction, ticket: Instance, caller: Caller, holder: str, seconds: float) -> None:
    """A process that holds a lock has a lease for it, which it loses when it is gone."""
    if caller.process is not None and holder == caller.process.name:
        transaction.acquire(lease_of(ticket.id), process_holder(caller.process, "agent"), seconds, is_present)


def lease_of(ticket: str) -> str:
    """What the lease of a ticket's lock is called."""
    return lease_name("ticket", ticket)


def expire(transaction: Transaction, ticket: Instance) -> bool:
    """End the lock of a holder that is gone; whether it was ended."""
    holder = ticket.snapshot.holder
    why = None if holder is None else _over(transaction, ticket.id, holder)
    if why is None:
        return False
    from interlock.work.sessions.verbs import DRIVER

    transaction.append(ticket.id, Event("lock_expired", DRIVER, reason=f"{why} without giving the ticket back"))
    transaction.vacate(lease_of(ticket.id))
    return True


def _over(transaction: Transaction, ticket: str, holder: str) -> str | None:
    """Why a lock is over; None while it holds."""
    kind, _, rest = holder.partition(":")
    if kind == "process":
        gone = transaction.is_held(lease_of(ticket), is_present) is False
        return f"the agent's process ({rest.split(':')[2]}) ended" if gone else None
    if kind == "person":
        return None
    if kind == "session" and transaction.instance(rest).outcome is None:
        from interlock.work.sessions.verbs import end_if_gone

        end_if_gone(transaction, rest)
    known = transaction.instance(rest)
    if known.outcome is not None:
        return f"{kind} {rest} ended ({known.outcome})"
    return f"the driver of {kind} {rest} died" if kind == THREAD and _is_left(transaction, known) else None


def _is_left(transaction: Transaction, thread: Instance) -> bool:
    """Whether a thread is in a state that somebody drives, and nobody does any more; while it waits, it keeps all."""
    return bool(pause_events(thread.state)) and transaction.is_lost(lease_name(THREAD, thread.id), is_present)


def expire_lost(journal: Journal) -> list[str]:
    """End every lock whose holder is gone; the tickets' instances. Nothing is written where all live."""
    with journal.projected(TICKETS) as sql:
        held = [(row[0], row[1]) for row in sql.rows("SELECT id, holder FROM tickets WHERE holder IS NOT NULL")]
    if not held:
        return []
    lost = {one for prefix in ("ticket:", _SESSION, f"{THREAD}:") for one in journal.lost(prefix, is_present)}
    return [ticket for ticket, holder in held if _is_due(journal, ticket, holder, lost) and _expired(journal, ticket)]


def _expired(journal: Journal, ticket: str) -> bool:
    return journal.transact(lambda transaction: expire(transaction, transaction.instance(ticket)))


def _is_due(journal: Journal, ticket: str, holder: str, lost: set[str]) -> bool:
    if holder.startswith(_PERSON):
        return False
    if holder.startswith(_PROCESS):
        return lease_of(ticket) in lost
    try:
        return holder in lost or journal.instance(holder.partition(":")[2]).outcome is not None
    except InterlockError:
        return False
