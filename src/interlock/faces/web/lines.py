"""Entries as pages print them: plain values, with what is remarkable about them marked."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from interlock.faces.web.looks import StateStyle, look_of
from interlock.journal import Entry
from interlock.machine import Machine
from interlock.machine.model import NOTED
from interlock.work.gates.approval import REFUSED

__all__ = ["HOMES", "EntryLine", "line_of"]

HOMES: Final = {"thread": "/thread/", "story": "/story/", "orchestrator": "/run/", "session": "/session/"}
"""Where the instances of machines have a page of their own, by their ids."""
_MOST_EVIDENCE: Final = 20_000
_MOST_REASON: Final = 2_000
_MOST_TOLD: Final = 160


class EntryLine(msgspec.Struct, frozen=True):
    """An entry to print."""

    entry: Entry
    machine: str
    source: StateStyle | None
    """None where the instance began with it."""
    target: StateStyle
    reason: str
    told: str
    """What a note says, in a few words."""
    evidence: str
    """As JSON, over several lines, not without an end; empty where there is none."""
    marks: tuple[tuple[str, str], ...]
    """What is remarkable: the class of its colour, and the words."""

    @property
    def moves(self) -> bool:
        return self.entry.from_state != self.entry.to_state


def line_of(entry: Entry, machine: str, definition: Machine | None) -> EntryLine:
    """An entry as a page prints it; also one that somebody changed behind our back."""
    evidence = _decoded(entry.evidence)
    data = evidence.get("data") if isinstance(evidence, dict) else None
    return EntryLine(
        entry=entry,
        machine=machine,
        source=None if entry.from_state is None else look_of(definition, entry.from_state),
        target=look_of(definition, entry.to_state),
        reason=_cut(entry.reason or "", _MOST_REASON),
        told=_told(data) if entry.event == NOTED and isinstance(data, dict) else "",
        evidence="" if entry.evidence == "{}" else _pretty(evidence if evidence is not None else entry.evidence),
        marks=tuple(_marks(entry, data if isinstance(data, dict) else {})),
    )


def _marks(entry: Entry, data: dict[str, Any]) -> list[tuple[str, str]]:
    found = []
    if entry.off_path:
        found.append(("bad", "off path"))
    if entry.event == NOTED and data.get("type") == REFUSED:
        found.append(("bad", "refused"))
    if entry.event == NOTED and data.get("type") == "finding":
        found.append(("warn", "finding"))
    if entry.event == NOTED and data.get("type") == "denied":
        found.append(("bad", "denied"))
    if isinstance(data.get("approval"), dict):
        found.append(("good", "approval"))
    if entry.channel in ("demo", "test"):
        found.append(("calm", entry.channel))
    return found


def _told(data: dict[str, Any]) -> str:
    said = data.get("message") or data.get("about") or data.get("file") or data.get("why") or ""
    return _cut(": ".join(str(word) for word in (data.get("type"), data.get("tool"), said) if word), _MOST_TOLD)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _pretty(value: object) -> str:
    """A value as JSON that people can read."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = str(value)
    return _cut(text, _MOST_EVIDENCE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} more characters)"
