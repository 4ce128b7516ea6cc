"""PURE. `progress.md`: where the steps of planning and the tasks stand.

# Progress Tracking

## Planning Progress
- [x] plan-init (Completed)

## Implementation Progress
- [x] task-1 (Completed)
- [/] task-2 (In Progress, Attempt 2) what a person wrote behind it
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from interlock.work.formats.markdown import MarkdownText
from interlock.work.orchestration.run_files.outline import (
    Beside,
    FilePart,
    LineCollector,
    ListItem,
    below_of,
    composed,
    items,
    ours_of,
    tail_of,
)
from interlock.work.orchestration.run_files.text import line_of, one_line, said
from interlock.work.orchestration.values import Mark, Task

__all__ = ["ID", "LABELS", "Oddity", "ProgressRow", "ProgressSheet", "normal_note", "parse_progress", "render_progress"]

ID: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
"""What the id of a task can be: a part of a file's name, and one word."""
LABELS: Final = {
    Mark.OPEN: "Not Started",
    Mark.WORKING: "In Progress",
    Mark.PENDING: "Review Pending",
    Mark.DONE: "Completed",
    Mark.FAILED: "Failed",
    Mark.CLOSED: "Cancelled",
}

_BOX: Final = re.compile(r"\[([^\]]{0,20})\](.*)")
_ROW: Final = re.compile(rf"[ \t]+({ID})(?:[ \t]*\(([^()]*)\))?(?:[ \t:]+(.*)|$)")
_ATTEMPT: Final = re.compile(r"\bAttempt ([0-9]{1,9})\b", re.IGNORECASE)
_KNOWN: Final = re.compile("|".join((*LABELS.values(), "Skipped", "Attempt", "Done", "Pending")), re.IGNORECASE)
_PLANNING: Final = "## Planning Progress"
_TASKS: Final = "## Implementation Progress"


class ProgressRow(msgspec.Struct, frozen=True):
    """A line of the file. What no mark is known for has None."""

    id: str
    mark: Mark | None
    line: int
    attempt: int = 1
    note: str = ""
    box: str = " "
    """What stands in the box, as it is written."""


class Oddity(msgspec.Struct, frozen=True):
    """A line that nothing can be made of, counted from 1, and why."""

    line: int
    why: str
    text: str = ""


class ProgressSheet(msgspec.Struct, frozen=True):
    """What `progress.md` says, and what people wrote beside it."""

    planning: tuple[ProgressRow, ...] = ()
    tasks: tuple[ProgressRow, ...] = ()
    oddities: tuple[Oddity, ...] = ()
    beside: Mapping[str, Beside] = msgspec.field(default_factory=dict)


def render_progress(
    planning: Mapping[str, Mark], tasks: Sequence[Task], beside: Mapping[str, Beside] | None = None
) -> str:
    """The text that says this, with what people wrote beside it."""
    parts = [FilePart("#start"), FilePart("#title", ["# Progress Tracking"]), FilePart("#end title")]
    parts.append(FilePart("#planning", [_PLANNING], spaced=True))
    parts += [FilePart(id_, [_row(id_, mark)]) for id_, mark in planning.items()]
    parts += [FilePart("#end planning"), FilePart("#implementation", [_TASKS], spaced=True)]
    parts += [FilePart(one.id, [_row(one.id, one.mark, one.attempt, one.note)]) for one in tasks]
    return composed([*parts, FilePart("#end implementation")], beside or {})


@lru_cache(maxsize=4096)
def _row(id_: str, mark: Mark, attempt: int = 1, note: str = "") -> str:
    label = LABELS[mark] if attempt == 1 else f"{LABELS[mark]}, Attempt {attempt}"
    note = line_of(normal_note(note))
    return f"- [{mark}] {id_} ({label}){' ' if note else ''}{note}"


def normal_note(text: str) -> str:
    """A note as the file can hold it."""
    return one_line(one_line(text).lstrip(" :"))


def parse_progress(text: str) -> ProgressSheet:
    """What a text says; whatever it is."""
    collector = LineCollector()
    rows: dict[str, list[ProgressRow]] = {"planning": [], "implementation": []}
    oddities: list[Oddity] = []
    for name, body in ours_of(MarkdownText(text), collector, tuple(rows)):
        for one in items(body):
            row = _parsed(one, oddities) if isinstance(one, ListItem) and name in rows else None
            if row is not None and isinstance(one, ListItem):
                rows[name].append(row)
                collector.part(row.id, tail_of(one))
                collector.others(*below_of(one))
            else:
                collector.others(*([one.line, *one.below] if isinstance(one, ListItem) else [one]))
    collector.ours()
    return ProgressSheet(tuple(rows["planning"]), tuple(rows["implementation"]), tuple(oddities), collector.found)


def _parsed(item: ListItem, oddities: list[Oddity]) -> ProgressRow | None:
    """The row that an item is; an item with a box that is none is odd."""
    box = _BOX.fullmatch(item.live)
    if box is None:
        return None
    found = _ROW.fullmatch(box[2])
    number = item.line.number + 1
    if found is None:
        oddities.append(Oddity(number, "it names no task: write `- [ ] task-9: what is to be done`", item.head))
        return None
    inside = found[2] or ""
    attempt = _ATTEMPT.search(inside)
    said_inside = "" if not inside or _KNOWN.search(inside) else inside
    note = normal_note(said(" ".join(part for part in (said_inside, found[3]) if part)))
    return ProgressRow(found[1], _mark(box[1]), number, max(1, int(attempt[1])) if attempt else 1, note, box[1])


def _mark(box: str) -> Mark | None:
    box = "x" if box == "X" else box
    return Mark(box) if box in list(Mark) else None
