"""PURE. The names of sessions and of their files.

A session is named by the second in which it began, `yyMMdd-HHmmss`, with `-2` for a second one in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from interlock.errors import UsageError

__all__ = [
    "ID",
    "PLAN",
    "PROGRESS",
    "QUESTIONS",
    "TASKS",
    "TRANSITIONS",
    "check_session_id",
    "instructions_name",
    "is_session_id",
    "report_name",
    "report_of",
    "session_id",
]

PLAN: Final = "plan.md"
QUESTIONS: Final = "plan.questions.md"
TASKS: Final = "tasks.md"
PROGRESS: Final = "progress.md"
TRANSITIONS: Final = "transitions.jsonl"
ID: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
"""The id of a task, which is one word and part of a file's name."""
_REPORT: Final = re.compile(rf"tasks\.({ID})-report(?:-r([1-9][0-9]{{0,8}}))?\.md")
_SESSION: Final = re.compile(r"[0-9]{6}-[0-9]{6}(?:-(?:[2-9]|[1-9][0-9]{1,8}))?", re.ASCII)


def instructions_name(session: str) -> str:
    return f"{session}.instructions.md"


def report_name(task: str, attempt: int) -> str:
    return f"tasks.{task}-report.md" if attempt == 1 else f"tasks.{task}-report-r{attempt}.md"


def report_of(name: str) -> tuple[str, int] | None:
    """The task and the attempt that a file is the report of; None for another file."""
    found = _REPORT.fullmatch(name)
    return (found[1], int(found[2] or 1)) if found and found[2] != "1" else None


def session_id(now: datetime, taken: Collection[str]) -> str:
    """The id of a session that begins now, in UTC, and that is not among those taken."""
    first = now.astimezone(UTC).strftime("%y%m%d-%H%M%S")
    if first not in taken:
        return first
    number = 2
    while f"{first}-{number}" in taken:
        number += 1
    return f"{first}-{number}"


def is_session_id(name: str) -> bool:
    return _SESSION.fullmatch(name) is not None


def check_session_id(name: str) -> str:
    """Return the id; raise `invalid_argument` if it is not one."""
    if not is_session_id(name):
        message = f"{name[:80]!r} is not the id of a session: an id looks like 260131-144400, or 260131-144400-2."
        raise UsageError("invalid_argument", message, "`ralph orchestrate status` shows the ids.")
    return name
