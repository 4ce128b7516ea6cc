"""What a session's entries add up to: where it is, how it came there, how long each state took, what was seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from interlock.machine.model import NOTED
from interlock.work.formats.times import seconds_of
from interlock.world.place import Place

if TYPE_CHECKING:
    from interlock.journal import Entry

__all__ = ["COMPLETE", "MOVES", "TYPES", "UPDATE", "Note", "ReportedState", "SessionRecord", "record_of"]

UPDATE = "update_session_state"
COMPLETE = "complete_ralph_session"
MOVES = ("created", UPDATE, COMPLETE)
TYPES = ("thinking", "tool_start", "tool_end", "file_change", "progress", "state_change", "error")
"""The kinds of events that a session can be told of; `denied` and `finding` are ours."""


class ReportedState(msgspec.Struct, frozen=True):
    """One state that was reported, from when on, and with what."""

    state: str
    since: str
    metadata: dict[str, Any]
    off_path: bool = False

    def seconds(self, until: float) -> float:
        """How long it took; a clock that was set back makes it no less than nothing."""
        return max(0.0, until - seconds_of(self.since))


class Note(msgspec.Struct, frozen=True):
    """Something that was told or seen during a session, or a change of its state."""

    seq: int
    time: str
    type: str
    data: dict[str, Any]
    by: str

    @property
    def message(self) -> str:
        """It in a few words."""
        data = self.data
        said = data.get("message") or data.get("error")
        if said:
            return str(said)
        about = str(data.get("about") or data.get("file") or "")
        tool = str(data.get("tool") or "")
        return f"{tool}: {about}" if tool and about else tool or about or str(data.get("state") or "")


class SessionRecord(msgspec.Struct):
    """A session as its entries tell it. Entries are taken in order; it may begin in the middle."""

    id: str = ""
    ticket_id: str | None = None
    parent: str | None = None
    role: str | None = None
    agent: str | None = None
    place: Place | None = None
    state: str = ""
    outcome: str | None = None
    error: str | None = None
    started: str = ""
    updated: str = ""
    completed: str | None = None
    stays: list[ReportedState] = msgspec.field(default_factory=list)
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    tools: dict[str, int] = msgspec.field(default_factory=dict)
    files: list[str] = msgspec.field(default_factory=list)
    findings: list[Note] = msgspec.field(default_factory=list)
    running: dict[str, Note] = msgspec.field(default_factory=dict)
    last: Note | None = None
    tests_seen: int = 0
    tests_reported: bool = False
    # Since the last change of state:
    written: list[str] = msgspec.field(default_factory=list)
    last_test: bool | None = None
    silence: float = 0.0
    heard: float = 0.0
    """When the last sign of life was, in seconds since 1970."""

    def take(self, entry: Entry) -> Note:
        """Add the next entry; what it tells."""
        data = entry.decoded_evidence().data
        heard = _heard(entry, data)
        if self.updated and not self.running:
            self.silence = max(self.silence, heard - self.heard)
        self.heard = max(self.heard, heard)
        self.id, self.state, self.updated = entry.instance, entry.to_state, entry.time
        if entry.event == NOTED:
            note = Note(entry.seq, entry.time, str(data.get("type") or "progress"), data, entry.actor_kind)
            self._note(note)
        else:
            note = self._move(entry, data)
        self.counts[note.type] = self.counts.get(note.type, 0) + 1
        if note.type != "finding":
            self.last = note
        return note

    def _move(self, entry: Entry, data: dict[str, Any]) -> Note:
        self.written, self.last_test, self.silence = [], None, 0.0
        self.running = {}  # who reports has come back from its tools, also from one whose end no hook saw
        if entry.event == "created":
            self._begin(entry, data)
            data = {"action": "session_created"}
        elif entry.event == COMPLETE:
            self.outcome, self.error = str(data.get("outcome") or ""), data.get("error")
            self.completed = entry.time
        elif entry.event not in MOVES:
            self.outcome, self.completed = entry.event, entry.time
        if "testResults" in data:
            self.tests_reported = True
        self.stays.append(ReportedState(entry.to_state, entry.time, data, bool(entry.off_path)))
        came = {"previousState": entry.from_state} if entry.from_state else {}
        told = {"state": entry.to_state, **came, "message": _said(entry, data)}
        return Note(entry.seq, entry.time, "state_change", told, entry.actor_kind)

    def _begin(self, entry: Entry, data: dict[str, Any]) -> None:
        self.started = entry.time
        self.parent = data.get("created", {}).get("parent")
        self.ticket_id = data.get("ticket_id") or self.parent
        self.role, self.agent, self.place = data.get("role"), data.get("agent"), Place.of(data)

    def _note(self, note: Note) -> None:
        """Only what the system saw counts as seen; what an agent tells is shown and believed no further."""
        data = note.data
        if note.by != "system":
            return
        call = str(data.get("call") or data.get("tool") or "")
        if note.type == "tool_start":
            self.running[call] = note
        elif note.type in ("tool_end", "denied"):
            self.running.pop(call, None)
        if note.type == "tool_end":
            self._tool_end(data)
        elif note.type == "file_change":
            file = str(data.get("file") or "?")
            self.written.append(file)
            if file not in self.files:
                self.files.append(file)
        elif note.type == "finding":
            self.findings.append(note)

    def _tool_end(self, data: dict[str, Any]) -> None:
        tool = str(data.get("tool") or "?")
        self.tools[tool] = self.tools.get(tool, 0) + 1
        if data.get("tests"):
            self.tests_seen += 1
            self.last_test = bool(data.get("success")) if data.get("known") else None

    # How long

    def end(self, now: float) -> float:
        return seconds_of(self.completed) if self.completed else max(now, seconds_of(self.updated))

    def durations(self, now: float) -> list[tuple[ReportedState, float]]:
        """Each stay with the seconds it took, the last one until now or until the session's end."""
        ends = [*(seconds_of(stay.since) for stay in self.stays[1:]), self.end(now)]
        return [(stay, stay.seconds(until)) for stay, until in zip(self.stays, ends, strict=True)]

    def totals(self, now: float) -> dict[str, float]:
        """The seconds spent in each state, in the order in which the states were first entered."""
        spent: dict[str, float] = {}
        for stay, seconds in self.durations(now):
            spent[stay.state] = spent.get(stay.state, 0.0) + seconds
        if self.outcome is not None and self.stays:
            spent.pop(self.stays[-1].state, None)  # a state that ends the session takes no time
        return spent

    def quiet(self, now: float) -> float:
        """For how many seconds nothing was heard; nothing while a tool runs or after the end."""
        return 0.0 if self.outcome is not None or self.running else max(0.0, now - self.heard)


def _heard(entry: Entry, data: dict[str, Any]) -> float:
    """When it happened: what a hook saw may have waited for somebody to write it down."""
    seen = data.get("at") if entry.event == NOTED and entry.channel == "hook" else None
    try:
        return seconds_of(seen) if isinstance(seen, str) else seconds_of(entry.time)
    except ValueError:
        return seconds_of(entry.time)


def _said(entry: Entry, data: dict[str, Any]) -> str:
    if entry.event == "created":
        return "Session started"
    if entry.event == COMPLETE:
        outcome = str(data.get("outcome"))
        return "Session completed successfully" if outcome == "success" else f"Session ended: {outcome}"
    said = data.get("message")
    return str(said) if said else f"Transitioned to {entry.to_state}"


def record_of(entries: Iterable[Entry]) -> SessionRecord:
    """The record of one session's entries."""
    record = SessionRecord()
    for entry in entries:
        record.take(entry)
    return record
