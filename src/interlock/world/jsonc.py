"""PURE. Edits of JSON with comments and trailing commas that keep everything else byte for byte.

A trail is a tuple of keys and indices. Removing what was just put gives the very text from before, unless the
container was empty: then `raw` remembers how it was written, and `paste` writes it so again.
"""

from __future__ import annotations

import json
import re
from typing import Final

import msgspec

__all__ = ["MISSING", "JsonFault", "Missing", "Trail", "append", "comments", "get", "paste", "put", "raw", "remove"]

Trail = tuple[str | int, ...]
"""Where a value is: keys of objects and indices of lists, from the outside in."""

_DEEPEST: Final = 200
_GAP: Final = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_BESIDE: Final = r"(?:[ \t]*/\*(?:(?!\*/)[^\r\n])*\*/)"
_REST_OF_LINE: Final = re.compile(rf"{_BESIDE}*[ \t]*//[^\r\n]*|{_BESIDE}+(?=[ \t]*[\r\n])")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None}


class Missing:
    """The type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""What is at a trail that leads nowhere."""


class JsonFault(Exception):
    """The text is no JSON, or a trail leads through a value of another kind."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"{message} (line {line}, column {column})")
        self.line = line
        self.column = column


class _Item(msgspec.Struct, frozen=True):
    """A member of an object or an element of a list."""

    start: int
    """Where its key begins, or its value in a list."""
    value: _Value


class _Value(msgspec.Struct, frozen=True):
    start: int
    end: int
    plain: object = None
    """The value itself, if it holds no others."""
    items: dict[str, _Item] | list[_Item] | None = None

    def each(self) -> list[_Item]:
        if self.items is None:
            return []
        return list(self.items.values()) if isinstance(self.items, dict) else self.items


class _JsonReader:
    def __init__(self, text: str) -> None:
        self.text = text

    def fault(self, message: str, at: int) -> JsonFault:
        before = self.text[:at].replace("\r\n", "\n").replace("\r", "\n")
        return JsonFault(message, before.count("\n") + 1, len(before) - before.rfind("\n"))

    def document(self) -> _Value:
        start = self.gap(1 if self.text.startswith("\ufeff") else 0)
        value = self.value(start, 0)
        end = self.gap(value.end)
        if end != len(self.text):
            raise self.fault("There is something after the end", end)
        return value

    def gap(self, at: int) -> int:
        """Where the next thing is that is neither white space nor a comment."""
        found = _GAP.match(self.text, at)
        assert found is not None
        end = found.end()
        if self.text.startswith("/*", end):
            raise self.fault("The comment has no end", end)
        return end

    def value(self, at: int, depth: int) -> _Value:
        if depth > _DEEPEST:
            raise self.fault("This is nested too deeply", at)
        first = self.text[at : at + 1]
        if first == "{":
            return self.read_object(at, depth)
        if first == "[":
            return self.read_list(at, depth)
        if first == '"':
            end, said = self.string(at)
            return _Value(at, end, said)
        if found := _NUMBER.match(self.text, at):
            return _Value(at, found.end(), json.loads(_short(found[0])))
        for word, plain in _WORDS.items():
            if self.text.startswith(word, at):
                return _Value(at, at + len(word), plain)
        raise self.fault("A value is missing" if first else "The text ends too early", at)

    def string(self, at: int) -> tuple[int, str]:
        found = _STRING.match(self.text, at)
        try:
            said = json.loads(found[0]) if found else None
        except ValueError:
            said = None
        if found is None or not isinstance(said, str):
            raise self.fault("A string is broken", at)
        return found.end(), said

    def read_object(self, start: int, depth: int) -> _Value:
        items: dict[str, _Item] = {}
        at = self.gap(start + 1)
        while not self.text.startswith("}", at):
            if not self.text.startswith('"', at):
                raise self.fault("A key is missing" if at < len(self.text) else "The text ends too early", at)
            end, key = self.string(at)
            if key in items:
                raise self.fault(f"The key {json.dumps(key)[:80]} is there twice", at)
            colon = self.gap(end)
            if not self.text.startswith(":", colon):
                raise self.fault("A colon is missing", colon)
            value = self.value(self.gap(colon + 1), depth + 1)
            items[key] = _Item(at, value)
            at = self.after(value, "}")
        return _Value(start, at + 1, items=items)

    def read_list(self, start: int, depth: int) -> _Value:
        items: list[_Item] = []
        at = self.gap(start + 1)
        while not self.text.startswith("]", at):
            value = self.value(at, depth + 1)
            items.append(_Item(value.start, value))
            at = self.after(value, "]")
        return _Value(start, at + 1, items=items)

    def after(self, value: _Value, close: str) -> int:
        """Where the next item begins, or the container ends."""
        at = self.gap(value.end)
        if self.text.startswith(",", at):
            return self.gap(at + 1)
        if not self.text.startswith(close, at):
            raise self.fault("A comma is missing" if at < len(self.text) else "The text ends too early", at)
        return at

    def walk(self, trail: Trail) -> list[_Value]:
        """The values on the way to a trail, from the outside in, as far as they are there."""
        found = [self.document()]
        for step in trail:
            value = found[-1]
            if isinstance(step, str):
                if not isinstance(value.items, dict):
                    raise self.fault("An object should be here", value.start)
                item = value.items.get(step)
            else:
                if not isinstance(value.items, list):
                    raise self.fault("A list should be here", value.start)
                item = value.items[step] if step < len(value.items) else None
            if item is None:
                break
            found.append(item.value)
        return found

    def comma(self, value: _Value) -> int | None:
        """Where the comma after a value is."""
        at = self.gap(value.end)
        return at if self.text.startswith(",", at) else None


def _short(number: str) -> str:
    """A number that Python reads, however long it is; nobody edits those."""
    return number if len(number) < 1000 else "0"


def _plain(value: _Value) -> object:
    if isinstance(value.items, dict):
        return {key: _plain(item.value) for key, item in value.items.items()}
    if isinstance(value.items, list):
        return [_plain(item.value) for item in value.items]
    return value.plain


# Reading


def get(text: str, trail: Trail = ()) -> object:
    """The value at a trail, or `MISSING`. A value of another kind on the way is a fault."""
    found = _JsonReader(text).walk(trail)
    return _plain(found[-1]) if len(found) > len(trail) else MISSING


def raw(text: str, trail: Trail = ()) -> str | None:
    """The text of the value at a trail; None if there is none."""
    found = _JsonReader(text).walk(trail)
    return text[found[-1].start : found[-1].end] if len(found) > len(trail) else None


def comments(text: str) -> list[str]:
    """The comments in a text or a part of one."""
    return [found for found in _COMMENT.findall(text) if not found.startswith('"')]


# Editing


def paste(text: str, trail: Trail, written: str) -> str:
    """The value at a trail, written exactly so."""
    reader = _JsonReader(text)
    found = reader.walk(trail)
    if len(found) <= len(trail):
        raise reader.fault("There is nothing to replace", found[-1].start)
    return text[: found[-1].start] + written + text[found[-1].end :]


def put(text: str, trail: Trail, value: object) -> str:
    """The value at a trail, replaced in its place or added at the end of its object; missing objects are made."""
    reader = _JsonReader(text)
    found = reader.walk(trail)
    if len(found) > len(trail):
        if _same(_plain(found[-1]), value):
            return text
        return paste(text, trail, _Style(reader, found).rendered(value, len(found) - 1))
    missing = trail[len(found) - 1 :]
    for step in reversed(missing[1:]):
        value = {step: value}
    if not isinstance(missing[0], str):
        raise reader.fault("A list is too short", found[-1].start)
    return _added(reader, found, missing[0], value)


def append(text: str, trail: Trail, value: object) -> str:
    """A value at the end of the list at a trail; a missing list is made."""
    reader = _JsonReader(text)
    found = reader.walk(trail)
    if len(found) <= len(trail):
        return put(text, trail, [value])
    if not isinstance(found[-1].items, list):
        raise reader.fault("A list should be here", found[-1].start)
    return _added(reader, found, None, value)


def remove(text: str, trail: Trail) -> str:
    """The text without the value at a trail, its key and its comma; an emptied container stays."""
    reader = _JsonReader(text)
    found = reader.walk(trail)
    if len(found) <= len(trail):
        return text
    container, gone = found[-2], found[-1]
    items = container.each()
    index = next(number for number, item in enumerate(items) if item.value is gone)
    if len(items) == 1 and not comments(_around(text, container, items[0])):
        return text[: container.start + 1] + text[container.end - 1 :]
    comma = reader.comma(gone)
    if index == 0 and comma is not None and len(items) > 1 and not comments(text[gone.end : items[1].start]):
        return text[: items[0].start] + text[items[1].start :]
    rest = text[gone.end :] if comma is None else text[gone.end : comma] + text[comma + 1 :]
    extra = reader.comma(items[index - 1].value) if index else None
    before = _without_space(text, container.start if extra is None else extra, items[index].start, rest)
    if comma is None and extra is not None:
        before = before[:extra] + before[extra + 1 :]
    return before + rest


def _around(text: str, container: _Value, item: _Item) -> str:
    return text[container.start + 1 : item.start] + text[item.value.end : container.end - 1]


def _without_space(text: str, since: int, until: int, rest: str) -> str:
    """The text up to an item, without the white space before it, unless a comment would swallow what follows.

    `since` is where the comma or the bracket before the item is.
    """
    said = text[since + 1 : until]
    end = _last_comment_end(said)
    if end and comments(said)[-1].startswith("//") and not re.match(r"[\r\n]", rest):
        return text[:until]
    return text[: since + 1 + end]


def _last_comment_end(gap: str) -> int:
    """Where the last comment ends, its own trailing white space included; 0 if there is none."""
    return max((found.end() for found in _COMMENT.finditer(gap)), default=0)


def _same(one: object, other: object) -> bool:
    """Equal as JSON: `True` is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


