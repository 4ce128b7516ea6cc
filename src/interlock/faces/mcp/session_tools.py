"""The tools for sessions, named and shaped as in the seed and its system."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from interlock.decoding import convert
from interlock.errors import NotFound, UsageError
from interlock.faces.mcp.server_context import ServerContext
from interlock.faces.mcp.session_shapes import (
    CompleteSession,
    CreateSession,
    EmitEvent,
    EventLine,
    EventList,
    GetEvents,
    GetState,
    Known,
    ListSessions,
    SessionLine,
    SessionList,
    SessionState,
    Told,
    UpdateState,
)
from interlock.faces.mcp.tool import Tool, key_of
from interlock.journal import Instance, Journal
from interlock.machine import Machine
from interlock.work.sessions.prompt import reported_states
from interlock.work.sessions.record import TYPES, Note, SessionRecord, record_of
from interlock.work.sessions.upkeep import written_in_state, written_since
from interlock.work.sessions.verbs import (
    MACHINE,
    Caller,
    Moved,
    Opened,
    complete,
    create,
    find_session,
    note,
    update,
)
from interlock.work.tickets.numbers import find_ticket
from interlock.work.views.session import session_view

__all__ = ["SESSION_TOOLS", "state_of"]

_DIGITS = 19


async def _create(context: ServerContext, caller: Caller, given: CreateSession) -> Opened:
    ticket = None if given.ticket_id is None else str(given.ticket_id)
    return await context.transact(
        create(caller, ticket=ticket, timeout=context.timeout, key=key_of(given.idempotency_key))
    )


async def _update(context: ServerContext, caller: Caller, given: UpdateState) -> Moved:
    _understood(given.metadata)
    written = await context.read(lambda: written_in_state(context.journal, given.session_id, context.state_directory))
    work = update(
        given.session_id,
        given.state,
        caller.actor,
        given.metadata,
        written=written,
        timeout=context.timeout,
        key=key_of(given.idempotency_key),
    )
    return await context.transact(work)


async def _complete(context: ServerContext, caller: Caller, given: CompleteSession) -> Moved:
    written = await context.read(lambda: written_since(context.journal, given.session_id, context.state_directory))
    work = complete(
        given.session_id,
        given.outcome,
        caller.actor,
        given.error_message,
        written=written,
        key=key_of(given.idempotency_key),
    )
    return await context.transact(work)


async def _get(context: ServerContext, caller: Caller, given: GetState) -> SessionState:
    return await context.read(lambda: state_of(context.journal, _chosen(context.journal, given)))


async def _list(context: ServerContext, caller: Caller, given: ListSessions) -> SessionList:
    return await context.read(lambda: _sessions_of(context.journal, str(given.ticket_id), given.limit))


async def _emit(context: ServerContext, caller: Caller, given: EmitEvent) -> Told:
    if given.type not in TYPES:
        hint = f"One of: {', '.join(TYPES)}."
        raise UsageError("invalid_argument", f"{given.type[:80]!r} is no type of event.", hint)
    _understood(given.data)
    key = key_of(given.idempotency_key)
    work = note(given.session_id, given.type, caller.actor, given.data, timeout=context.timeout, key=key)
    recorded = await context.transact(work)
    moves = given.type == "state_change"
    warning = "this only tells of a change; update_session_state makes one" if moves else None
    return Told(True, recorded.entry.instance, recorded.entry.seq, given.type, recorded.entry.time, warning)


async def _events(context: ServerContext, caller: Caller, given: GetEvents) -> EventList:
    return await context.read(lambda: _events_of(context.journal, given))


def _understood(metadata: dict[str, Any] | None) -> None:
    try:
        convert(metadata or {}, Known)
    except msgspec.ValidationError as error:
        hint = "metadata has files (a list of paths), testResults {passed, failed, skipped}, error, and what you like."
        raise UsageError("invalid_argument", f"{error}.", hint) from None


def _ticket(journal: Journal, called: str) -> Instance:
    found = find_ticket(journal, called)
    if found is None:
        message = f"Ticket not found: {called[:80]}."
        raise NotFound("unknown_ticket", message, "create_ralph_session with this ticketId makes a stub of it.")
    return found


def _chosen(journal: Journal, given: GetState) -> Instance:
    if given.session_id is not None:
        return find_session(journal, given.session_id)
    if given.ticket_id is None:
        hint = 'For example get_session_state({"ticketId": "42"}).'
        raise UsageError("invalid_argument", "Either sessionId or ticketId must be provided.", hint)
    latest = journal.recent(MACHINE, 1, parent=_ticket(journal, str(given.ticket_id)).id)
    if not latest:
        message = f"Ticket {str(given.ticket_id)[:80]} has no session."
        raise NotFound("unknown_session", message, "Use create_ralph_session to begin one.")
    return latest[0]


def state_of(journal: Journal, session: Instance) -> SessionState:
    """A session as it stands, with its history and what was seen."""
    view = session_view(journal, session)
    given = {name: getattr(view, name) for name in SessionState.__struct_fields__}
    return SessionState(**given | {"findings": [one.message for one in view.findings]})


def _sessions_of(journal: Journal, ticket: str, limit: int) -> SessionList:
    most = max(1, min(limit, 100))
    found = journal.recent(MACHINE, most, parent=_ticket(journal, ticket).id)
    return SessionList(ticket, [_line(record_of(journal.history(one.id))) for one in found])


def _line(record: SessionRecord) -> SessionLine:
    return SessionLine(record.id, record.state, record.outcome, record.started, record.completed, len(record.stays))


def _events_of(journal: Journal, given: GetEvents) -> EventList:
    session = find_session(journal, given.session_id)
    record = SessionRecord()
    is_new = _after(given.since)
    notes = [one for one in [record.take(entry) for entry in journal.history(session.id)] if is_new(one)]
    most = max(1, min(given.limit, 500))
    lines = [EventLine(one.seq, one.type, one.data, one.time, one.by) for one in notes[:most]]
    return EventList(session.id, lines, len(notes) > most)


def _after(since: int | str | None) -> Callable[[Note], bool]:
    """Whether a note came after what the caller has seen: an event's number, also as text, or a time."""
    if since is None:
        return lambda note: True
    if isinstance(since, int) or (since.isascii() and since.isdigit() and len(since) < _DIGITS):
        number = int(since)
        return lambda note: note.seq > number
    try:
        time = datetime.fromisoformat(since)
    except ValueError:
        hint = "Give the seq of the last event that you have seen, or a time such as 2026-07-28T12:00:00Z."
        raise UsageError("invalid_argument", f"`since` cannot be {since[:80]!r}.", hint) from None
    then = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return lambda note: datetime.fromisoformat(note.time) > then


