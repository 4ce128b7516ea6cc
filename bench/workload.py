"""The moves that are made and appended: a session's loop of implementing and testing, as its agent reports it."""

from __future__ import annotations

from itertools import cycle

from bench.timing import Side
from interlock.journal import Journal, Transaction
from interlock.machine import Actor, ActorKind, Channel, Event

__all__ = ["BEGIN", "CREATED", "LOOP", "appender", "begin"]

_AGENT = Actor(ActorKind.AGENT, "bench", Channel.TEST)


def _report(state: str) -> Event:
    return Event("update_session_state", _AGENT, to=state)


CREATED = Event("created", _AGENT)
BEGIN = (_report("analyzing"), _report("implementing"))
"""From a new session to where the loop begins."""
LOOP = (_report("testing"), _report("implementing"))


def begin(transaction: Transaction) -> str:
    """A new session, brought to where the loop begins; its id."""
    instance = transaction.create("session", CREATED).entry.instance
    for event in BEGIN:
        transaction.append(instance, event)
    return instance


def appender(journal: Journal) -> Side:
    """Appends to a session of its own, one durable entry for each call."""
    instance, events = journal.transact(begin), cycle(LOOP)

    def append() -> int:
        journal.append(instance, next(events))
        return 1

    return append
