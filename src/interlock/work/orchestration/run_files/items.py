"""PURE. List items in Markdown: their lines, their labelled fields, and the comments in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.work.formats.markdown import MarkdownLine
from interlock.work.orchestration.run_files.text import indent_of, is_code, value_of

__all__ = ["ListItem", "below_of", "fields_of", "is_blank", "items", "notes_of", "tail_of", "text_of"]

_ITEM: Final = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_INLINE: Final = re.compile(r"<!--.*?-->")


class ListItem(msgspec.Struct, frozen=True):
    """A list item: its line, what follows the sign on it, and the lines that belong to it."""

    line: MarkdownLine
    indent: int
    head: str
    live: str
    """The head without comments."""
    below: tuple[MarkdownLine, ...]

    @property
    def number(self) -> int:
        """Its line, counted from 1."""
        return self.line.number + 1

    @property
    def lines(self) -> tuple[MarkdownLine, ...]:
        return (self.line, *self.below)


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
    """The end of an item: lines that are moved in belong to it, and all of a code block that begins moved in."""
    is_block = False
    for end in range(at, len(lines)):
        line = lines[end]
        if not (is_block or is_blank(line) or indent_of(line.raw) > level):
            return end
        is_block = line.code or (is_code(line) and not is_block)
    return len(lines)


def is_blank(line: MarkdownLine) -> bool:
    return not line.raw.strip(" \t\r\n")


def text_of(item: ListItem | None) -> str:
    """The text of an item, without comments."""
    return "" if item is None else value_of(item.live, item.below, item.indent)


def tail_of(item: ListItem) -> str:
    """The comments on the item's own line that are closed there."""
    return " ".join(_INLINE.findall(item.head)) if item.head != item.live else ""


def notes_of(*lines: MarkdownLine, indent: int) -> Iterator[MarkdownLine]:
    """The comments in lines of ours, each as a line of its own."""
    for line in lines:
        raw = line.raw.rstrip("\r\n")
        if is_code(line) or line.live == raw:
            continue
        differing = [at for at, (one, other) in enumerate(zip(raw, line.live, strict=False)) if one != other]
        if differing:
            yield replace(line, raw=" " * indent + raw[differing[0] : differing[-1] + 1], live="")


def below_of(item: ListItem) -> tuple[MarkdownLine, ...]:
    """The lines of an item after its first, with a comment that begins on that one and continues below."""
    begun = item.head.rfind("<!--")
    if begun < 0 or "-->" in item.head[begun:] or item.live[begun:].strip():
        return item.below
    return (replace(item.line, raw=item.head[begun:], live=""), *item.below)


def fields_of(
    item: ListItem, head: str, label: re.Pattern[str], others: list[MarkdownLine | None]
) -> tuple[str, dict[str, ListItem]]:
    """The item's head with the lines that continue it, and its labelled fields by their names in lower case.

    A field is the first item below with that label. All else goes to the others, as `Taken` has them.
    """
    found: dict[str, ListItem] = {}
    for one in items(below_of(item)):
        if isinstance(one, ListItem):
            name = label.match(one.live)
            if name is not None and name[1].lower() not in found:
                others += [None, *notes_of(*one.lines, indent=one.indent)]
                found[name[1].lower()] = replace(one, live=one.live[name.end() :])
            else:
                others += one.lines
        elif not found and one.live.strip() and one.live == one.raw.rstrip("\r\n"):
            others.append(None)
            head = f"{head} {one.live}"
        else:
            others.append(one)
    return head, found
