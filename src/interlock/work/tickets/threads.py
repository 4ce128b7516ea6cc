"""The thread that works on a ticket: while it is open, it and people alone move the ticket.

That the ticket follows its thread is the table `[[parents]]` of the thread's machine, and made by the journal together
with each move. Here is the other direction, and what the two say of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from interlock.machine import Actor, ActorKind, Event, Evidence, Machine
from interlock.machine.model import led
from interlock.machine.states import shipped_state

if TYPE_CHECKING:
    from interlock.journal import Instance, Journal, Lease, Recorded, Transaction

__all__ = ["PLACES", "THREAD", "follow_ticket", "open_thread", "pause_events", "rest", "strays"]

THREAD = "thread"
PLACES = frozenset({"In Progress", "In Review"})
"""Where a ticket is while its thread goes on."""


def pause_events(state: str) -> Sequence[str]:
    """The events that pause a thread in a state, in their order; none where no loop is at work."""
    return shipped_state(THREAD, state).pause


def open_thread(reader: Journal | Transaction, ticket: str) -> Instance | None:
    """The thread that works on a ticket."""
    return next(iter(reader.open_children(ticket, THREAD)), None)


def follow_ticket(transaction: Transaction, moved: Recorded, actor: Actor) -> None:
    """Let the thread of a ticket rest where a person has taken the ticket away, and hold it where it is back."""
    entry = moved.entry
    thread = open_thread(transaction, entry.instance) if actor.kind == ActorKind.HUMAN else None
    if thread is None or not moved.written or entry.from_state == entry.to_state:
        return
    row = led(transaction.machine_of(thread), None, "Running")
    if row is not None and entry.to_state == row.to:
        claim = Evidence(holder=f"{THREAD}:{thread.id}", data={THREAD: thread.id})
        transaction.append(entry.instance, Event(row.event, actor, row.to, row.command, "its thread goes on", claim))
    elif entry.to_state not in PLACES and pause_events(thread.state):
        why = f"its ticket was moved to {entry.to_state}"
        rest(transaction, thread.id, actor, why, cause=Evidence(data={"ticket": entry.instance}))


def rest(
    transaction: Transaction,
    thread: str,
    actor: Actor,
    why: str | None = None,
    lease: Lease | None = None,
    *,
    cause: Evidence | None = None,
) -> None:
    """Let a thread rest; what verifies is stopped first."""
    for name in pause_events(transaction.instance(thread).state) or ("pause",):
        transaction.append(thread, Event(name, actor, reason=why, evidence=cause), lease=lease)


def strays(machine: Machine, thread: Instance, ticket: Instance) -> str | None:
    """How a thread and its ticket differ, where one of them could not follow; None where they agree."""
    row = led(machine, None, thread.state)
    wanted = {row.to} if row is not None else PLACES
    if ticket.state in wanted or ticket.outcome is not None or thread.outcome is not None:
        return None
    return f"The thread is in {thread.state}, and its ticket in {ticket.state}"
