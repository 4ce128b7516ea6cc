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

__all__ = ["SessionFinding", "WrittenFile", "of_others", "of_session", "of_stay"]

_SHOWN = 5


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
    if record.written and not _may_write(machine, here):
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
    for stay, seconds in record.durations(now):
        begin = seconds_of(stay.since)
        inside = [one for one in written if begin <= one.at < begin + seconds - FILE_CLOCK_LAG]
        unseen = [one for one in inside if not any(f"/{name}".endswith(f"/{one.path}") for name in record.files)]
        if unseen and not _may_write(machine, stay.state):
            first = datetime.fromtimestamp(unseen[0].at, UTC).strftime("%H:%M:%S")
            message = f"{_listed([one.path for one in unseen])} written at {first} in {stay.state!r}; no hook saw it"
            found.append(SessionFinding("unseen_write", message, stay.state))
    return found


def of_others(state: str, beside: Sequence[WrittenFile]) -> list[SessionFinding]:
    """What was written in the repository's own work tree while a session had one for itself."""
    if not beside:
        return []
    paths = _listed([one.path for one in beside])
    message = f"{paths} written in the repository's own work tree while the agent worked in another one"
    return [SessionFinding("written_beside", message, state)]


def _may_write(machine: Machine, state: str) -> bool:
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
