"""The text that a person is shown before a decision: complete, in a frame that the text cannot break out of.

Every line begins with `│`, and a line that is too long continues below with `┆`. So the text cannot end the frame,
imitate our question, or run off the screen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from interlock.world.characters import marked

__all__ = ["framed", "framed_lines", "visible"]

_WIDTH = 80
_NARROWEST = 20
_TAB = 8
_LINE, _MORE = "│ ", "┆ "
_PIECE = re.compile(r"⟦(?:U\+|0x)[0-9A-F]{2,6}⟧|.", re.DOTALL)


def visible(text: str) -> str:
    """Mark invisible and bidirectional characters in text that an agent may have written."""
    return marked(text)


def framed(shown: str, width: int = _WIDTH) -> str:
    """The text as shown at a gate: complete, marked, and between two rules."""
    return "".join(f"{line}\n" for line in ("", *framed_lines(shown, width)))


def framed_lines(shown: str, width: int = _WIDTH) -> list[str]:
    """The lines of the frame, each at most `width` columns wide."""
    width = max(width, _NARROWEST)
    rule = "─" * min(72, width)
    whole = visible(shown).removesuffix("\n").split("\n")
    return [rule, *(part for line in whole for part in _folded(line, width)), rule]


def _folded(line: str, width: int) -> Iterator[str]:
    """Split a line into parts that fit; marks are not split."""
    begin, part, used = _LINE, "", len(_LINE)
    for one in _PIECE.findall(line):
        wide = _TAB - used % _TAB if one == "\t" else _cells(one)
        if used + wide > width:
            yield begin + part
            begin, part, used = _MORE, "", len(_MORE)
            wide = _TAB - used % _TAB if one == "\t" else wide
        part += one
        used += wide
    yield begin + part


def _cells(one: str) -> int:
    """The number of columns of a character or a mark."""
    if one.isascii() or len(one) > 1:
        return len(one)
    return 0 if unicodedata.category(one) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(one) in "WF" else 1
