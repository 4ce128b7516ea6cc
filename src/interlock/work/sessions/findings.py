"""Where what an agent reported and what was observed do not agree. Pure; each finding becomes an entry.

A finding accuses nobody. It says what was seen, when, and in which state, so that nothing is believed silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from interlock.machine import Machine
from interlock.work.formats.times import seconds_of
from interlock.work.sessions.record import SessionRecord
from interlock.world.files import FILE_CLOCK_LAG

__all__ = [
    "SessionFinding",
    "WrittenFile",
    "after_end",
    "may_write",
    "of_others",
    "of_session",
    "of_stay",
    "still_writable",
    "unseen",
]

_SHOWN = 5
_UNSEEN = "unseen_write"


class SessionFinding(msgspec.Struct, frozen=True):
    """One disagreement: a stable code, a sentence, and the state it was seen in."""

    code: str
    message: str
    state: str


class WrittenFile(msgspec.Struct, frozen=True):
    """A file of the work tree and when it was last written, in seconds since 1970."""

    path: str
    at: float


def of_stay(record: SessionRecord, machine: Machine, now: float, reported: str = "unknown") -> list[SessionFinding]:
    """What does not agree in the state that a session is about to leave; `reported` is what it says of its tests."""
    found: list[SessionFinding] = []
    here = record.state
    if record.written and not may_write(machine, here):
        found.append(SessionFinding("write_outside_state", f"{_listed(record.written)} written in {here!r}", here))
    longest = max(record.silence, record.quiet(now))
    usual = _usual(machine, here)
    if usual is not None and longest > usual:
        message = f"nothing was heard for {longest:.0f} s in {here!r}; {usual} s are usual at the most"
        found.append(SessionFinding("silent", message, here))
    if reported == "passed" and record.last_test is False:
        message = "tests were reported as passed, and the last run of tests that a hook saw had failed"
        found.append(SessionFinding("tests_contradicted", message, here))
    return found


def of_session(
    record: SessionRecord, machine: Machine, now: float, written: Sequence[WrittenFile], reported: bool
) -> list[SessionFinding]:
    """What does not agree in a session as a whole, seen at its end; `reported` is whether it ends with test results."""
    found: list[SessionFinding] = []
    if record.tests_seen and not (record.tests_reported or reported):
        message = f"tests were run and no results were reported (runs seen: {record.tests_seen})"
        found.append(SessionFinding("tests_unreported", message, record.state))
    return found + unseen(record, machine, now, written)


def unseen(record: SessionRecord, machine: Machine, now: float, written: Sequence[WrittenFile]) -> list[SessionFinding]:
    """Find what was written in states that do not allow it, and what was not found when they were left."""
    told = {one.data.get("state") for one in record.findings if one.data.get("code") == _UNSEEN}
    found = []
    for number, (stay, seconds) in enumerate(record.durations(now), 1):
        begin = seconds_of(stay.since)
        inside = [one for one in written if begin <= one.at < begin + seconds - FILE_CLOCK_LAG]
        if number == len(record.stays) or stay.state not in told:
            found += _unseen_in(record, machine, stay.state, inside)
    return found


def after_end(record: SessionRecord, machine: Machine, written: Sequence[WrittenFile]) -> list[SessionFinding]:
    """Find what an agent wrote after it had completed its session itself."""
    if record.completed is None:
        return []
    end = seconds_of(record.completed)
    return _unseen_in(record, machine, record.state, [one for one in written if one.at >= end])


def _unseen_in(
    record: SessionRecord, machine: Machine, state: str, inside: Sequence[WrittenFile]
) -> list[SessionFinding]:
    left = [one for one in inside if not any(f"/{name}".endswith(f"/{one.path}") for name in record.files)]
    if not left or may_write(machine, state):
        return []
    first = datetime.fromtimestamp(left[0].at, UTC).strftime("%H:%M:%S")
    message = f"{_listed([one.path for one in left])} written at {first} in {state!r}; no hook saw it"
    return [SessionFinding(_UNSEEN, message, state)]


def still_writable(state: str, *, is_busy: bool) -> SessionFinding:
    """The finding of a tree that could not be made read-only for a state."""
    why = "a file in it was open for writing" if is_busy else "the system refused to change it"
    return SessionFinding("still_writable", f"the tree stayed writable in {state!r}: {why}", state)


def of_others(state: str, beside: Sequence[WrittenFile]) -> list[SessionFinding]:
    """What was written in the repository's own work tree while a session had one for itself."""
    if not beside:
        return []
    paths = _listed([one.path for one in beside])
    message = f"{paths} written in the repository's own work tree while the agent worked in another one"
    return [SessionFinding("written_beside", message, state)]


def may_write(machine: Machine, state: str) -> bool:
    """True if a state allows to write, or says nothing of tools."""
    declared = machine.states.get(state)
    return declared is None or declared.tools is None or "write" in declared.tools


def _usual(machine: Machine, state: str) -> int | None:
    declared = machine.states.get(state)
    return declared.typical_seconds[-1] if declared is not None and declared.typical_seconds else None


def _listed(paths: Sequence[str]) -> str:
    unique = list(dict.fromkeys(paths))
    shown = ", ".join(unique[:_SHOWN])
    if len(unique) > _SHOWN:
        return f"{shown} and {len(unique) - _SHOWN} more were"
    return f"{shown} was" if len(unique) == 1 else f"{shown} were"
