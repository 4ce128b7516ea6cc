"""PURE. One model for the Markdown files of a session: a file is a sequence of keyed blocks.

    Block     lines of ours with a key: a heading, a task, a question
    Beside    what a person wrote beside a block: comments on its line, and lines below it
    render    the text of a file: its blocks, and with each what is beside it
    read      walks a text, lets a file's own functions say what is ours, and returns what is beside that
    Found     a block as a text says it: its key, its value and its line
    diff      the edits between the blocks of two texts

What a person wrote after a block, or below it, stays with that block when the file is written again: comments,
paragraphs, code, lists of their own. A section of theirs stays behind the section that it follows. What was beside a
block that is gone moves to `## Notes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from interlock.work.formats.markdown import MarkdownLine, MarkdownText
from interlock.work.orchestration.run_files.items import ListItem, is_blank, items
from interlock.work.orchestration.run_files.text import block, guarded, unguarded

__all__ = [
    "Beside",
    "Block",
    "Edit",
    "EditKind",
    "Found",
    "Oddity",
    "Sheet",
    "Taken",
    "begin_with",
    "chapter",
    "diff",
    "read",
    "render",
]

NOTES: Final = "## Notes"

T = TypeVar("T")


# What is beside our blocks


class Beside(msgspec.Struct, frozen=True):
    """A person's text beside a block: comments on its line, and lines below it."""

    tail: str = ""
    text: str = ""
    before: bool = False
    """True if an empty line is before it,"""
    after: bool = False
    """or behind it."""


class Taken(msgspec.Struct, frozen=True):
    """An item that is ours: the key of the block that begins there, if one does, and what in it is a person's.

    Of the others, None stands for lines of ours between them.
    """

    key: str = ""
    others: Sequence[MarkdownLine | None] = ()
    tail: str = ""


class _Collector:
    """Takes the lines of a file in their order, and keeps for each block what is not ours."""

    def __init__(self) -> None:
        self.found: dict[str, Beside] = {}
        self._key = "#start"
        self._lines: list[MarkdownLine] = []

    def begin(self, key: str, tail: str = "") -> None:
        """Give what is not ours to this block from here on."""
        self.end()
        self._key = key
        if tail:
            self.found[key] = replace(self.found.get(key, Beside()), tail=tail)

    def end(self) -> None:
        """End the lines so far: one of ours follows."""
        chosen, self._lines = self._lines, []
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

    def add(self, *lines: MarkdownLine | None) -> None:
        """Add lines that are not ours, or empty ones; None is a line of ours."""
        for line in lines:
            if line is None:
                self.end()
            else:
                self._lines.append(line)

    def add_body(self, section: str, lines: Sequence[MarkdownLine], take: Take) -> None:
        for one in items(lines):
            taken = take(section, one) if isinstance(one, ListItem) else None
            if taken is None:
                self.add(*(one.lines if isinstance(one, ListItem) else [one]))
                continue
            if taken.key:
                self.begin(taken.key, taken.tail)
            self.add(None, *taken.others)


KeyOf = Callable[[int, str, Mapping[int, str]], str]
"""The key of a heading by its level, its name and the keys of the headings above it; empty for a person's."""
Take = Callable[[str, ListItem], Taken | None]
"""The block that an item of a section is, or belongs to; None for a person's."""


def begin_with(names: Mapping[str, str]) -> KeyOf:
    """The keys of headings of the second level, by the words that their names begin with."""

    def key_of(level: int, name: str, above: Mapping[int, str]) -> str:
        return next((key for key, begins in names.items() if name.startswith(begins)), "") if level == 2 else ""

    return key_of


def read(text: str, key_of: KeyOf, take: Take, deepest: int = 2) -> dict[str, Beside]:
    """Give each item to `take`, with the key of its section, and return what is beside our blocks, by their keys.

    The first title is ours. A person's heading of the first or second level ends a section of ours, a smaller one does
    not; headings below the `deepest` level are lines like others.
    """
    page, collector = MarkdownText(text), _Collector()
    headings = [one for one in page.sections if one.level <= deepest]
    starts = [one.start for one in headings] + [len(page.lines)]
    section, chapter, above = "", "title", dict[int, str]()
    is_begun = False
    collector.add_body("", page.lines[: starts[0]], take)
    for one, end in zip(headings, starts[1:], strict=True):
        name = re.sub(r"^\W+", "", one.name).lower()
        key = key_of(one.level, name, above) if one.level > 1 else "" if is_begun else "title"
        is_large = one.level < 3
        if key or is_large:
            section, is_begun = key, is_begun or bool(key)
            above = {level: known for level, known in above.items() if level < one.level} | {one.level: key}
            chapter = key if key and is_large else chapter
            collector.begin(f"#{key}" if key else f"#end {chapter}")
        if not key:
            collector.add(page.lines[one.start])
        collector.add_body(section, page.lines[one.start + 1 : end], take)
    collector.end()
    return collector.found


