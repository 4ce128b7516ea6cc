"""Sessions: agents at work, as they report themselves, and what does not agree with what was seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from interlock.faces.web.looks import StateStyle, look_of
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.journal import Entry, Instance
from interlock.machine import Machine
from interlock.work.inspection.references import Reference, reference_to
from interlock.work.sessions.record import Note, SessionRecord
from interlock.work.sessions.summary import SessionSummary, Share, shares_of, summary_of
from interlock.work.sessions.verbs import MACHINE, find_session
from interlock.work.views.session import view_of_session

__all__ = ["PAGES", "SessionRow", "session_rows"]

_MOST_ROWS = 30
_MOST_EVENTS = 200
_MOST_STAYS = 200
_MOST_FILES = 100
_ID_LENGTH = 26


class SessionRow(msgspec.Struct, frozen=True):
    """A session in a list: what it does, how it looks, and whose it is."""

    session: SessionSummary
    look: StateStyle
    of: Reference | None


def session_rows(sight: Sight, instances: Iterable[Instance]) -> list[SessionRow]:
    """Sessions for a list; the pages of tickets and threads show theirs so, too."""
    rows = []
    for one in instances:
        machine = sight.journal.machine_of(one)
        with sight.watch.lock:
            found = summary_of(sight.watch.sessions.of(sight.journal, one), machine, sight.now)
        of = reference_to(sight.journal, sight.watch, one.parent)
        rows.append(SessionRow(found, look_of(machine, found.state), of))
    return rows


def _list(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    before = asked.query.get("before") or None
    found = sight.journal.recent(MACHINE, _MOST_ROWS + 1, before=before)
    shown = found[:_MOST_ROWS]
    older = shown[-1].id if len(found) > _MOST_ROWS else None
    return {"rows": session_rows(sight, shown), "older": older, "is_first": before is None}


# One session


class _Stay(msgspec.Struct, frozen=True):
    """One state that was reported."""

    look: StateStyle
    since: str
    seconds: float | None
    """None where it goes on, or ends the session."""
    said: str
    tests: str
    off_path: bool


class _Event(msgspec.Struct, frozen=True):
    """Something that was told or seen."""

    seq: int
    time: str
    type: str
    by: str
    said: str
    look: StateStyle | None = None
    is_off_path: bool = False


class _Bar(msgspec.Struct, frozen=True):
    """One state's share of the bar."""

    look: StateStyle
    start: float
    part: float
    words: str


def _show(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    instance = find_session(sight.journal, asked.names["id"])
    machine = sight.journal.machine_of(instance)
    with sight.watch.lock:
        record = sight.watch.sessions.of(sight.journal, instance)
        found = view_of_session(record, machine, sight.now)
        given: dict[str, Any] = {
            "stays": _stays(record, machine)[-_MOST_STAYS:][::-1],
            "left_out": max(0, len(record.stays) - _MOST_STAYS),
            "bar": [_bar(one, machine) for one in shares_of(record, sight.now)],
            "findings": [_finding(one, machine) for one in record.findings[-_MOST_EVENTS:][::-1]],
            "most_files": _MOST_FILES,
        }
    newest = sight.journal.history(instance.id, max(0, instance.version - _MOST_EVENTS))
    return {
        **given,
        "session": found,
        "look": look_of(machine, found.state),
        "of": reference_to(sight.journal, sight.watch, instance.parent),
        "events": _events(newest, machine)[::-1],
        "older_events": max(0, instance.version - _MOST_EVENTS),
        "legend": _legend(record, machine),
    }


def _stays(record: SessionRecord, machine: Machine) -> list[_Stay]:
    known = record.durations(record.heard)
    last = len(known) - 1
    return [
        _Stay(
            look=look_of(machine, stay.state),
            since=stay.since,
            seconds=None if place == last else seconds,
            said=str(stay.metadata.get("message") or stay.metadata.get("error") or ""),
            tests=_tests(stay.metadata.get("testResults")),
            off_path=stay.off_path,
        )
        for place, (stay, seconds) in enumerate(known)
    ]


def _tests(results: object) -> str:
    if not isinstance(results, dict):
        return ""
    return ", ".join(f"{results[name]} {name}" for name in ("passed", "failed", "skipped") if results.get(name))


def _bar(share: Share, machine: Machine) -> _Bar:
    look = look_of(machine, share.state)
    took = "goes on" if share.is_open else f"{share.seconds:.0f} s"
    return _Bar(look, share.start, share.part, f"{look.label}: {took}{', off the path' if share.off_path else ''}")


def _legend(record: SessionRecord, machine: Machine) -> list[tuple[StateStyle, float | None]]:
    """The seconds in each state that has been left; None for the one that it is in."""
    spent: dict[str, float | None] = {}
    for stay, seconds in record.durations(record.heard)[:-1]:
        spent[stay.state] = (spent.get(stay.state) or 0.0) + seconds
    if record.outcome is None and record.stays:
        spent.setdefault(record.state, None)
    return [(look_of(machine, state), seconds) for state, seconds in spent.items()]


def _finding(note: Note, machine: Machine) -> tuple[str, str, StateStyle, str]:
    return str(note.data.get("code", "")), note.message, look_of(machine, str(note.data.get("state", ""))), note.time


def _events(entries: Iterable[Entry], machine: Machine) -> list[_Event]:
    telling = SessionRecord()
    found = []
    for entry in entries:
        note = telling.take(entry)
        look = look_of(machine, str(note.data["state"])) if note.type == "state_change" else None
        who = f"{entry.actor_kind} {entry.actor_id}"
        found.append(_Event(note.seq, note.time, note.type, who, note.message, look, bool(entry.off_path)))
    return found


def _all(asked: PageRequest) -> frozenset[str]:
    return frozenset({MACHINE})


def _topics(asked: PageRequest) -> frozenset[str]:
    id_ = asked.names["id"]
    return frozenset({id_ if len(id_) == _ID_LENGTH else MACHINE})  # by the end of an id, it may be any session


PAGES = (
    PageKind("/sessions", "sessions.html", _list, _all, heading="Sessions", key="s", ages=True),
    PageKind("/session/{id}", "session.html", _show, _topics, ages=True),
)
