"""PURE. Lists in Markdown, and what people wrote between the lines that are ours.

A file of a session is a row of parts, each with a key. What a person wrote behind a part, or below it, stays with that
part when the file is written anew: comments, paragraphs, blocks of code, lists of their own. A section of theirs stays
behind the section that it follows. What was written to a part that is gone is found under `## Notes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.work.formats.markdown import MarkdownLine, MarkdownText
from interlock.work.orchestration.run_files.text import block, guarded, indent_of, is_code, unguarded

__all__ = [
    "Beside",
    "Chapter",
    "FilePart",
    "LineCollector",
    "ListItem",
    "below_of",
    "chapters",
    "comments_of",
    "composed",
    "is_blank",
    "items",
    "ours_of",
    "tail_of",
]

NOTES: Final = "## Notes"
_ITEM: Final = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_INLINE: Final = re.compile(r"<!--.*?-->")


class Chapter(msgspec.Struct, frozen=True):
    """A heading of the first or second level, and the lines up to the next one; level 0 is before the first."""

    level: int
    name: str
    heading: MarkdownLine | None
    body: tuple[MarkdownLine, ...]


def chapters(page: MarkdownText) -> Iterator[Chapter]:
    """All lines of a file, by its headings."""
    found = [one for one in page.sections if one.level <= 2]
    ends = [one.start for one in found] + [len(page.lines)]
    yield Chapter(0, "", None, page.lines[: ends[0]])
    for one, end in zip(found, ends[1:], strict=True):
        yield Chapter(one.level, one.name, page.lines[one.start], page.lines[one.start + 1 : end])


class ListItem(msgspec.Struct, frozen=True):
    """An item of a list: its line, what that says behind the sign, and the lines that belong to it."""

    line: MarkdownLine
    indent: int
    head: str
    live: str
    """The same without comments."""
    below: tuple[MarkdownLine, ...]


def items(lines: Sequence[MarkdownLine]) -> Iterator[ListItem | MarkdownLine]:
    """The items of the outermost list, and the lines between them that belong to none."""
    level: int | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        sign = _ITEM.match(line.live)
        if sign is None or (level is not None and indent_of(line.live) > level):
            yield line
            at += 1
            continue
        level = indent_of(line.live)
        end = _end(lines, at + 1, level)
        head = line.raw.rstrip("\r\n")[sign.end() :]
        yield ListItem(line, level, head, line.live[sign.end() :], tuple(lines[at + 1 : end]))
        at = end


def _end(lines: Sequence[MarkdownLine], at: int, level: int) -> int:
    """Where an item ends: what is moved in belongs to it, and so does all of a block of code that begins moved in."""
    is_block = False
    for end in range(at, len(lines)):
        line = lines[end]
        if not (is_block or is_blank(line) or indent_of(line.raw) > level):
            return end
        is_block = line.code or (is_code(line) and not is_block)
    return len(lines)


def is_blank(line: MarkdownLine) -> bool:
    return not line.raw.strip(" \t\r\n")


def tail_of(item: ListItem) -> str:
    """The comments on an item's own line that are closed there."""
    return " ".join(_INLINE.findall(item.head)) if item.head != item.live else ""


def comments_of(item: ListItem) -> Iterator[MarkdownLine]:
    """The comments in an item of ours, each as a line of its own that is moved in as far as the item."""
    for line in (item.line, *item.below):
        raw = line.raw.rstrip("\r\n")
        if is_code(line) or line.live == raw:
            continue
        differing = [at for at, (one, other) in enumerate(zip(raw, line.live, strict=False)) if one != other]
        if differing:
            text = " " * item.indent + raw[differing[0] : differing[-1] + 1]
            yield replace(line, raw=text, live="")


def below_of(item: ListItem) -> tuple[MarkdownLine, ...]:
    """What belongs to an item besides its line; a comment that only begins there is taken along."""
    begun = item.head.rfind("<!--")
    if begun < 0 or "-->" in item.head[begun:] or item.live[begun:].strip():
        return item.below
    return (replace(item.line, raw=item.head[begun:], live=""), *item.below)


# What is written beside our parts


