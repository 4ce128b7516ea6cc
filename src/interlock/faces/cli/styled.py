"""Lines with colours, printed without rich: importing it takes longer than everything else that `ralph status` does.

`Text` is the part of `rich.text.Text` that our pages use, and rich can draw it where a display is live.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.text import Text as RichText

__all__ = ["NARROW", "Text", "ansi"]

_ATTRIBUTES: Final = {"bold": "1", "dim": "2", "italic": "3", "reverse": "7"}
_COLORS: Final = {
    name: number for number, name in enumerate(("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"))
}
_MORE_COLORS: Final = {
    "bright_black": ("90", "90"),
    "dark_orange": ("38;5;208", "33"),
    "medium_purple": ("38;5;104", "35"),
}
"""Colours beside the eight: their codes where there are 256 colours, and where there are not."""
NARROW: Final = frozenset("·•…‖→─│└├█▲◆○◌●◐◑◒◓◔◕⚙⚠✎✓✕✗✦")
"""Characters that we print ourselves and that take one column; rich has to be asked for others."""
_NO_TERMINALS: Final = ("dumb", "unknown")


class Text:
    """Text in pieces, each in a style: words such as `bold red` or `black on yellow`."""

    __slots__ = ("_pieces",)

    def __init__(self, text: str = "", style: str = "") -> None:
        self._pieces: list[tuple[str, str]] = [(text, style)] if text else []

    @classmethod
    def assemble(cls, *parts: str | tuple[str, str] | Text) -> Text:
        """One text of several: plain ones, ones with their style, and finished ones."""
        made = cls()
        for part in parts:
            if isinstance(part, Text):
                made.append_text(part)
            elif isinstance(part, str):
                made.append(part)
            else:
                made.append(*part)
        return made

    def append(self, text: str, style: str = "") -> Text:
        """Add text at the end."""
        if text:
            self._pieces.append((text, style))
        return self

    def append_text(self, other: Text) -> Text:
        """Add another text at the end."""
        self._pieces += other._pieces
        return self

    def __add__(self, other: Text) -> Text:
        return Text().append_text(self).append_text(other)

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def __str__(self) -> str:
        return self.plain

    @property
    def plain(self) -> str:
        """The text without its styles."""
        return "".join([text for text, _ in self._pieces])

    @property
    def cell_len(self) -> int:
        """How many columns of a terminal it takes."""
        return _columns(self.plain)

    def rstrip(self) -> None:
        """Take away the spaces at its end."""
        while self._pieces:
            text, style = self._pieces.pop()
            if text := text.rstrip():
                self._pieces.append((text, style))
                return

    def truncate(self, width: int) -> None:
        """Cut it to a width; where something is left out, it ends with `…`."""
        if self.cell_len <= width:
            return
        room, kept = max(0, width - 1), []
        for text, style in self._pieces:
            fitting = _fitting(text, room)
            kept.append((fitting, style))
            room -= _columns(fitting)
            if fitting != text:
                break
        self._pieces = [*kept, ("…", kept[-1][1] if kept else "")]

    def wrapped(self, width: int) -> Iterator[Text]:
        """Its lines, broken between words where they are wider than a terminal."""
        plain, start = self.plain, 0
        for line in plain.split("\n"):
            end = start + len(line)
            while _columns(plain[start:end]) > width:
                fits = start + max(1, len(_fitting(plain[start:end], width)))
                space = plain.rfind(" ", start + 1, fits + 1)
                yield self._part(start, space if space > start else fits)
                start = space + 1 if space > start else fits
            yield self._part(start, end)
            start = end + 1

    def _part(self, start: int, end: int) -> Text:
        part, at = Text(), 0
        for text, style in self._pieces:
            part.append(text[max(0, start - at) : max(0, end - at)], style)
            at += len(text)
        return part

    def rendered(self, codes: Mapping[str, str]) -> str:
        """The text with the escape sequences of its styles; `codes` are those of the terminal, by style word."""
        return "".join(_rendered(text, style, codes) for text, style in self._pieces)

    def __rich__(self) -> RichText:
        from rich.text import Text as RichText

        return RichText.assemble(*self._pieces)


def ansi(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The codes of a terminal, by style word: none if it knows none, and no colours if `NO_COLOR` is set."""
    terminal = environment.get("TERM", "")
    if terminal in _NO_TERMINALS:
        return {}
    if environment.get("NO_COLOR"):
        return _ATTRIBUTES
    is_rich = "256color" in terminal or environment.get("COLORTERM", "") in ("truecolor", "24bit")
    more = {name: codes[0 if is_rich else 1] for name, codes in _MORE_COLORS.items()}
    return {**_ATTRIBUTES, **{name: str(30 + number) for name, number in _COLORS.items()}, **more}


def _rendered(text: str, style: str, codes: Mapping[str, str]) -> str:
    chosen = list(_codes(style.split(), codes))
    if not chosen:
        return text
    start, end = f"\x1b[{';'.join(chosen)}m", "\x1b[0m"
    return "\n".join(f"{start}{line}{end}" if line else "" for line in text.split("\n"))


def _codes(words: Iterable[str], codes: Mapping[str, str]) -> Iterable[str]:
    is_background = False
    for word in words:
        if word == "on":
            is_background = True
        elif is_background and word in _COLORS and word in codes:
            yield str(40 + _COLORS[word])
        elif word in codes:
            yield codes[word]


def _columns(text: str) -> int:
    if text.isascii() or all(one.isascii() or one in NARROW for one in text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _fitting(text: str, room: int) -> str:
    """The beginning of a text that fits."""
    if _columns(text) <= room:
        return text
    cut = text[:room]
    while _columns(cut) > room:
        cut = cut[:-1]
    return cut