_METADATA = {
    "properties": {
        "files": {"type": "array", "items": {"type": "string"}, "description": "Files modified in this state"},
        "testResults": {
            "type": "object",
            "properties": {name: {"type": "number"} for name in ("passed", "failed", "skipped")},
            "description": "What the tests came to, if you ran them",
        },
        "error": {"type": "string", "description": "What went wrong"},
        "message": {"type": "string", "description": "A few words for the people who watch"},
    },
    "additionalProperties": True,
}


def _states(machines: Callable[[str], Machine]) -> dict[str, dict[str, Any]]:
    return {"state": {"enum": reported_states(machines("session"))}, "metadata": _METADATA}


SESSION_TOOLS = (
    Tool(
        "create_ralph_session",
        "Begin a session",
        "Begin a session for a ticket, before you start to work on it. It starts in the state idle; report your phases "
        "with update_session_state. A ticket has one open session at a time.",
        CreateSession,
        Opened,
        _create,
        first=True,
    ),
    Tool(
        "update_session_state",
        "Report the phase you are in",
        "Update the current state of a Ralph session for UI progress tracking. Call this at each phase transition: "
        "analyzing → implementing → testing → committing → reviewing. Files can be written in implementing, testing "
        "and committing.",
        UpdateState,
        Moved,
        _update,
        idempotent=True,
        known=_states,
        first=True,
    ),
    Tool(
        "complete_ralph_session",
        "End the session",
        "End a session with its outcome: success only when the work is done and its tests pass, otherwise failure "
        "with an errorMessage. It cannot be opened again.",
        CompleteSession,
        Moved,
        _complete,
        first=True,
    ),
    Tool(
        "get_session_state",
        "Look at a session",
        "The state of a session, its history with the time spent in each state, what is allowed next, and what was "
        "observed. Name the session, or a ticket for its latest one.",
        GetState,
        SessionState,
        _get,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        "list_ticket_sessions",
        "List a ticket's sessions",
        "The sessions of a ticket, newest first.",
        ListSessions,
        SessionList,
        _list,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        "emit_ralph_event",
        "Tell of something",
        "Tell of something that happens in a session, for the people who watch it. It changes no state.",
        EmitEvent,
        Told,
        _emit,
        known=lambda machines: {"type": {"enum": list(TYPES)}},
    ),
    Tool(
        "get_ralph_events",
        "Read a session's events",
        "What happened in a session, oldest first; `since` takes the seq of the last event that you have seen.",
        GetEvents,
        EventList,
        _events,
        read_only=True,
        idempotent=True,
    ),
)
"""In the order in which they are listed."""
