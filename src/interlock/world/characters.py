"""PURE. Invisible characters: one definition for terminals, pages and records.

Text can hold characters that are invisible, look like a space, move the cursor or change the direction of the text.
They are shown as `⟦U+202E⟧`, and bytes that are not valid UTF-8 as `⟦0xFF⟧`. A typed mark looks the same and hides
nothing.
"""

from __future__ import annotations

import re

__all__ = ["decoded", "is_hidden", "marked"]

_BLANK = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Invisible characters that Unicode classifies as letters, symbols or marks: fillers, blanks, variation selectors."""


def is_hidden(character: str) -> bool:
    """True for an invisible character and for every space except U+0020."""
    return not character.isprintable() or re.match(_BLANK, character) is not None


def marked(text: str, keep: str = "\n\t") -> str:
    """Replace every hidden character by its mark, except those in `keep`."""
    visible = text.isprintable() or (set("\n\t") <= set(keep) and all(map(str.isprintable, re.split(r"[\n\t]", text))))
    if visible and not re.search(_BLANK, text):
        return text
    return "".join(_mark(one, keep) for one in text)


def decoded(content: bytes) -> str:
    """Decode UTF-8; every invalid byte becomes a mark."""
    return "".join(_byte(one) for one in content.decode("utf-8", "surrogateescape"))


def _mark(one: str, keep: str) -> str:
    return f"⟦U+{ord(one):04X}⟧" if one not in keep and is_hidden(one) else one


def _byte(one: str) -> str:
    return f"⟦0x{ord(one) - 0xDC00:02X}⟧" if "\udc80" <= one <= "\udcff" else one
