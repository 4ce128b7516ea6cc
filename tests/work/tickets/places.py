"""Tickets in every state, brought there by real moves; who moves them; and what is in the journal's tables."""

from __future__ import annotations

import os
from collections import deque
from functools import cache
from typing import Any

from interlock.errors import CODES, InterlockError
from interlock.journal import Entry, Journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.work.sessions import verbs as sessions
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.handoff import Handed, handoff
from interlock.work.tickets.numbers import known_ticket, new_name
from interlock.work.tickets.ticket_table import TICKETS
from interlock.work.tickets.verbs import create
from interlock.world.ancestry import started
from interlock.world.processes import process_here, this_process
from journal.databases import TABLES, Address, Dump, connected
from journal.refusals import failed
from machine.walks import shipped_table

__all__ = [
    "AGENT",
    "LOCKS",
    "OTHER",
    "PERSON",
    "STATES",
    "TABLE",
    "agent",
    "begun",
    "caught_up",
    "circled",
    "entries_of",
    "everything",
    "held",
    "made",
    "moved",
    "other_agent",
    "person",
    "place",
    "refused",
    "stranger",
    "way_to",
]

TABLE = shipped_table("ticket")
STATES = tuple(TABLE.states)
LOCKS = {one["lock"]: name for name, one in TABLE.section("commands").items() if "lock" in one}
"""Each lock state, and the command whose lock it is."""

AGENT = Actor(ActorKind.AGENT, "claude", Channel.MCP)
OTHER = Actor(ActorKind.AGENT, "codex", Channel.MCP)
PERSON = Actor(ActorKind.HUMAN, "ada", Channel.CLI)


def agent(session: str | None = None) -> Caller:
    """An agent whose process is this one."""
    return Caller(AGENT, "claude", this_process(), session=session)


def other_agent() -> Caller:
    """Another agent, whose process lives too."""
    above = os.getppid()
    return Caller(OTHER, "codex", process_here(above, started(above) or ""))


def stranger(session: str | None = None) -> Caller:
    """An agent of which no process is known."""
    return Caller(Actor(ActorKind.AGENT, "somebody", Channel.MCP), session=session)


def person(name: str = "ada") -> Caller:
    return Caller(Actor(ActorKind.HUMAN, name, Channel.CLI))


def made(journal: Journal, title: str = "Mend the door", **fields: Any) -> int:
    """The number of a new ticket, in Backlog."""
    return journal.transact(create(PERSON, title, **fields)).number


def moved(journal: Journal, caller: Caller, number: int, **asked: Any) -> Handed:
    return journal.transact(handoff(caller, number, **{"reason": "it is time", **asked}))


def refused(journal: Journal, caller: Caller, number: int, **asked: Any) -> InterlockError:
    """The error of a handoff that must not be made."""
    return failed(lambda: moved(journal, caller, number, **asked), *CODES)


@cache
def way_to(state: str) -> tuple[str, ...]:
    """The states through which a person hands a ticket on from its first one: the shortest way in the table."""
    first = TABLE.raw["initial"]
    found: dict[str, tuple[str, ...]] = {first: ()}
    waiting = deque([first])
    while waiting:
        current = waiting.popleft()
        for row in TABLE.rows:
            if row.source == current and row.on == "handoff" and "human" in row.by and row.to not in found:
                assert row.to is not None
                found[row.to] = (*found[current], row.to)
                waiting.append(row.to)
    return found[state]


def place(journal: Journal, state: str, **fields: Any) -> int:
    """A new ticket in a state, where nobody holds it."""
    number = made(journal, **fields)
    for to in way_to(state):
        moved(journal, person(), number, to=to)
    return number


def held(journal: Journal, state: str, caller: Caller | None = None, **fields: Any) -> int:
    """A new ticket in a lock state, held by an agent."""
    number = place(journal, state, **fields)
    moved(journal, caller or agent(), number, command=LOCKS[state], intent="lock")
    return number


def begun(journal: Journal, caller: Caller | None = None) -> str:
    """A new session of an agent."""
    return journal.transact(sessions.create(caller or agent())).session_id


def entries_of(journal: Journal, number: int) -> list[Entry]:
    return journal.history(known_ticket(journal, number).id)


def everything(address: Address) -> Dump:
    """Every row of every table, those of the projection too, once that is caught up."""
    tables = {**TABLES, "tickets": "id", "ticket_blocks": "blocked, blocker"}
    with connected(address) as run:
        return {table: run(f"SELECT * FROM {table} ORDER BY {order}") for table, order in tables.items()}


def caught_up(journal: Journal) -> None:
    with journal.projected(TICKETS):
        pass


def circled(journal: Journal) -> int:
    """A part that waits for its whole, as earlier versions of the verb `create` wrote it; the number of the whole."""
    whole = made(journal, title="Whole")

    def work(transaction: Any) -> None:
        above = known_ticket(transaction, whole).id
        data = {"title": "Part", "parent": above, "blocked_by": [above]}
        evidence = Evidence(data=data, names=(new_name(transaction),))
        transaction.create("ticket", Event("created", PERSON, evidence=evidence))

    journal.transact(work)
    return whole
