"""PURE. What a span may hold of what others wrote: names that are names, texts without secrets, and times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from interlock.journal import Entry
from interlock.work.formats.quoting import sayable
from interlock.work.formats.times import milliseconds_of
from interlock.world.redaction import redacted
from interlock.world.telemetry.span import Value

__all__ = ["milliseconds", "nanoseconds", "seen_at", "text", "texts", "the_name"]

_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_LONGEST: Final = 4000


def the_name(name: object, otherwise: str) -> str:
    """A name as it is, if it is one: an agent chooses what it calls its tools, and a path or a text is no name."""
    return name if isinstance(name, str) and _NAME.fullmatch(name) else otherwise


def texts(named: Mapping[str, object]) -> dict[str, Value]:
    """Those that say something, as they can be sent."""
    return {name: text(value) for name, value in named.items() if value}


def text(value: object) -> str:
    """What agents and people wrote, without secrets, without what a terminal would obey, and with an end."""
    return redacted(sayable(str(value or "")))[:_LONGEST]


def nanoseconds(time: str) -> int:
    """A time of the journal, in nanoseconds since 1970."""
    return milliseconds_of(time) * 10**6


def seen_at(data: Mapping[str, Any], entry: Entry) -> int:
    """When a hook saw something, which may have waited for somebody to write it down."""
    try:
        return nanoseconds(str(data["at"]))
    except (KeyError, ValueError):
        return nanoseconds(entry.time)


def milliseconds(data: Mapping[str, Any]) -> int:
    """How long a hook says that something took; nothing where it does not."""
    taken = data.get("milliseconds")
    return taken if type(taken) is int and 0 <= taken < 1 << 40 else 0
