"""An agent's session: where it is and was, for how long, what was seen of it, and what does not agree."""

from __future__ import annotations

from typing import Any

import msgspec

from interlock.journal import Instance, Journal
from interlock.machine import Machine
from interlock.work.sessions.record import SessionRecord, record_of
from interlock.work.sessions.summary import summary_of
from interlock.work.sessions.verbs import allowed_next
from interlock.work.views.values import InstanceView
from interlock.world.place import Place

__all__ = ["FindingView", "HistoryItem", "SessionView", "session_view", "view_of_session"]


class HistoryItem(msgspec.Struct, frozen=True, rename="camel"):
    """One state that was reported."""

    state: str
    timestamp: str
    metadata: dict[str, Any]
    seconds: float
    off_path: bool = False


class FindingView(msgspec.Struct, frozen=True, rename="camel"):
    """Something that does not agree with what was reported."""

    code: str
    message: str


class SessionView(InstanceView, frozen=True, kw_only=True, rename="camel"):
    """The current state of a session."""

    ticket_id: str | None
    """The ticket by the words that it was begun with."""
    parent: str | None
    role: str | None
    agent: str | None
    place: Place | None
    """Where it works."""
    error_message: str | None
    started_at: str
    completed_at: str | None
    since: str
    """The time at which it entered its state."""
    doing: str
    """What runs now, or was heard last."""
    heard: str
    """The kind of event that `doing` is about; empty if nothing but its states was heard."""
    is_busy: bool
    """True while a tool runs."""
    state_history: list[HistoryItem]
    seconds_in_state: dict[str, float]
    allowed_next: list[str]
    events: dict[str, int]
    tools: dict[str, int]
    files: list[str]
    findings: list[FindingView]
    silent_seconds: float
    """The seconds for which nothing was heard."""
    usual_seconds: int | None
    """The longest usual time of its state; None if unknown."""
    is_silent: bool


def session_view(journal: Journal, session: Instance) -> SessionView:
    """The view of a session."""
    record = record_of(journal.history(session.id))
    return view_of_session(record, journal.machine_of(session), journal.now())


def view_of_session(record: SessionRecord, machine: Machine, now: float) -> SessionView:
    """The view of a session whose entries were read."""
    line = summary_of(record, machine, now)
    return SessionView(
        id=record.id,
        machine=machine.name,
        title=record.role or "",
        state=record.state,
        label=machine.label(record.state),
        outcome=record.outcome,
        updated_at=record.updated,
        ticket_id=record.ticket_id,
        parent=record.parent,
        role=record.role,
        agent=record.agent,
        place=record.place,
        error_message=record.error,
        started_at=record.started,
        completed_at=record.completed,
        since=line.since,
        doing=line.doing,
        heard=_heard(record),
        is_busy=bool(record.running),
        state_history=[
            HistoryItem(stay.state, stay.since, stay.metadata, round(seconds, 3), stay.off_path)
            for stay, seconds in record.durations(now)
        ],
        seconds_in_state={state: round(seconds, 3) for state, seconds in record.totals(now).items()},
        allowed_next=[] if record.outcome else allowed_next(machine, record.state),
        events=record.counts,
        tools=record.tools,
        files=record.files,
        findings=[FindingView(str(one.data.get("code", "")), one.message) for one in record.findings],
        silent_seconds=round(line.quiet, 3),
        usual_seconds=line.usual,
        is_silent=line.is_silent,
    )


def _heard(record: SessionRecord) -> str:
    heard = next(reversed(record.running.values()), record.last)
    return heard.type if heard is not None and heard.type != "state_change" else ""
