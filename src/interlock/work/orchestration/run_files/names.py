"""PURE. The ids of sessions: the second in which one began, as `yyMMdd-HHmmss`, with `-2` for a second one in it."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from interlock.errors import UsageError

__all__ = ["check_session_id", "is_session_id", "session_id"]

_ID: Final = re.compile(r"[0-9]{6}-[0-9]{6}(?:-(?:[2-9]|[1-9][0-9]{1,8}))?", re.ASCII)


def session_id(now: datetime, taken: Collection[str]) -> str:
    """The id of a session that begins now, in UTC, and that none of those taken has."""
    first = now.astimezone(UTC).strftime("%y%m%d-%H%M%S")
    if first not in taken:
        return first
    number = 2
    while f"{first}-{number}" in taken:
        number += 1
    return f"{first}-{number}"


def is_session_id(name: str) -> bool:
    return _ID.fullmatch(name) is not None


def check_session_id(name: str) -> str:
    """The id, if it is one; else `invalid_argument`."""
    if not is_session_id(name):
        message = f"{name[:80]!r} is no id of a session: such an id looks like 260131-144400, or 260131-144400-2."
        raise UsageError("invalid_argument", message, "`ralph orchestrate status` shows the ids.")
    return name
