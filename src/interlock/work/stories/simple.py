"""PURE. `progress.txt` in the form in which the loop itself writes it, read line by line.

YAML in general takes some hundred times as long to read, and the loop reads the file at every step. What is not in
this form is left to `yaml_reader`: a key and its value on a line, mappings and lists of mappings below a key.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

from interlock.work.stories.yaml_tree import Items, Node, Scalar, YamlEntry, YamlMapping, is_allowed

__all__ = ["read", "simply"]

_LINE: Final = (
    r"(?P<before> *(?P<dash>- )?)(?P<key>[A-Za-z_]\w*):"
    r"(?: +(?:"
    r"(?P<plain>[\w./+](?:[^ :#]|:(?=[^ ])|(?<! )#| (?! *(?:#|$)))*)"
    r'|"(?P<double>(?:[^"\\]|\\["\\nrt]|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8})*)"'
    r"|'(?P<single>(?:[^']|'')*)'"
    r"))?(?: +#.*)?"
)
_NOTHING: Final = re.compile(r" *(?:#.*)?")
_OTHER: Final = re.compile("[\t\r\ufeff]")
_SHORT: Final = 1 << 14
_ESCAPE: Final = re.compile(r"\\(?:x(..)|u(....)|U(........)|(.))")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t"}
_STYLES: Final = {"plain": None, "double": '"', "single": "'"}


def read(text: str) -> YamlMapping:
    """The mapping that a text is, or `progress_invalid`."""
    return _read_short(text) if len(text) < _SHORT else _read(text)


def _read(text: str) -> YamlMapping:
    if is_allowed(text) and (found := simply(text)) is not None:
        return found
    from interlock.work.stories.yaml_reader import read as read_any

    return read_any(text)


_read_short = lru_cache(maxsize=8)(_read)
"""What is written at one step is read at the next."""


def simply(text: str) -> YamlMapping | None:
    """The mapping that a text of allowed characters is; None where it is not of the simple form."""
    if not text.endswith("\n") or _OTHER.search(text):
        return None
    page, at, matched = _Page(), 0, re.compile(_LINE).fullmatch
    for number, line in enumerate(text[:-1].split("\n"), 1):
        if _NOTHING.fullmatch(line) is None:
            found = matched(line)
            if found is None or not page.take(found, at, number):
                return None
        at += len(line) + 1
    return page.ended(at)


class _Mapping(msgspec.Struct):
    """A mapping that is being read."""

    start: int
    line: int
    column: int
    entries: dict[str, YamlEntry] = msgspec.field(default_factory=dict)

    def add(self, key: Scalar, value: Node) -> bool:
        if key.text in self.entries:
            return False
        self.entries[key.text] = YamlEntry(key, value)
        return True

    def ended(self, end: int) -> YamlMapping:
        return YamlMapping(self.start, end, self.line, self.column, False, self.entries)


class _Page(msgspec.Struct):
    """What was read so far; `above` is the key of the mapping or list that is being read, once there is one."""

    root: _Mapping | None = None
    above: Scalar | None = None
    inner: _Mapping | None = None
    items: list[YamlMapping] | None = None
    dash: tuple[int, int, int] = (0, 0, 0)
    """Where the list begins: place, line and column."""

    def take(self, found: re.Match[str], at: int, number: int) -> bool:
        """Take in a line; whether it is of the simple form."""
        column = found.end("before")
        key = Scalar(at + column, at + found.end("key"), number, column, found["key"], None)
        value = _value(found, at, number)
        if found["dash"]:
            return value is not None and self._item(key, value, column - 2)
        if column == 0:
            return self._top(key, value)
        return value is not None and self._field(key, value)

    def _top(self, key: Scalar, value: Scalar | None) -> bool:
        self.root = self.root or _Mapping(key.start, key.line, key.column)
        if not self._close(key.start):
            return False
        if value is None:
            self.above = key
            return key.text not in self.root.entries
        return self.root.add(key, value)

    def _item(self, key: Scalar, value: Scalar, column: int) -> bool:
        if self.above is None or (self.inner is not None and self.items is None):
            return False
        if self.items is None:
            self.items, self.dash = [], (key.start - 2, key.line, column)
        if self.inner is not None:
            self.items.append(self.inner.ended(key.start - 2))
        self.inner = _Mapping(key.start, key.line, key.column)
        return column == self.dash[2] and self.inner.add(key, value)

    def _field(self, key: Scalar, value: Scalar) -> bool:
        if self.above is None:
            return False
        self.inner = self.inner or _Mapping(key.start, key.line, key.column)
        return key.column == self.inner.column and self.inner.add(key, value)

    def _close(self, end: int) -> bool:
        """End the mapping or list below the last key; False where it has neither."""
        if self.above is None:
            return True
        if self.root is None or self.inner is None:
            return False
        value: Node = self.inner.ended(end)
        if self.items is not None:
            place, line, column = self.dash
            value = Items(place, end, line, column, False, (*self.items, self.inner.ended(end)))
        key, self.above, self.inner, self.items = self.above, None, None, None
        return self.root.add(key, value)

    def ended(self, end: int) -> YamlMapping | None:
        return self.root.ended(end) if self.root is not None and self._close(end) else None


def _value(found: re.Match[str], at: int, number: int) -> Scalar | None:
    for name, style in _STYLES.items():
        said = found[name]
        if said is not None:
            start, end = found.span(name)
            if style is not None:
                start, end = start - 1, end + 1
                said = _ESCAPE.sub(_unescaped, said) if style == '"' else said.replace("''", "'")
            return Scalar(at + start, at + end, number, start, said, style)
    return None


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    return chr(int(code, 16)) if code else _ESCAPED.get(found[4], found[4])
