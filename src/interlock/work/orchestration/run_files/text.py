"""PURE. Texts of agents and people as parts of a Markdown file, and out of it again, as they were.

A text must not end the part that it is in: a heading, a block of code or a comment that it opens and does not close
gets a backslash, which Markdown does not show, and which is taken away again when the file is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from interlock.journal import CONTROL
from interlock.work.formats.markdown import MarkdownLine, MarkdownText

__all__ = [
    "block",
    "clean",
    "entry",
    "guarded",
    "indent_of",
    "is_code",
    "line_of",
    "one_line",
    "said",
    "unguarded",
    "value_of",
]

_SPACE: Final = re.compile(r"[ \t\n]+")
_NEWLINE: Final = re.compile(r"\r\n|\r")
_FENCE: Final = re.compile(r"[ \t]*(?:[-*+][ \t]+)?(?:`{3,}|~{3,})")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_GUARDED: Final = re.compile(r"([ \t]*)(\\+(?:(?:[-*+][ \t]+)?(?:`{3}|~{3})|#{1,6}(?:[ \t]|$)))")
_SPECIAL: Final = re.compile(r"[`~<#\\]")
"""Without one of these, a text has nothing that must be guarded."""
_ESCAPED_COMMENT: Final = re.compile(r"<(\\+)!--")
_COMMENT: Final = re.compile(r"<(\\*)!--")


def clean(text: str) -> str:
    """A text with plain line ends and without what no text may hold."""
    return CONTROL.sub("\ufffd", _NEWLINE.sub("\n", text)).replace("\ufeff", "")


def one_line(text: str) -> str:
    """A text as a single line."""
    return _SPACE.sub(" ", clean(text)).strip(" ")


def block(text: str) -> str:
    """A text of several lines, without empty ones at its ends, spaces before it, and spaces at the ends of lines."""
    return "\n".join(line.rstrip(" \t") for line in clean(text).split("\n")).strip("\n").lstrip(" \t")


def line_of(text: str) -> str:
    """A single line that holds no comment."""
    return _COMMENT.sub(r"<\\\1!--", one_line(text))


def guarded(text: str, *, headings: bool = False, comments: bool = False) -> list[str]:
    """The lines of a text, none of which ends or swallows what comes after it in a file.

    Headings may stay what they are where they end nothing, and so may comments that are closed.
    """
    pieces = text.split("\n")
    if not _SPECIAL.search(text):
        return pieces
    lines = MarkdownText((text if comments else _COMMENT.sub(r"<\\\1!--", text)) + "\n").lines
    return [
        piece if is_code(line) else _guarded(piece, line, headings=headings, comments=comments)
        for piece, line in zip(pieces, lines, strict=True)
    ]


def is_code(line: MarkdownLine) -> bool:
    """Whether a line stands in a block of code, or begins or ends one."""
    return line.code or (not line.live and _FENCE.match(line.raw) is not None)


def _guarded(piece: str, line: MarkdownLine, *, headings: bool, comments: bool) -> str:
    is_open = not comments or "<!--" in line.live
    piece = (_COMMENT if is_open else _ESCAPED_COMMENT).sub(r"<\\\1!--", piece)
    is_special = _GUARDED.match(piece) or _FENCE.match(piece) or (not headings and _HEADING.match(piece))
    return re.sub(r"^([ \t]*)", r"\1\\", piece, count=1) if is_special else piece


def unguarded(lines: Iterable[MarkdownLine], indent: int = 0, *, comments: bool = True) -> str:
    """The text that these lines of a file are, each without so many spaces before it, with comments or without."""
    return "\n".join(_unguarded(line, indent, comments=comments) for line in lines)


def _unguarded(line: MarkdownLine, indent: int, *, comments: bool) -> str:
    raw = line.raw.rstrip("\r\n") if comments or is_code(line) else line.live
    raw = _moved_out(raw, indent)
    return raw if is_code(line) else _bare(raw)


def _moved_out(text: str, indent: int) -> str:
    """A line without so many columns of space before it, or as many as it has."""
    column = 0
    for at, sign in enumerate(text):
        if column >= indent or sign not in " \t":
            return text[at:]
        column += 1 if sign == " " else 4 - column % 4
    return ""


def _bare(text: str) -> str:
    """A line without what guarded it."""
    guard = _GUARDED.match(text)
    text = guard[1] + text[len(guard[1]) + 1 :] if guard else text
    return _ESCAPED_COMMENT.sub(lambda found: f"<{found[1][1:]}!--", text)


def said(text: str) -> str:
    """A single line of a file, without its backslashes before comments."""
    return one_line(_ESCAPED_COMMENT.sub(lambda found: f"<{found[1][1:]}!--", text))


def indent_of(text: str) -> int:
    """How far a line is moved in; a tab counts as four."""
    return len(text[: len(text) - len(text.lstrip(" \t"))].expandtabs(4))


def entry(indent: int, head: str, text: str) -> list[str]:
    """An item of a list that says `head` and then a text, of which further lines are moved in below it."""
    lines = guarded(block(text), headings=True)
    if text and _FENCE.match(lines[0]):
        lines = ["", *lines]  # behind something else, it would open no block of code
    first = f"{' ' * indent}{head}{' ' if lines[0] and head else ''}{lines[0]}"
    below = " " * (indent + 4)
    return [first, *(below + line if line else "" for line in lines[1:])]


def value_of(head: str, below: Sequence[MarkdownLine], indent: int) -> str:
    """The text of an item whose first line says `head`, without comments."""
    rest = unguarded(below, indent + 4, comments=False)
    return block(f"{_bare(head)}\n{rest}" if head else rest)