# Writing


class Block(msgspec.Struct, frozen=True):
    """Lines of ours. A `spaced` one has an empty line before it; one without lines is a place for a person's."""

    key: str
    lines: Sequence[str] = ()
    spaced: bool = False


def chapter(key: str, *lines: str, blocks: Iterable[Block] = ()) -> list[Block]:
    """A section: its heading with the lines right below it, its blocks, and the place for a person's after it."""
    return [Block(f"#{key}", lines, spaced=key != "title"), *blocks, Block(f"#end {key}")]


def render(*chapters: Sequence[Block], beside: Mapping[str, Beside] | None = None) -> str:
    """The text of a file: our blocks, and with each what people wrote beside it."""
    blocks = [Block("#start"), *(one for several in chapters for one in several)]
    beside = beside or {}
    found: list[str] = []
    is_apart = False
    for one in blocks:
        other = beside.get(one.key, Beside())
        if one.lines:
            _space(found, one.spaced or is_apart)
            first = f"{one.lines[0]} {other.tail}" if other.tail else one.lines[0]
            found += [first, *one.lines[1:]]
            is_apart = False
        if other.text:
            _space(found, other.before or is_apart or not one.lines)
            found += guarded(other.text, headings=True, comments=True)
            is_apart = other.after or not one.lines
    ours = {one.key for one in blocks}
    _leave(found, [one for key, one in beside.items() if key not in ours])
    return "\n".join(found) + "\n"


def _space(found: list[str], wanted: bool) -> None:
    if wanted and found and found[-1]:
        found.append("")


def _leave(found: list[str], left: Sequence[Beside]) -> None:
    """Put what was beside blocks that are gone at the end."""
    texts = [text for one in left for text in (one.tail, one.text) if block(text)]
    if texts and NOTES not in found:
        found += ["", NOTES]
    for text in texts:
        found += ["", *guarded(text, headings=True, comments=True)]


# Comparing


class Found(msgspec.Struct, Generic[T], frozen=True):
    """A block as a text says it; the line is counted from 1."""

    key: str
    value: T
    line: int


class Oddity(msgspec.Struct, frozen=True):
    """A line that nothing can be made of, counted from 1, and why."""

    line: int
    why: str
    text: str = ""


class Sheet(msgspec.Struct, Generic[T], frozen=True):
    """The content of a file: its blocks, lines that mean nothing, and what people wrote beside them."""

    blocks: tuple[Found[T], ...] = ()
    oddities: tuple[Oddity, ...] = ()
    beside: Mapping[str, Beside] = msgspec.field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its blocks, in their order."""
        return tuple(one.key for one in self.blocks)


class EditKind(StrEnum):
    """The kind of an edit."""

    ADDED = "added"
    REPEATED = "repeated"
    """Its key is there a second time."""
    CHANGED = "changed"
    KEPT = "kept"
    REMOVED = "removed"


class Edit(msgspec.Struct, Generic[T], frozen=True):
    """One block as it was projected and as it was found."""

    kind: EditKind
    key: str
    was: T
    now: T
    """The same as it was where it was removed."""
    line: int | None


def diff(projected: Iterable[Found[T]], found: Iterable[Found[T]]) -> Iterator[Edit[T]]:
    """The edits that lead from the projected blocks to those found: those that are there, then those removed."""
    left = {one.key: one for one in projected}
    seen: set[str] = set()
    for one in found:
        was = left.pop(one.key, None)
        if one.key in seen:
            kind = EditKind.REPEATED
        elif was is None:
            kind = EditKind.ADDED
        else:
            kind = EditKind.KEPT if was.value == one.value else EditKind.CHANGED
        seen.add(one.key)
        yield Edit(kind, one.key, one.value if was is None else was.value, one.value, one.line)
    for gone in left.values():
        yield Edit(EditKind.REMOVED, gone.key, gone.value, gone.value, None)
