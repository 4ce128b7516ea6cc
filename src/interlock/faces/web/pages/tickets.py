"""Tickets: the pipeline as a board, and one ticket with everything on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from interlock.faces.web.looks import StateStyle, look_of
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.faces.web.pages.sessions import session_rows
from interlock.journal import Entry, Instance
from interlock.machine import Actor, ActorKind, Channel, Machine
from interlock.work.tickets.advice import command_of, possible
from interlock.work.tickets.audit import is_move, manner_of
from interlock.work.tickets.dashboard import Dashboard, PipelineStage, dashboard
from interlock.work.tickets.move_checks import MoveRequest
from interlock.work.tickets.numbers import MACHINE, known_ticket
from interlock.work.tickets.pipeline import escalated
from interlock.work.tickets.queries import Filters, TicketSummary, listed
from interlock.work.tickets.record import COMMENTED, EDITED
from interlock.work.views.ticket import ticket_view

__all__ = ["PAGES"]

_MOST_CARDS = 20
_MOST_FOUND = 100
_MOST_HISTORY = 100
_MOST_THREADS = 10
_MOST_SESSIONS = 10
_PERSON = Actor(ActorKind.HUMAN, "somebody", Channel.CLI)
_AGENT = Actor(ActorKind.AGENT, "somebody", Channel.MCP)
_SEVERITIES = {"critical": "bad", "warning": "warn", "info": "calm"}
_STATUS = {"ON_TRACK": "good", "AT_RISK": "warn", "OFF_TRACK": "bad"}


# The board


def _board(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    machine = sight.machines(MACHINE)
    state, text = asked.query.get("state") or None, asked.query.get("find") or None
    found: list[TicketSummary] | None = None
    if state is not None or text is not None:
        ended = True if state in machine.states and machine.states[str(state)].terminal else None
        order = "updated" if ended else "priority"
        filters = Filters(state=state, text=text, ended=ended, order_by=order, most=_MOST_FOUND)
        found = listed(sight.journal, filters)
    board = dashboard(sight.journal, machine, most=0 if found is not None else _MOST_CARDS)
    return {
        "board": board,
        "status": _STATUS[board.status],
        "columns": [(phase, look_of(machine, phase.state)) for phase in _in_order(board, machine)],
        "health": [(one, _SEVERITIES[one.severity]) for one in board.health],
        "found": None if found is None else [(one, look_of(machine, one.state)) for one in found],
        "state": state or "",
        "find": text or "",
        "most": _MOST_FOUND,
    }


def _in_order(board: Dashboard, machine: Machine) -> list[PipelineStage]:
    """The columns: what waits for a person's help first, then the way, then what has ended."""
    aside = [one for one in board.phases if one.state == escalated(machine)]
    ended = [one for one in board.phases if machine.states[one.state].terminal]
    way = [one for one in board.phases if one not in aside and one not in ended]
    return [*aside, *way, *ended]


# One ticket


class _Happened(msgspec.Struct, frozen=True):
    """Something that happened to a ticket."""

    time: str
    by: str
    kind: str
    """`created`, `moved`, `commented` or `edited`."""
    said: str
    before: StateStyle | None = None
    after: StateStyle | None = None
    how: str = ""
    """The command and the intent of a move."""


class _Move(msgspec.Struct, frozen=True):
    """A move that is possible now."""

    to: StateStyle
    intent: str
    command: str
    """The command that makes it; empty for a person, who needs none."""
    call: str
    """What a person types."""
    is_named: bool
    """True if its intent is an event of its own, so that the state alone does not say what it does."""