class _Style:
    """How the text around a value is laid out."""

    def __init__(self, reader: _JsonReader, way: list[_Value]) -> None:
        self._text = reader.text
        self._way = way
        self.newline = _newline(reader.text)
        self.unit = self._unit()

    def _unit(self) -> str:
        items = self._way[0].each()
        indent = self._indent_before(items[0].start) if items and self.spread(0) else ""
        return indent if indent else "  "

    def _indent_before(self, at: int) -> str:
        line = self._text[:at]
        line = line[max(line.rfind("\n"), line.rfind("\r")) + 1 :]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def spread(self, depth: int) -> bool:
        """Whether the items of the container at this depth stand on lines of their own."""
        container = self._way[depth]
        items = container.each()
        if items:
            return bool(re.search(r"[\r\n]", self._text[container.start : items[0].start]))
        return depth == 0 or self.spread(depth - 1)

    def indent(self, depth: int) -> str:
        """What the items of the container at this depth are indented by."""
        container = self._way[depth]
        items = container.each()
        if items and self.spread(depth):
            return self._indent_before(items[0].start)
        return (self._indent_before(container.start) if depth else "") + self.unit

    def close(self, depth: int) -> str:
        """What the closing bracket of an empty container is indented by."""
        return self._indent_before(self._way[depth].start) if depth else ""

    def rendered(self, value: object, depth: int) -> str:
        """A value at this depth: on lines of its own if its container is."""
        if depth and not self.spread(depth - 1):
            return json.dumps(value, ensure_ascii=False)
        indent = self.indent(depth - 1) if depth else ""
        return json.dumps(value, indent=self.unit, ensure_ascii=False).replace("\n", self.newline + indent)


