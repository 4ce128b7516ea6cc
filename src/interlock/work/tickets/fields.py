"""The plain fields of a ticket: what each may hold. None of them moves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from interlock.errors import UsageError
from interlock.journal import CONTROL
from interlock.machine import Machine
from interlock.world.redaction import redacted

__all__ = ["MAX_PROSE", "MAX_TITLE", "MAX_WORD", "PLAIN", "plain_fields", "prose", "reason_text", "words"]

MAX_TITLE = 200
MAX_PROSE = 65_536
MAX_REASON = 10_000
MAX_WORD = 100
_MOST_WORDS = 100
PLAIN = (
    "Give title, body, estimate, priority, labels or assignees. The workflow state is no field: only "
    "`ralph ticket handoff` moves a ticket."
)


def plain_fields(machine: Machine, given: dict[str, Any]) -> dict[str, Any]:
    """The fields that are given, checked; an empty estimate or priority takes it away."""
    checks: dict[str, Callable[[Any], Any]] = {
        "title": _title,
        "body": lambda text: prose("body", text),
        "estimate": lambda text: _choice("estimate", text, machine.form.estimates),
        "priority": lambda text: _choice("priority", text, machine.form.priorities),
        "labels": lambda names: words("label", names),
        "assignees": lambda names: words("assignee", names),
    }
    unknown = [name for name in given if name not in checks]
    if unknown:
        raise UsageError("invalid_argument", f"{unknown[0][:80]!r} is no plain field of a ticket.", PLAIN)
    return {name: checks[name](value) for name, value in given.items()}


def _title(text: str) -> str:
    title = redacted(text.strip())
    if not (0 < len(title) <= MAX_TITLE and title.isprintable()):
        message = f"A title is one line of 1 to {MAX_TITLE} printable characters."
        raise UsageError("invalid_argument", message, "Put the rest into the body.")
    return title


def prose(what: str, text: str, *, empty: bool = True) -> str:
    """A text of several lines, without secrets."""
    text = text.replace("\r\n", "\n")
    if len(text) > MAX_PROSE or CONTROL.search(text) or not (empty or text.strip()):
        length = f"{'0' if empty else '1'} to {MAX_PROSE}"
        message = f"A {what} is a text of {length} characters, without control characters."
        raise UsageError("invalid_argument", message, "Shorten it, or put what is long into a file and name that.")
    return redacted(text)


def reason_text(text: str) -> str:
    """Why a ticket is moved: it must be said."""
    text = text.strip().replace("\r\n", "\n")
    if not text:
        hint = "Say in a sentence why the ticket moves, and what was done; whoever reads the ticket relies on it."
        raise UsageError("invalid_argument", "A handoff needs a reason.", hint)
    if len(text) > MAX_REASON or CONTROL.search(text):
        message = f"A reason is a text of 1 to {MAX_REASON} characters, without control characters."
        raise UsageError("invalid_argument", message, "Say it shortly, and put the rest into a comment or a file.")
    return redacted(text)


def words(what: str, names: Sequence[str]) -> list[str]:
    """A list of short texts, each once."""
    found = list(dict.fromkeys(name.strip() for name in names))
    if len(found) > _MOST_WORDS or not all(0 < len(name) <= MAX_WORD and name.isprintable() for name in found):
        message = f"A {what} is 1 to {MAX_WORD} printable characters, and there are {_MOST_WORDS} at the most."
        raise UsageError("invalid_argument", message, "Rename what is not, and leave out what is too much.")
    return found


def _choice(what: str, text: str | None, choices: dict[str, Any]) -> str | None:
    if text is None or text.strip().lower() in ("", "none"):
        return None
    chosen = text.strip().upper()
    if chosen not in choices:
        message = f"{text[:80]!r} is no {what}."
        raise UsageError("invalid_argument", message, f"One of: {', '.join(choices)}; or none.")
    return chosen
