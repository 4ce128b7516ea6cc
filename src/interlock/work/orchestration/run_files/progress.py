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

from interlock.work.orchestration.run_files.document import (
    Beside,
    Block,
    Found,
    Oddity,
    Sheet,
    Taken,
    begin_with,
    chapter,
    read,
    render,
)
from interlock.work.orchestration.run_files.items import ListItem, below_of, tail_of
from interlock.work.orchestration.run_files.names import ID
from interlock.work.orchestration.run_files.text import line_of, one_line, said
from interlock.work.orchestration.values import Mark, Task

__all__ = ["LABELS", "ProgressRow", "ProgressSheet", "normal_note", "parse_progress", "render_progress"]

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
_CHAPTERS: Final = {"planning": "planning", "implementation": "implementation"}


class ProgressRow(msgspec.Struct, frozen=True):
    """The content of a line of the file."""

    mark: Mark | None
    """None for a box that holds no mark."""
    attempt: int = 1
    note: str = ""
    box: str = " "
    """The box as it is written."""


class ProgressSheet(Sheet[ProgressRow], frozen=True):
    """The content of `progress.md`: the tasks as its blocks, and the steps of planning."""

    planning: tuple[Found[ProgressRow], ...] = ()


def render_progress(
    planning: Mapping[str, Mark], tasks: Sequence[Task], beside: Mapping[str, Beside] | None = None
) -> str:
    """The text of the file, with what people wrote beside it."""
    steps = [Block(id_, [_row(id_, mark)]) for id_, mark in planning.items()]
    rows = [Block(one.id, [_row(one.id, one.mark, one.attempt, one.note)]) for one in tasks]
    return render(
        chapter("title", "# Progress Tracking"),
        chapter("planning", "## Planning Progress", blocks=steps),
        chapter("implementation", "## Implementation Progress", blocks=rows),
        beside=beside,
    )


@lru_cache(maxsize=4096)
def _row(id_: str, mark: Mark, attempt: int = 1, note: str = "") -> str:
    label = LABELS[mark] if attempt == 1 else f"{LABELS[mark]}, Attempt {attempt}"
    note = line_of(normal_note(note))
    return f"- [{mark}] {id_} ({label}){' ' if note else ''}{note}"


def normal_note(text: str) -> str:
    """A note as the file can hold it."""
    return one_line(one_line(text).lstrip(" :"))


def parse_progress(text: str) -> ProgressSheet:
    """The rows of any text."""
    rows: dict[str, list[Found[ProgressRow]]] = {name: [] for name in _CHAPTERS}
    oddities: list[Oddity] = []

    def take(section: str, item: ListItem) -> Taken | None:
        box = _BOX.fullmatch(item.live) if section in _CHAPTERS else None
        if box is None:
            return None
        row = _ROW.fullmatch(box[2])
        if row is None:
            why = "it names no task: write `- [ ] task-9: what is to be done`"
            oddities.append(Oddity(item.number, why, item.head))
            return None
        rows[section].append(Found(row[1], _parsed(box[1], row), item.number))
        return Taken(row[1], below_of(item), tail_of(item))

    beside = read(text, begin_with(_CHAPTERS), take)
    return ProgressSheet(tuple(rows["implementation"]), tuple(oddities), beside, tuple(rows["planning"]))


def _parsed(box: str, row: re.Match[str]) -> ProgressRow:
    inside = row[2] or ""
    attempt = _ATTEMPT.search(inside)
    said_inside = "" if not inside or _KNOWN.search(inside) else inside
    note = normal_note(said(" ".join(part for part in (said_inside, row[3]) if part)))
    mark = "x" if box == "X" else box
    known = Mark(mark) if mark in list(Mark) else None
    return ProgressRow(known, max(1, int(attempt[1])) if attempt else 1, note, box)
