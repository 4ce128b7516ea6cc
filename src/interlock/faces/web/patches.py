"""A patch as a page shows it: its files, their lines with numbers, and each line in pieces with their colours.

Colours are names of classes. Only languages that are listed here are read, and only lines of a sensible length: what is
shown was written by agents, and no text may keep the server busy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

import msgspec
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

__all__ = ["Patch", "PatchLine", "PatchPiece", "PatchedFile", "read_patch"]

_MOST_LINES: Final = 1500
_LONGEST: Final = 400
_LANGUAGES: Final = {
    **dict.fromkeys(("py", "pyi"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "tsx"), "typescript"),
    **dict.fromkeys(("yml", "yaml"), "yaml"),
    **dict.fromkeys(("sh", "bash"), "bash"),
    **dict.fromkeys(("c", "h"), "c"),
    **dict.fromkeys(("cc", "cpp", "hpp"), "cpp"),
    **dict.fromkeys(("html", "htm"), "html"),
    **{one: one for one in ("css", "go", "java", "json", "kotlin", "php", "ruby", "sql", "swift", "toml", "xml")},
    "md": "markdown",
    "rb": "ruby",
    "rs": "rust",
    "kt": "kotlin",
}
"""The languages that are read, by the end of a file's name."""
_KINDS: Final = ((Comment, "comment"), (String, "string"), (Number, "number"), (Keyword, "keyword"))
_NAMES: Final = ((Name.Function, "name"), (Name.Class, "name"), (Name.Decorator, "name"), (Name.Tag, "keyword"))
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")


class PatchPiece(msgspec.Struct, frozen=True):
    """A part of a line; `kind` is the name of its colour, empty where it has none."""

    kind: str
    text: str


class PatchLine(msgspec.Struct, frozen=True):
    """A line of a patch."""

    kind: str
    """`added`, `removed`, `same` or `hunk`."""
    pieces: tuple[PatchPiece, ...]
    old: int | None = None
    new: int | None = None

    @property
    def sign(self) -> str:
        return {"added": "+", "removed": "-"}.get(self.kind, " ")


class _Raw(msgspec.Struct, frozen=True, eq=False):
    """A line before it is coloured."""

    kind: str
    text: str
    old: int | None
    new: int | None


class PatchedFile(msgspec.Struct):
    """What a patch says of one file."""

    path: str
    notes: list[str] = msgspec.field(default_factory=list)
    """What git says of it besides its lines: that it is new, renamed, no text."""
    lines: list[PatchLine] = msgspec.field(default_factory=list)
    added: int = 0
    removed: int = 0


class Patch(msgspec.Struct):
    """A whole patch, as far as it is shown."""

    files: list[PatchedFile] = msgspec.field(default_factory=list)
    left_out: int = 0
    """How many lines more there are."""


@lru_cache(maxsize=8)
def read_patch(text: str) -> Patch:
    """A patch of git, read and coloured. It is kept: a page is made anew each time that something happens."""
    patch, lines = Patch(), text.split("\n")
    shown = lines[:_MOST_LINES]
    patch.left_out = len(lines) - len(shown)
    for start, end in _files(shown):
        patch.files.append(_changed(shown[start:end]))
    return patch


def _files(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    starts = [place for place, line in enumerate(lines) if line.startswith("diff --git ")]
    yield from pairwise([*starts, len(lines)])


def _changed(lines: Sequence[str]) -> PatchedFile:
    """One file: its heading, then its hunks."""
    first = next((place for place, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    found = PatchedFile(_path(lines[:first]), [line for line in lines[1:first] if _is_note(line)])
    body: list[_Raw] = []
    old = new = 0
    for line in lines[first:]:
        hunk = _HUNK.match(line)
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
            body.append(_Raw("hunk", hunk[3].strip(), None, None))
        elif line.startswith("+"):
            body.append(_Raw("added", line[1:], None, new))
            new, found.added = new + 1, found.added + 1
        elif line.startswith("-"):
            body.append(_Raw("removed", line[1:], old, None))
            old, found.removed = old + 1, found.removed + 1
        elif line.startswith(" "):
            body.append(_Raw("same", line[1:], old, new))
            old, new = old + 1, new + 1
    language = _LANGUAGES.get(found.path.rpartition(".")[2].lower())
    for start, end in _hunks(body):
        found.lines += _coloured(body[start:end], language)
    return found


def _path(heading: Sequence[str]) -> str:
    named = [line[4:] for line in heading if line.startswith(("+++ ", "--- ")) and line[4:] != "/dev/null"]
    if named:
        return named[-1].split("\t")[0].removeprefix("a/").removeprefix("b/")
    return heading[0].rpartition(" b/")[2] if heading else ""


def _is_note(line: str) -> bool:
    return bool(line) and not line.startswith(("index ", "--- ", "+++ ", "diff "))


def _hunks(lines: Sequence[_Raw]) -> Iterator[tuple[int, int]]:
    starts = [place for place, line in enumerate(lines) if line.kind == "hunk"]
    yield from pairwise([*starts, len(lines)])


def _coloured(lines: Sequence[_Raw], language: str | None) -> Iterator[PatchLine]:
    """The lines of a hunk in pieces: each side is read as a whole, as what a line means may depend on those above."""
    sides = {side: [one for one in lines[1:] if one.kind in ("same", side)] for side in ("removed", "added")}
    pieces: dict[int, tuple[PatchPiece, ...]] = {}
    for side in sides.values():
        pieces |= zip(map(id, side), _lexed([one.text for one in side], language), strict=True)
    for one in lines:
        yield PatchLine(one.kind, pieces.get(id(one), (PatchPiece("", one.text),)), one.old, one.new)


def _lexed(lines: Sequence[str], language: str | None) -> list[tuple[PatchPiece, ...]]:
    """Lines in pieces; in one where the language is not known, or where they are not what it can be read from."""
    plain: list[tuple[PatchPiece, ...]] = [(PatchPiece("", line),) for line in lines]
    if language is None or any(len(line) > _LONGEST or "\r" in line for line in lines):
        return plain
    found: list[list[PatchPiece]] = [[]]
    for token, text in _lexer(language).get_tokens("\n".join(lines)):
        first, *more = text.split("\n")
        for part, starts in ((first, False), *((one, True) for one in more)):
            if starts:
                found.append([])
            if part:
                _add(found[-1], PatchPiece(_kind(token), part))
    return [tuple(one) for one in found] if len(found) == len(lines) else plain


def _add(pieces: list[PatchPiece], piece: PatchPiece) -> None:
    """Put a piece behind the others: to the last one where it has the same colour."""
    if pieces and pieces[-1].kind == piece.kind:
        pieces[-1] = PatchPiece(piece.kind, pieces[-1].text + piece.text)
    else:
        pieces.append(piece)


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


def _kind(token: _TokenType) -> str:
    return next((name for kind, name in (*_NAMES, *_KINDS) if token in kind), "")
