"""PURE. The text of `progress.txt` as a tree whose values have positions."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from interlock.errors import Refusal

__all__ = [
    "FILE",
    "Items",
    "Node",
    "Plain",
    "Scalar",
    "YamlEntry",
    "YamlMapping",
    "check_text",
    "invalid",
    "is_allowed",
]

FILE: Final = "progress.txt"
Plain = str | int | bool | None
"""The values of a scalar."""

_MAX_BYTES: Final = 1024 * 1024
_FORBIDDEN: Final = "[^\\t\\n\\r\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]"
_WORDS: Final[dict[str, bool | None]] = {"": None, "~": None, "null": None, "true": True, "false": False}
_WHOLE: Final = r"[-+]?[0-9]{1,18}"


class Scalar(msgspec.Struct, frozen=True):
    """A single value; an empty one stands where its text would."""

    start: int
    end: int
    line: int
    column: int
    text: str
    style: str | None
    """Its quotes: a quotation mark, `|` or `>`; None if there are none."""

    @property
    def plain(self) -> Plain:
        """Its value: null, a boolean or a number as in YAML 1.2, else the text as written."""
        if self.style in ("|", ">"):
            return self.text.rstrip("\n")
        if self.style is not None:
            return self.text
        lowered = self.text.lower()
        if lowered in _WORDS and self.text in (lowered, lowered.upper(), lowered.capitalize()):
            return _WORDS[lowered]
        return int(self.text) if re.fullmatch(_WHOLE, self.text) else self.text


class Items(msgspec.Struct, frozen=True):
    """A list; a `flow` one stands in brackets."""

    start: int
    end: int
    line: int
    column: int
    flow: bool
    items: tuple[Node, ...]


class YamlEntry(msgspec.Struct, frozen=True):
    """A key with its value."""

    key: Scalar
    value: Node


class YamlMapping(msgspec.Struct, frozen=True):
    """A mapping, in the order of the text; a `flow` one stands in braces."""

    start: int
    end: int
    line: int
    column: int
    flow: bool
    entries: dict[str, YamlEntry]

    def get(self, name: str) -> Plain | Items | YamlMapping:
        """The value of a key; None if it is missing."""
        entry = self.entries.get(name)
        if entry is None:
            return None
        return entry.value.plain if isinstance(entry.value, Scalar) else entry.value

    def line_of(self, name: str) -> int:
        """The line of a key; of the mapping if it has no such key."""
        return self.entries[name].key.line if name in self.entries else self.line


Node = Scalar | Items | YamlMapping


def invalid(what: str, line: int | None) -> Refusal:
    """The refusal of a text, with the line that is wrong."""
    where = f"{FILE}, line {line}" if line else FILE
    hint = "Fix it by hand; nothing was changed."
    return Refusal("progress_invalid", f"{where}: {what}.", hint, {"line": line})


def is_allowed(text: str) -> bool:
    """Whether a text is not too long and holds no character that may not be in it."""
    return len(text) <= _MAX_BYTES and not re.search(_FORBIDDEN, text) and len(text.encode()) <= _MAX_BYTES


def check_text(text: str) -> None:
    """Refuse a text that is too long, or holds a character that may not be in it."""
    if len(text) > _MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        raise invalid(f"it has more than {_MAX_BYTES} bytes", None)
    if bad := re.search(_FORBIDDEN, text):
        line = len(re.findall(r"\r\n|\n|\r", text[: bad.start()])) + 1
        raise invalid(f"the character U+{ord(bad[0]):04X} may not be in it", line)
