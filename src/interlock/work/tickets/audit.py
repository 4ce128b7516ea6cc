"""The trail of a ticket: each move as a comment, for people and for programs, that nobody else's text can pass for.

The layout is the source system's; the hidden line under it holds the same and the hash of the journal's entry,
so that a comment that somebody typed is told from one that the journal stands behind.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from interlock.decoding import convert

if TYPE_CHECKING:
    from interlock.journal import Entry

__all__ = ["Trail", "comment_of", "disarmed", "is_move", "manner_of", "marker", "parse", "trail_of"]

_UNKNOWN = "(unknown)"
_HIDDEN = r"(?m)^<!-- ralph-transition: (\{.*\}) -->$"
_VISIBLE = (
    r"(?m)^\*\*State transition\*\*: (?P<from>.+?) → (?P<to>[^()\n]+?)(?: \(intent: (?P<intent>[a-z_]+)\))?\n"
    r"\*\*Command\*\*: (?P<command>.+)\n"
    r"\*\*Reason\*\*: (?P<reason>.*(?:\n(?!<!--).*)*)"
)
_FORGERY = r"(?im)^([\s>]*)(\*\*(?:state transition|command|reason)\*\*)|(<!--\s*ralph)"


class Trail(msgspec.Struct, frozen=True, omit_defaults=True, rename={"source": "from"}):
    """One move of a ticket, as its audit comment tells it."""

    source: str | None
    to: str
    command: str | None
    reason: str
    intent: str | None = None
    by: str = ""
    at: str = ""
    entry: int = 0
    hash: str = ""
    """The hash of the journal's entry; empty in what another program wrote."""


def is_move(entry: Entry) -> bool:
    """Whether an entry moved a ticket, or gave or took its lock."""
    return entry.event not in ("created", "noted", "observed", "merge_observed")


def manner_of(entry: Entry) -> str:
    """The command and the intent of a move, in words; of one that is not a handoff, its event."""
    intent = entry.decoded_evidence().data.get("intent")
    words = " ".join(str(one) for one in (entry.command, intent) if one)
    return words or ("" if entry.event == "handoff" else entry.event.replace("_", " "))


def trail_of(entry: Entry) -> Trail:
    """What an entry of a ticket tells."""
    return Trail(
        source=entry.from_state,
        to=entry.to_state,
        command=entry.command,
        reason=entry.reason or "",
        intent=entry.decoded_evidence().data.get("intent"),
        by=f"{entry.actor_kind} {entry.actor_id}",
        at=entry.time,
        entry=entry.seq,
        hash=entry.hash,
    )


def comment_of(trail: Trail) -> str:
    """The audit comment: three lines for people, one for programs."""
    intent = f" (intent: {trail.intent})" if trail.intent else ""
    command = f"ralph_{trail.command}" if trail.command else f"none ({trail.by})"
    return (
        f"**State transition**: {trail.source or _UNKNOWN} → {trail.to}{intent}\n"
        f"**Command**: {command}\n"
        f"**Reason**: {disarmed(trail.reason)}\n"
        f"{marker(trail)}"
    )


def marker(trail: Trail) -> str:
    """The hidden line: JSON in which nothing can end the comment that it stands in."""
    text = msgspec.json.encode(trail).decode()
    for letter in "<>-":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return f"<!-- ralph-transition: {text} -->"


def disarmed(text: str) -> str:
    """Anybody's text, made so that no part of it can be taken for an audit comment; people read the same."""
    return re.sub(_FORGERY, lambda found: f"{found[1]}\\{found[2]}" if found[2] else f"&lt;{found[3][1:]}", text)


def parse(text: str) -> Trail | None:
    """The move that an audit comment tells: by its hidden line, else by the lines that people read; None for others."""
    hidden = re.search(_HIDDEN, text)
    if hidden is not None:
        try:
            return _from_hidden(msgspec.json.decode(hidden[1]))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
    seen = re.search(_VISIBLE, text)
    if seen is None:
        return None
    source = None if seen["from"] == _UNKNOWN else seen["from"]
    return Trail(source, seen["to"], _command(seen["command"]), seen["reason"].strip(), seen["intent"])


def _from_hidden(found: Any) -> Trail:
    if isinstance(found, dict) and "reason" not in found:  # as the source system writes it
        found = {**found, "reason": "", "command": _command(str(found.get("command", "")))}
    return convert(found, Trail)


def _command(text: str) -> str | None:
    return text.removeprefix("ralph_") if text.startswith("ralph_") else None