def _newline(text: str) -> str:
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"


def _added(reader: _JsonReader, way: list[_Value], key: str | None, value: object) -> str:
    """The text with one more item at the end of the last container of the way."""
    text, container, depth = reader.text, way[-1], len(way) - 1
    if container.items is None:
        raise reader.fault("An object should be here", container.start)
    style = _Style(reader, way)
    spread = style.spread(depth)
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if spread:
        rendered = json.dumps(value, indent=style.unit, ensure_ascii=False)
        item = name + rendered.replace("\n", style.newline + style.indent(depth))
        space = style.newline + style.indent(depth)
    else:
        item, space = name + json.dumps(value, ensure_ascii=False), " "
    items = container.each()
    if not items:
        return _filled(text, container, item, space, style.newline + style.close(depth) if spread else "")
    last = items[-1].value
    comma = reader.comma(last)
    at = last.end if comma is None else comma + 1
    rest = _REST_OF_LINE.match(text, at) if spread else None
    there = rest.end() if rest else at
    if comma is None:
        return text[:at] + "," + text[at:there] + space + item + text[there:]
    return text[:there] + space + item + "," + text[there:]


def _filled(text: str, container: _Value, item: str, space: str, close: str) -> str:
    """The text with a first item in an empty container; comments in it stay before the item."""
    inside = text[container.start + 1 : container.end - 1]
    said = inside[: _last_comment_end(inside)]
    tail = inside[len(said) :] if said else close
    if said and not close and "//" in said:
        space = _newline(text)
    if said and close and not re.search(r"[\r\n]", tail):
        tail = close
    if not said and not close:
        space = ""
    return text[: container.start + 1] + said + space + item + tail + text[container.end - 1 :]
