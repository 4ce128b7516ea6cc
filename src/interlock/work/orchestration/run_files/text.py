"""PURE. Texts of agents and people as parts of a Markdown file, and back, unchanged.

A text must not end the part that it is in: a heading, a code block or a comment that it opens and does not close gets
a backslash, which Markdown does not show, and which is removed when the file is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from interlock.journal import CONTROL
from interlock.work.formats.markdown import MarkdownLine, MarkdownText

__all__ = [
    "block",
    "clean",
    "entry",
    "filled",
    "guarded",
    "indent_of",
    "is_code",
    "line_of",
    "normal",
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
"""A text without one of these needs no guard."""
_ESCAPED_COMMENT: Final = re.compile(r"<(\\+)!--")
_COMMENT: Final = re.compile(r"<(\\*)!--")
_UNFILLED: Final = frozenset({"[to be filled]", "to be filled", "tbd"})

S = TypeVar("S", bound=msgspec.Struct)


def clean(text: str) -> str:
    """The text with plain line ends and without control characters."""
    return CONTROL.sub("\ufffd", _NEWLINE.sub("\n", text)).replace("\ufeff", "")


def one_line(text: str) -> str:
    """The text as a single line."""
    return _SPACE.sub(" ", clean(text)).strip(" ")


def block(text: str) -> str:
    """The text without empty lines at its ends, spaces before it, and spaces at the ends of lines."""
    return "\n".join(line.rstrip(" \t") for line in clean(text).split("\n")).strip("\n").lstrip(" \t")


def line_of(text: str) -> str:
    """The text as a single line without a comment."""
    return _COMMENT.sub(r"<\\\1!--", one_line(text))


def guarded(text: str, *, headings: bool = False, comments: bool = False) -> list[str]:
    """The lines of a text, none of which ends or swallows what follows it in a file.

    `headings` are kept where they end nothing, and so are `comments` that are closed.
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
    """True for a line of a code block, its first and last included."""
    return line.code or (not line.live and _FENCE.match(line.raw) is not None)


def _guarded(piece: str, line: MarkdownLine, *, headings: bool, comments: bool) -> str:
    is_open = not comments or "<!--" in line.live
    piece = (_COMMENT if is_open else _ESCAPED_COMMENT).sub(r"<\\\1!--", piece)
    is_special = _GUARDED.match(piece) or _FENCE.match(piece) or (not headings and _HEADING.match(piece))
    return re.sub(r"^([ \t]*)", r"\1\\", piece, count=1) if is_special else piece


def unguarded(lines: Iterable[MarkdownLine], indent: int = 0, *, comments: bool = True) -> str:
    """The text that these lines of a file hold, moved out by `indent` columns, with its comments or without."""
    return "\n".join(_unguarded(line, indent, comments=comments) for line in lines)


def _unguarded(line: MarkdownLine, indent: int, *, comments: bool) -> str:
    raw = line.raw.rstrip("\r\n") if comments or is_code(line) else line.live
    raw = _moved_out(raw, indent)
    return raw if is_code(line) else _bare(raw)


def _moved_out(text: str, indent: int) -> str:
    """The line without its first `indent` columns of space, or as many as it has."""
    column = 0
    for at, sign in enumerate(text):
        if column >= indent or sign not in " \t":
            return text[at:]
        column += 1 if sign == " " else 4 - column % 4
    return ""


def _bare(text: str) -> str:
    """The line without its guard."""
    guard = _GUARDED.match(text)
    text = guard[1] + text[len(guard[1]) + 1 :] if guard else text
    return _unescaped(text)


def _unescaped(text: str) -> str:
    return _ESCAPED_COMMENT.sub(lambda found: f"<{found[1][1:]}!--", text)


def said(text: str) -> str:
    """A single line of a file, without the backslashes before its comments."""
    return one_line(_unescaped(text))


def indent_of(text: str) -> int:
    """The column at which a line begins; a tab counts as four."""
    return len(text[: len(text) - len(text.lstrip(" \t"))].expandtabs(4))


def entry(indent: int, head: str, text: str) -> list[str]:
    """The lines of a list item that says `head`, then the text, whose further lines are moved in below it."""
    lines = guarded(block(text), headings=True)
    if text and _FENCE.match(lines[0]):
        lines = ["", *lines]  # after something else on the line, it would not open a code block
    first = f"{' ' * indent}{head}{' ' if lines[0] and head else ''}{lines[0]}"
    below = " " * (indent + 4)
    return [first, *(below + line if line else "" for line in lines[1:])]


def value_of(head: str, below: Sequence[MarkdownLine], indent: int) -> str:
    """The text of an item whose first line says `head`, without comments."""
    rest = unguarded(below, indent + 4, comments=False)
    return block(f"{_bare(head)}\n{rest}" if head else rest)


# Values


def filled(text: str) -> str:
    """The text, or nothing for a placeholder of the source system."""
    return "" if text.lower() in _UNFILLED else text


_FORMS: Final[Mapping[str, Mapping[str, Callable[[str], str]]]] = {
    "Task": {"description": one_line, "files": one_line},
    "Question": {"text": one_line, "answer": lambda text: filled(block(text))},
    "CriterionResult": {"criterion": one_line},
    "DiscoveredTask": {"id": lambda text: one_line(text).replace(":", "-"), "description": one_line},
}
"""The forms of fields, by their type, that are not a block of lines."""


def normal(value: S) -> S:
    """A value as the files can hold it: what must be one line is one, and a list holds nothing empty."""
    forms, fields = _FORMS.get(type(value).__name__, {}), value.__struct_fields__
    made = {name: _normal(getattr(value, name), forms.get(name, block)) for name in fields}
    return msgspec.structs.replace(value, **made)


def _normal(value: Any, form: Callable[[str], str]) -> Any:
    if isinstance(value, tuple):
        return tuple(one for given in value if (one := _normal(given, form)) != "")
    if isinstance(value, msgspec.Struct):
        return normal(value)
    return form(value) if isinstance(value, str) and not isinstance(value, StrEnum) else value
