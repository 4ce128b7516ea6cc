"""PURE. Any YAML in `progress.txt`, read by ruamel's parser.

Only what is needed of YAML is read: no anchors, aliases, tags, directives or second documents, and nothing deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace
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

from interlock.work.stories.yaml_tree import Items, Node, Scalar, YamlEntry, YamlMapping, check_text, invalid

__all__ = ["read"]

_MAX_DEPTH: Final = 12
_COLON: Final = re.compile(r"[ \t]*:")
_LINE_BEFORE_KEY: Final = re.compile(r"[ \t]*(?:-[ \t]+)*")


def read(text: str) -> YamlMapping:
    """The mapping that a text is, or `progress_invalid`."""
    check_text(text)
    try:
        return _Reader(text).document()
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
        raise invalid(f"it is no YAML: {said}", mark.line + 1 if mark else None) from None
    except (ValueError, OverflowError) as error:
        raise invalid(f"it is no YAML: {error}", None) from None


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