def _ticket(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    number = str(asked.names["number"])
    ticket = known_ticket(sight.journal, number)
    machine = sight.journal.machine_of(ticket)
    found = ticket_view(sight.journal, number, comments=0, with_group=False)
    newest = sight.journal.history(ticket.id, max(0, ticket.version - _MOST_HISTORY))
    related = {
        "Part of": [found.parent] if found.parent else [],
        "Waits for": found.blocked_by,
        "Blocks": found.blocking,
        "Parts": found.sub_tickets,
    }
    threads = sight.journal.recent("thread", _MOST_THREADS, parent=ticket.id)
    working = next((one for one in threads if one.outcome is None), None)
    return {
        "ticket": found,
        "look": look_of(machine, found.state),
        "trouble": sight.trouble(ticket),
        "is_blocked": any(not _has_ended(machine, one.state) for one in found.blocked_by),
        "related": [
            (name, [(one, look_of(machine, one.state)) for one in some]) for name, some in related.items() if some
        ],
        "happened": [one for entry in newest[::-1] if (one := _happened(entry, machine)) is not None],
        "older": max(0, ticket.version - _MOST_HISTORY),
        "threads": [(one, _title(sight, one), look_of(sight.journal.machine_of(one), one.state)) for one in threads],
        "sessions": session_rows(sight, _sessions(sight, ticket, threads)),
        "for_people": _moves(machine, ticket, _PERSON, found.number, working),
        "for_agents": _moves(machine, ticket, _AGENT, found.number, working),
    }


def _has_ended(machine: Machine, state: str) -> bool:
    return state in machine.states and machine.states[state].terminal


def _title(sight: Sight, thread: Instance) -> str:
    with sight.watch.lock:
        return sight.watch.threads.of(sight.journal, thread).title


def _sessions(sight: Sight, ticket: Instance, threads: Iterable[Instance]) -> list[Instance]:
    """The newest sessions of a ticket, and of its threads."""
    found = sight.journal.recent("session", _MOST_SESSIONS, parent=ticket.id)
    for thread in threads:
        found += sight.journal.recent("session", _MOST_SESSIONS, parent=thread.id)
    return sorted(found, key=lambda one: one.id, reverse=True)[:_MOST_SESSIONS]


def _moves(machine: Machine, ticket: Instance, actor: Actor, number: int, thread: Instance | None) -> list[_Move]:
    """What an actor could do with a ticket now; as the holder of it, where somebody holds it."""
    snapshot = ticket.snapshot
    asked = MoveRequest(actor, snapshot.holder or f"person:{actor.id}", thread=thread)
    return [
        _Move(
            look_of(machine, one.to),
            one.intent or "",
            one.command or "",
            command_of(number, one),
            one.event == one.intent,
        )
        for one in possible(machine, snapshot, asked)
    ]


def _happened(entry: Entry, machine: Machine) -> _Happened | None:
    by = f"{entry.actor_kind} {entry.actor_id}"
    data = entry.decoded_evidence().data
    if entry.version == 1:
        return _Happened(entry.time, by, "created", entry.reason or "", after=look_of(machine, entry.to_state))
    if is_move(entry):
        before, after = entry.from_state, look_of(machine, entry.to_state)
        was = look_of(machine, before) if before else None
        return _Happened(entry.time, by, "moved", entry.reason or "", was, after, manner_of(entry))
    if data.get("type") == COMMENTED:
        return _Happened(entry.time, str(data.get("by") or by), "commented", str(data.get("body", "")))
    if data.get("type") == EDITED:
        fields = [name for part in ("set", "add", "remove") for name in data.get(part, {})]
        return _Happened(entry.time, by, "edited", ", ".join(dict.fromkeys(fields)).replace("_", " "))
    return None  # what the tracker's board shows is no news of the ticket


def _concerns_tickets(asked: PageRequest) -> frozenset[str]:
    return frozenset({MACHINE})


def _concerns_one(asked: PageRequest) -> frozenset[str]:
    return frozenset({MACHINE, "session", "thread"})


PAGES = (
    PageKind("/board", "board.html", _board, _concerns_tickets, heading="Board", key="b"),
    PageKind("/ticket/{number:int}", "ticket.html", _ticket, _concerns_one),
)
