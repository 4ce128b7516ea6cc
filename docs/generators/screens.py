"""What a recording looked like: each line with the time for which it stood there, the scrolling and the cursor.

Lines are counted from the first that was ever written, so a line that scrolls is still the same line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import pyte

__all__ = ["Event", "Film", "Recording", "Run", "Spot", "Standing", "filmed"]

_FAINT, _GREY, _COLOURS = 2, 90, {38, 48}


class Event(NamedTuple):
    """A text that came out of a terminal (`o`) or was typed into it (`i`), and after how many seconds."""

    at: float
    kind: str
    text: str


class Recording(msgspec.Struct, frozen=True):
    """What happened at a terminal of a certain size; the same as in an asciicast of version 2."""

    columns: int
    lines: int
    events: tuple[Event, ...]
    seconds: float
    """How long it is, with what is looked at in the end."""


class Run(msgspec.Struct, frozen=True):
    """Text in one style, and the column that it begins in."""

    column: int
    text: str
    colour: str = "default"
    ground: str = "default"
    is_bold: bool = False


class Standing(msgspec.Struct, frozen=True):
    """What a line said from one time to another, or to the end."""

    line: int
    runs: tuple[Run, ...]
    start: float
    end: float | None = None


class Spot(msgspec.Struct, frozen=True):
    """From when on how many lines had scrolled away, and where the cursor was."""

    start: float
    scrolled: int
    column: int
    line: int


class Film(msgspec.Struct, frozen=True):
    """All that is to be seen of a recording."""

    columns: int
    lines: int
    seconds: float
    standing: tuple[Standing, ...]
    spots: tuple[Spot, ...]


class _Screen(pyte.Screen):
    """A screen that counts what scrolls away, and shows faint text as grey."""

    def __init__(self, columns: int, lines: int) -> None:
        self.scrolled = 0
        super().__init__(columns, lines)

    def index(self) -> None:
        self.scrolled += self.cursor.y == self.lines - 1
        super().index()

    def select_graphic_rendition(self, *attributes: int) -> None:
        if not _COLOURS & {*attributes}:  # a 2 among those is a part of a colour
            attributes = tuple(_GREY if one == _FAINT else one for one in attributes)
        super().select_graphic_rendition(*attributes)


def filmed(recording: Recording) -> Film:
    """Let a terminal interpret a recording, and look at it after each piece."""
    screen = _Screen(recording.columns, recording.lines)
    stream = pyte.Stream(screen)
    now: dict[int, Standing] = {}
    past: list[Standing] = []
    spots: list[Spot] = []
    for at, kind, text in recording.events:
        stream.feed(text if kind == "o" else "")
        for row in range(recording.lines):
            line, runs = screen.scrolled + row, _runs(screen.buffer[row], recording.columns)
            before = now.get(line)
            if runs == (before.runs if before else ()):
                continue
            if before and before.start < at:
                past.append(Standing(line, before.runs, before.start, at))
            now[line] = Standing(line, runs, at)
        spots.append(Spot(at, screen.scrolled, screen.cursor.x, screen.scrolled + screen.cursor.y))
    standing = sorted((one for one in (*past, *now.values()) if one.runs), key=lambda one: (one.line, one.start))
    return Film(recording.columns, recording.lines, recording.seconds, tuple(standing), tuple(spots))


def _runs(cells: Mapping[int, Any], columns: int) -> tuple[Run, ...]:
    """The text of a row, cut where the style changes and where there is a gap."""
    found: list[Run] = []
    start = 0
    while start < columns:
        style, end = _style(cells[start]), start + 1
        while end < columns and _style(cells[end]) == style:
            end += 1
        text = "".join(cells[place].data or "\0" for place in range(start, end))  # the second half of a wide character
        pieces = [(0, text)] if style[1] != "default" else _words(text)
        found += [Run(start + place, piece, *style) for place, piece in pieces]
        start = end
    return tuple(found)


def _style(cell: Any) -> tuple[str, str, bool]:
    colours = (cell.bg, cell.fg) if cell.reverse else (cell.fg, cell.bg)
    return (*colours, cell.bold)


def _words(text: str) -> list[tuple[int, str]]:
    return [(found.start(), found[0]) for found in re.finditer(r"\S+(?: \S+)*", text)]
