"""PURE. The text of `progress.txt` as a tree in which every value knows where it stands.

Only what is needed of YAML is read: no anchors, aliases, tags, directives or second documents, and nothing deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from interlock.errors import Refusal

__all__ = ["FILE", "Items", "Node", "Plain", "Scalar", "YamlEntry", "YamlMapping", "invalid", "is_allowed", "read"]

FILE: Final = "progress.txt"
Plain = str | int | bool | None
"""What a scalar can mean."""

_MAX_BYTES: Final = 1024 * 1024
_MAX_DEPTH: Final = 12
_FORBIDDEN: Final = re.compile(
    "[^\\t\\n\\r\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]"
)
_COLON: Final = re.compile(r"[ \t]*:")
_LINE_BEFORE_KEY: Final = re.compile(r"[ \t]*(?:-[ \t]+)*")
_WORDS: Final[dict[str, bool | None]] = {"": None, "~": None, "null": None, "true": True, "false": False}
_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value; an empty one stands where its text would."""

    start: int
    end: int
    line: int
    column: int
    text: str
    style: str | None
    """How it is quoted: a quotation mark, `|` or `>`; None if it is not."""

    @property
    def plain(self) -> Plain:
        """What it means: as few words as YAML 1.2 has mean something, the rest is text as it is written."""
        if self.style in ("|", ">"):
            return self.text.rstrip("\n")
        if self.style is not None:
            return self.text
        lowered = self.text.lower()
        if lowered in _WORDS and self.text in (lowered, lowered.upper(), lowered.capitalize()):
            return _WORDS[lowered]
        return int(self.text) if _WHOLE.fullmatch(self.text) else self.text


@dataclass(frozen=True, slots=True)
class Items:
    """A list; a `flow` one stands in brackets."""

    start: int
    end: int
    line: int
    column: int
    flow: bool
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """A key with its value."""

    key: Scalar
    value: Node


@dataclass(frozen=True, slots=True)
class YamlMapping:
    """A mapping, in the order of the text; a `flow` one stands in braces."""

    start: int
    end: int
    line: int
    column: int
    flow: bool
    entries: dict[str, YamlEntry]

    def get(self, name: str) -> Plain | Items | YamlMapping:
        """What a key says; None too if it is not there."""
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
    hint = "Mend it by hand; nothing was changed."
    return Refusal("progress_invalid", f"{where}: {what}.", hint, {"line": line})


def read(text: str) -> YamlMapping:
    """The mapping that a text is, or `progress_invalid`."""
    if len(text) > _MAX_BYTES:
        raise invalid(f"it has more than {_MAX_BYTES} bytes", None)
    if bad := _FORBIDDEN.search(text):
        raise invalid(f"the character U+{ord(bad[0]):04X} may not be in it", _line_at(text, bad.start()))
    if len(text.encode()) > _MAX_BYTES:
        raise invalid(f"it has more than {_MAX_BYTES} bytes", None)
    try:
        return _Reader(text).document()
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
        raise invalid(f"it is no YAML: {said}", mark.line + 1 if mark else None) from None
    except (ValueError, OverflowError) as error:
        raise invalid(f"it is no YAML: {error}", None) from None


def is_allowed(text: str) -> bool:
    """Whether a text is not too long and holds no character that may not be in it."""
    return len(text) <= _MAX_BYTES and not _FORBIDDEN.search(text) and len(text.encode()) <= _MAX_BYTES


def _line_at(text: str, index: int) -> int:
    return len(re.findall(r"\r\n|\n|\r", text[:index])) + 1


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._events: Iterator[Event] = iter(YAML(typ="safe", pure=True).parse(text))

    def document(self) -> YamlMapping:
        root: Node | None = None
        for event in self._events:
            line = event.start_mark.line + 1
            if isinstance(event, DocumentStartEvent) and (event.version or event.tags):
                raise invalid("it holds a directive (%)", line)
            if isinstance(event, NodeEvent):
                if root is not None:
                    raise invalid("it holds a second document (---)", line)
                root = self._node(event, 1)
        if not isinstance(root, YamlMapping):
            raise invalid("it is empty, or no mapping", 1)
        return root

    def _node(self, event: Event, depth: int) -> Node:
        assert isinstance(event, NodeEvent)
        start, line, column = event.start_mark.index, event.start_mark.line + 1, event.start_mark.column
        if isinstance(event, AliasEvent):
            raise invalid("it holds an alias (*name)", line)
        if event.anchor is not None:
            raise invalid("it holds an anchor (&name)", line)
        assert isinstance(event, ScalarEvent | CollectionStartEvent)
        if event.tag is not None:
            raise invalid("it holds a tag (!name)", line)
        if isinstance(event, ScalarEvent):
            return Scalar(start, event.end_mark.index, line, column, event.value, event.style)
        if depth > _MAX_DEPTH:
            raise invalid(f"it is nested more than {_MAX_DEPTH} deep", line)
        flow = bool(event.flow_style)
        if isinstance(event, MappingStartEvent):
            entries, end = self._entries(flow, depth)
            return YamlMapping(start, end, line, column, flow, entries)
        items, end = self._items(depth)
        return Items(start, end, line, column, flow, items)

    def _items(self, depth: int) -> tuple[tuple[Node, ...], int]:
        found: list[Node] = []
        while not isinstance(event := next(self._events), CollectionEndEvent):
            found.append(self._node(event, depth + 1))
        return tuple(found), event.end_mark.index

    def _entries(self, flow: bool, depth: int) -> tuple[dict[str, YamlEntry], int]:
        found: dict[str, YamlEntry] = {}
        while not isinstance(event := next(self._events), CollectionEndEvent):
            key = self._node(event, depth + 1)
            if not isinstance(key, Scalar) or not (flow or self._begins_its_line(key)):
                raise invalid("a key must be a single text at the beginning of its line", key.line)
            if key.text in found:
                raise invalid(f"the key {key.text[:80]!r} is there twice", key.line)
            found[key.text] = YamlEntry(key, self._beside(key, self._node(next(self._events), depth + 1)))
        return found, event.end_mark.index

    def _begins_its_line(self, key: Scalar) -> bool:
        return _LINE_BEFORE_KEY.fullmatch(self._text, key.start - key.column, key.start) is not None

    def _beside(self, key: Scalar, value: Node) -> Node:
        """The value of a key; one that is empty is said to stand behind the colon, not where the next thing begins."""
        if not isinstance(value, Scalar) or value.end > value.start:
            return value
        colon = _COLON.match(self._text, key.end)
        at = colon.end() if colon else key.end
        return replace(value, start=at, end=at, line=key.line)
