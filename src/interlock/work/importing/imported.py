"""PURE. A piece of work that comes from elsewhere, and what all readers of such work share."""

from __future__ import annotations

import hashlib
import re
from typing import Final

import msgspec

from interlock.errors import UsageError
from interlock.journal import CONTROL

__all__ = [
    "MAX_ID",
    "Batch",
    "Imported",
    "SkippedItem",
    "SourceFile",
    "digest_id",
    "invalid",
    "named",
    "one_line",
    "plain",
    "scoped",
]

MAX_ID: Final = 120
_PRIORITIES: Final = {
    **dict.fromkeys(("p0", "critical", "urgent", "highest", "blocker"), "P0"),
    **dict.fromkeys(("p1", "high"), "P1"),
    **dict.fromkeys(("p2", "medium", "normal"), "P2"),
    **dict.fromkeys(("p3", "p4", "low", "lowest", "minor"), "P3"),
}


class SourceFile(msgspec.Struct, frozen=True):
    """A file that was read."""

    where: str
    """What people call it."""
    scope: str
    """The name of the directory that it is in: ids of some forms are only one file's."""
    text: str


class Imported(msgspec.Struct, frozen=True):
    """A piece of work as its source has it; what it refers to are ids of the same form."""

    id: str
    title: str
    body: str = ""
    criteria: tuple[str, ...] = ()
    priority: str | None = None
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    parent: str | None = None
    blocked_by: tuple[str, ...] = ()
    is_done: bool = False
    link: str = ""
    """Where it can be looked at."""
    where: str = ""
    """The file and line, for people."""


class SkippedItem(msgspec.Struct, frozen=True):
    """Something in a source that is no piece of work for us, and why."""

    id: str
    title: str
    why: str


class Batch(msgspec.Struct, frozen=True):
    """What a source holds, in the order in which it is to be done."""

    items: tuple[Imported, ...]
    left: tuple[SkippedItem, ...] = ()


def invalid(where: str, what: str, hint: str = "Mend it there, and import it again.") -> UsageError:
    """The error of a source that cannot be used."""
    return UsageError("import_invalid", f"{where}: {what}. Nothing was written.", hint)


def plain(text: str, where: str) -> str:
    """A text of several lines, trimmed; what could hide something in it, or steer a terminal, is an error."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found = CONTROL.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        what = f"line {line} of the text has the character U+{ord(found[0]):04X}, which steers and does not show"
        raise invalid(where, what, "Take it out there, and import it again.")
    return text.strip()


def one_line(text: str, where: str) -> str:
    """A text as one line; what has no width is left out."""
    return "".join(one for one in " ".join(plain(text, where).split()) if one.isprintable()).strip()


def named(priority: str) -> str | None:
    """One of our priorities, by the word that others have for it."""
    return _PRIORITIES.get(" ".join(priority.lower().split()))


def digest_id(text: str) -> str:
    """An id for what has none: the beginning of what it says, and a part of its hash."""
    said = " ".join(text.split())
    start = "-".join(re.findall(r"[a-z0-9]+", said.lower())[:5])[:40].strip("-")
    return f"{start}-{_hash(said)}" if start else _hash(said)


def scoped(scope: str, id_: str) -> str:
    """An id that is only one file's, made one of all files."""
    whole = f"{scope}/{id_}" if scope else id_
    return whole if len(whole) <= MAX_ID else f"{whole[: MAX_ID - 9]}~{_hash(whole)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
