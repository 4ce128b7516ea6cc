"""PURE. The outline of a Markdown text: its lines, its sections, and what is code or comment and so means nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

import msgspec

__all__ = ["MarkdownLine", "MarkdownText", "Section"]

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_FENCE: Final = re.compile(r"[ \t]*(?:[-*+][ \t]+)?(`{3,}|~{3,})(.*)")


class MarkdownLine(msgspec.Struct, frozen=True):
    """One line: as it was written, and what of it counts, with spaces for the rest."""

    number: int
    raw: str
    live: str
    code: bool = False
    """Whether it stands in a block of code."""


class Section(msgspec.Struct, frozen=True):
    """A heading, and the lines below it up to the next that is not deeper."""

    level: int
    name: str
    start: int
    """The line of the heading."""
    end: int


class MarkdownText:
    """A Markdown text. An opening of code or a comment that is never closed is no opening: the rest still counts.

    A label is a line that some write instead of a heading, for example in bold; what it says is its first group.
    """

    def __init__(self, text: str, label: re.Pattern[str] | None = None) -> None:
        self.lines: Final = tuple(_lines(text))
        self.sections: Final = tuple(_sections(self.lines, label))

    def section(self, name: str) -> Section | None:
        """The first section with a name that begins so, whatever signs are before it."""
        return next((one for one in self.sections if re.sub(r"^\W+", "", one.name).lower().startswith(name)), None)

    def body(self, section: Section | None) -> tuple[MarkdownLine, ...]:
        """The lines below the heading of a section."""
        return self.lines[section.start + 1 : section.end] if section else ()


def _lines(text: str) -> Iterator[MarkdownLine]:
    raw = _LINE.findall(text)
    closers = [_closer(line) for line in raw]
    longest = {sign: _longest_after(closers, sign) for sign in "`~"}
    fence, comment, last_comment = "", False, _last_with(raw, "-->")
    for number, line in enumerate(raw):
        said = line.rstrip("\r\n")
        opening = _FENCE.fullmatch(said) if not comment else None
        if fence:
            yield MarkdownLine(number, line, "", code=not _closes(closers[number], fence))
            fence = "" if _closes(closers[number], fence) else fence
        elif opening and len(opening[1]) <= longest[opening[1][0]][number + 1] and "`" not in opening[2]:
            fence = opening[1]
            yield MarkdownLine(number, line, "")
        else:
            said = " " + said[1:] if number == 0 and said.startswith("\ufeff") else said
            live, comment = _without_comments(said, comment, number < last_comment)
            yield MarkdownLine(number, line, live)


def _closer(line: str) -> str:
    """The signs that close a block of code, if the line is nothing else."""
    said = line.strip()
    return said if len(said) >= 3 and said[0] in "`~" and not said.strip(said[0]) else ""


def _closes(closer: str, fence: str) -> bool:
    return bool(closer) and closer[0] == fence[0] and len(closer) >= len(fence)


def _longest_after(closers: list[str], sign: str) -> list[int]:
    """For each line, how long the longest closing is from there on."""
    lengths = [len(one) if one.startswith(sign) else 0 for one in closers]
    return [*reversed(list(accumulate(reversed(lengths), max))), 0]


def _last_with(lines: list[str], sign: str) -> int:
    return max((number for number, line in enumerate(lines) if sign in line), default=-1)


def _without_comments(line: str, inside: bool, can_go_on: bool) -> tuple[str, bool]:
    """A line with spaces for its comments, and whether one goes on after it."""
    parts: list[str] = []
    at = 0
    while True:
        if not inside:
            start = line.find("<!--", at)
            if start < 0 or (line.find("-->", start) < 0 and not can_go_on):
                return "".join([*parts, line[at:]]), False
            parts.append(line[at:start])
            at = start
        found = line.find("-->", at)
        end = found + 3 if found >= 0 else len(line)
        parts.append(" " * (end - at))
        at, inside = end, False
        if found < 0:
            return "".join(parts), True


def _sections(lines: tuple[MarkdownLine, ...], label: re.Pattern[str] | None) -> Iterator[Section]:
    """A label ends whatever section it stands in, and is itself ended by any heading."""
    found = [(line.number, *heading) for line in lines if (heading := _heading(line.live, label))]
    for place, (number, level, _, name) in enumerate(found):
        ends = (found[other][0] for other in range(place + 1, len(found)) if found[other][2] <= level)
        yield Section(level, name, number, next(ends, len(lines)))


def _heading(line: str, label: re.Pattern[str] | None) -> tuple[int, int, str] | None:
    """The level of a heading, the level of the sections that it ends, and what it says."""
    heading = _HEADING.fullmatch(line)
    if heading:
        return len(heading[1]), len(heading[1]), heading[2].strip().rstrip("#").rstrip()
    labelled = label.fullmatch(line.strip()) if label else None
    return (6, 2, labelled[1].rstrip(": ")) if labelled else None
