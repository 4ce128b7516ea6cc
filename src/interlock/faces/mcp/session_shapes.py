"""What tools are given and what they give, as the seed and its system shape it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from interlock.faces.mcp.arguments import Arguments
from interlock.work.views.session import HistoryItem

__all__ = [
    "CompleteSession",
    "CreateSession",
    "EmitEvent",
    "EventLine",
    "EventList",
    "GetEvents",
    "GetState",
    "Key",
    "Known",
    "ListSessions",
    "SessionLine",
    "SessionList",
    "SessionState",
    "Told",
    "UpdateState",
]

SessionId = Annotated[str, "The Ralph session ID"]
Key = Annotated[
    str | None, "Optional: a text of your own that is new for each event; the same call again then changes nothing"
]


# What tools are given


class CreateSession(Arguments, frozen=True):
    ticket_id: Annotated[
        str | int | None, "The ticket's number, or any text it is known by; one that is not known yet becomes a stub"
    ] = None
    idempotency_key: Key = None


class UpdateState(Arguments, frozen=True):
    session_id: SessionId
    state: Annotated[str, "The new state to transition to"]
    metadata: Annotated[dict[str, Any] | None, "Optional context about the transition"] = None
    idempotency_key: Key = None


class CompleteSession(Arguments, frozen=True):
    session_id: SessionId
    outcome: Annotated[Literal["success", "failure", "timeout", "cancelled"], "How the session ended"]
    error_message: Annotated[str | None, "What went wrong, where it did not end in success"] = None
    idempotency_key: Key = None


class GetState(Arguments, frozen=True):
    session_id: Annotated[str | None, "The Ralph session ID; or give ticketId"] = None
    ticket_id: Annotated[str | int | None, "A ticket's number or text: its latest session"] = None


class ListSessions(Arguments, frozen=True):
    ticket_id: Annotated[str | int, "The ticket's number, or the text it is known by"]
    limit: Annotated[int, "How many at the most, newest first"] = 10


class EmitEvent(Arguments, frozen=True):
    session_id: SessionId
    type: Annotated[str, "What kind of event it is"]
    data: Annotated[dict[str, Any] | None, "Optional: message, tool, file, error, success, or anything else"] = None
    idempotency_key: Key = None


class GetEvents(Arguments, frozen=True):
    session_id: SessionId
    since: Annotated[int | str | None, "Only what came after this: an event's `seq`, or a time in ISO 8601"] = None
    limit: Annotated[int, "How many at the most"] = 50


class Known(msgspec.Struct, rename="camel"):
    """What metadata may say that we understand; anything else is kept as it is."""

    class Results(msgspec.Struct):
        passed: int | float = 0
        failed: int | float = 0
        skipped: int | float = 0

    files: list[str] | None = None
    test_results: Results | None = None
    error: str | None = None
    message: str | None = None


# What tools give


class SessionState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The part of a session's view that agents are given; its id and its state have the seed's names."""

    id: str = msgspec.field(name="sessionId")
    ticket_id: str | None
    state: str = msgspec.field(name="currentState")
    outcome: str | None
    started_at: str
    updated_at: str
    completed_at: str | None
    state_history: list[HistoryItem]
    seconds_in_state: dict[str, float]
    allowed_next: list[str]
    events: dict[str, int]
    files: list[str] = []
    findings: list[str] = []
    error_message: str | None = None


class SessionLine(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    current_state: str
    outcome: str | None
    started_at: str
    completed_at: str | None
    state_count: int


class SessionList(msgspec.Struct, frozen=True, rename="camel"):
    ticket_id: str
    sessions: list[SessionLine]


class Told(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    success: bool
    session_id: str
    event_id: int
    type: str
    recorded_at: str
    warning: str | None = None


class EventLine(msgspec.Struct, frozen=True, rename="camel"):
    seq: int
    type: str
    data: dict[str, Any]
    created_at: str
    by: str


class EventList(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    session_id: str
    events: list[EventLine]
    more: bool = False
