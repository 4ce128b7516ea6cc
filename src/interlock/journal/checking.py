"""What may be written into an entry: words, reasons and evidence of a shape and size that can be read for ever."""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from interlock.decoding import decode
from interlock.errors import Refusal, UsageError
from interlock.machine import Channel, Event, Evidence

__all__ = ["CONTROL", "checked"]

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""What no text that is kept may hold: control characters but for line breaks and tabs, lone surrogates, and what
turns the direction of text around."""
_MAX_EVIDENCE = 256 * 1024
_MAX_REASON = 10_000
_MAX_TEXT = 200
_MAX_DEPTH = 64
_CHANNELS = [channel.value for channel in Channel]


def checked(event: Event, key: str | None) -> Event:
    """The event as it will be read back, or a refusal of what must not reach the journal."""
    actor = event.actor
    if not (
        _is_word(actor.id)
        and _is_word(event.name)
        and (event.to is None or _is_word(event.to))
        and (event.command is None or _is_word(event.command))
        and (key is None or _is_word(key))
    ):
        message = f"An actor, event, state, command and key are each 1 to {_MAX_TEXT} printable characters."
        raise UsageError("invalid_argument", message, "Shorten or rename what is not.")
    if actor.channel not in _CHANNELS:
        message = f"{str(event.actor.channel)[:80]!r} is no channel."
        raise UsageError("invalid_argument", message, f"Channels are {', '.join(Channel)}.")
    if event.reason is not None and not _is_reason(event.reason):
        message = f"A reason is at most {_MAX_REASON} characters of text, without control characters."
        raise UsageError("invalid_argument", message, "Shorten it, or put the rest into a file.")
    return event if event.evidence is None else replace(event, evidence=_read_back(event.evidence))


def _is_word(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= _MAX_TEXT and text.isprintable()


def _is_reason(text: object) -> bool:
    return isinstance(text, str) and len(text) <= _MAX_REASON and CONTROL.search(text) is None


def _read_back(evidence: Evidence) -> Evidence:
    """The evidence as it will be read from the journal; whatever would not come back the same is refused."""
    try:
        text = msgspec.json.encode(evidence)
        read = decode(text, Evidence)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _misshapen(str(error)) from None
    if len(text) > _MAX_EVIDENCE:
        raise _misshapen(f"it has {len(text)} bytes, and {_MAX_EVIDENCE} are kept at the most")
    if b"\\u0000" in text.replace(b"\\\\", b""):
        raise _misshapen("it holds a NUL")
    if not all(_is_word(name) for name in read.names):
        raise _misshapen(f"a name is 1 to {_MAX_TEXT} printable characters")
    if text.count(b"[") + text.count(b"{") > _MAX_DEPTH and _depth(read.data) > _MAX_DEPTH:
        raise _misshapen(f"it is nested more than {_MAX_DEPTH} deep")
    if read != evidence:
        raise _misshapen("it holds something that JSON cannot, such as a tuple or a number that is none")
    return read


def _misshapen(why: str) -> Refusal:
    message = f"The evidence has the wrong shape: {why}."
    return Refusal("evidence_invalid", message, "Give JSON values, and keep large things in a file with its hash here.")


def _depth(data: object) -> int:
    """How deep a JSON value is nested, found without recursion."""
    depth, level = 0, [data]
    while level:
        depth += 1
        inside = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [value for values in inside for value in values]
    return depth