class Beside(msgspec.Struct, frozen=True):
    """What a person wrote beside a part: comments on its line, and lines below it."""

    tail: str = ""
    text: str = ""
    before: bool = False
    """Whether an empty line is before it,"""
    after: bool = False
    """or behind it."""


class LineCollector(msgspec.Struct):
    """Takes the lines of a file in their order, and keeps for each part what is not ours."""

    found: dict[str, Beside] = msgspec.field(default_factory=dict)
    _key: str = "#start"
    _lines: list[MarkdownLine] = msgspec.field(default_factory=list)

    def part(self, key: str, tail: str = "") -> None:
        """From here on, what is not ours belongs to this part."""
        self.ours()
        self._key = key
        if tail:
            self.found[key] = replace(self.found.get(key, Beside()), tail=tail)

    def ours(self) -> None:
        """Here is a line of ours."""
        chosen = list(self._lines)
        self._lines.clear()
        first = next((at for at, line in enumerate(chosen) if not is_blank(line)), None)
        if first is None:
            return
        last = max(at for at, line in enumerate(chosen) if not is_blank(line))
        text = unguarded(chosen[first : last + 1])
        text = "\n".join(line.rstrip(" \t") for line in text.split("\n"))
        known = self.found.get(self._key, Beside())
        gap = "\n\n" if known.after or first else "\n"
        whole = f"{known.text}{gap}{text}" if known.text else text
        before = known.before if known.text else first > 0
        self.found[self._key] = replace(known, text=whole, before=before, after=last + 1 < len(chosen))

    def others(self, *lines: MarkdownLine) -> None:
        """Here are lines that are not ours, or empty ones."""
        self._lines += lines


def ours_of(
    page: MarkdownText, collector: LineCollector, names: Sequence[str]
) -> Iterator[tuple[str, tuple[MarkdownLine, ...]]]:
    """Our chapters of a file with their lines, which whoever asks gives to the collector; the others are given to it.

    A chapter is ours if its name begins like one of these, whatever signs are before it; so is the first title.
    """
    place, is_begun = "title", False
    for chapter in chapters(page):
        name = _ours(chapter, names) if chapter.level != 1 else None if is_begun else "title"
        if name is None:
            collector.part(f"#end {place}")
            collector.others(*([chapter.heading] if chapter.heading else []), *chapter.body)
            continue
        if chapter.heading is not None:
            place, is_begun = name, True
            collector.part(f"#{name}")
        yield name, chapter.body


def _ours(chapter: Chapter, names: Sequence[str]) -> str | None:
    if chapter.level == 0:
        return "start"
    name = re.sub(r"^\W+", "", chapter.name).lower()
    return next((one for one in names if name.startswith(one)), None)


class FilePart(msgspec.Struct, frozen=True):
    """Lines of ours. A `spaced` part has an empty line before it; one without lines is a place for what is others'."""

    key: str
    lines: Sequence[str] = ()
    spaced: bool = False


def composed(parts: Sequence[FilePart], beside: Mapping[str, Beside]) -> str:
    """The text of a file: our parts, and with each what people wrote beside it."""
    found: list[str] = []
    is_apart = False
    for part in parts:
        other = beside.get(part.key, Beside())
        if part.lines:
            _space(found, part.spaced or is_apart)
            first = f"{part.lines[0]} {other.tail}" if other.tail else part.lines[0]
            found += [first, *part.lines[1:]]
            is_apart = False
        if other.text:
            _space(found, other.before or is_apart or not part.lines)
            found += guarded(other.text, headings=True, comments=True)
            is_apart = other.after or not part.lines
    ours = {part.key for part in parts}
    _leave(found, [one for key, one in beside.items() if key not in ours])
    return "\n".join(found) + "\n"


def _space(found: list[str], wanted: bool) -> None:
    if wanted and found and found[-1]:
        found.append("")


def _leave(found: list[str], left: Sequence[Beside]) -> None:
    """What was beside parts that are gone, at the end."""
    texts = [text for one in left for text in (one.tail, one.text) if block(text)]
    if texts and NOTES not in found:
        found += ["", NOTES]
    for text in texts:
        found += ["", *guarded(text, headings=True, comments=True)]
