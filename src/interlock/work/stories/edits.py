"""PURE. Edits of YAML that keep everything else byte for byte: the comments, the order, the quotes, the indentation.

An edit is a list of splices of the text. Only inside braces and brackets does a comment go with what is taken out or
moved beside it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from interlock.work.stories.yaml_tree import Items, Node, Plain, Scalar, YamlEntry, YamlMapping

__all__ = ["KeptItem", "Splice", "amend", "arrange", "ended", "nested", "spliced"]

_BARE: Final = re.compile(r"[^\W\d_](?:[\w./ -]*[\w./-])?|\d{4}-\d\d-\d\dT[\d:.]+Z|\d+%")
"""Texts that mean the same without quotes to every reader of YAML; of times and percentages we say so."""
_MEANING: Final = frozenset("null true false yes no on off y n".split())
_NEWLINE: Final = re.compile(r"\r\n|\n|\r")
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class Splice(msgspec.Struct, frozen=True):
    """What stands from `start` to `end` is replaced."""

    start: int
    end: int
    text: str


def spliced(text: str, splices: Iterable[Splice], start: int = 0, end: int | None = None) -> str:
    """A part of a text with its splices; what is put in at the same place keeps its order."""
    parts, at = [], start
    for one in sorted(splices, key=lambda one: (one.start, one.end)):
        parts += [text[at : one.start], one.text]
        at = max(at, one.end)
    return "".join([*parts, text[at : len(text) if end is None else end]])


# Values


def _rendered(value: Plain, like: str | None = None) -> str:
    """A value as YAML; a text in the quotes of the one before."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if like == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if like != '"' and _BARE.fullmatch(value) and value.lower() not in _MEANING:
        return value
    return '"' + "".join(_ESCAPES.get(one, one if one.isprintable() else _escaped(one)) for one in value) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _newline(text: str) -> str:
    found = _NEWLINE.search(text)
    return found[0] if found else "\n"


def ended(text: str) -> str:
    """A text whose last line is ended like its others."""
    return text if text.endswith(("\n", "\r")) else text + _newline(text)


def _after_line(text: str, at: int) -> int:
    """Where the line after this place begins."""
    found = _NEWLINE.search(text, at)
    return found.end() if found else len(text)


def _after(text: str, node: Node) -> int:
    """Where the line after a value of a block begins."""
    while not isinstance(node, Scalar) and not node.flow:
        node = list(node.entries.values())[-1].value if isinstance(node, YamlMapping) else node.items[-1]
    if isinstance(node, Scalar) and node.style in ("|", ">") and text[node.end - 1] in "\r\n":
        return node.end
    return _after_line(text, node.end)


# Mappings


def amend(
    text: str, fields: YamlMapping, values: Mapping[str, Plain], order: Iterable[str], gone: Collection[str] = ()
) -> list[Splice]:
    """A mapping with these values, in their place if they are there, else after what comes before them in the `order`.

    What is not there and None is not put in. At least one key must be there and stay. The text ends with a new line.
    """
    found = _dropped(text, fields, gone)
    kept = {name: entry for name, entry in fields.entries.items() if name not in gone}
    last: YamlEntry | None = None
    for name in order:
        if name in kept:
            last = kept[name]
            found += _replaced(text, last, values[name]) if name in values else []
        elif values.get(name) is not None:
            found.append(_put_in(text, fields, next(iter(kept.values())), last, name, values[name]))
    return found


def _replaced(text: str, entry: YamlEntry, value: Plain) -> list[Splice]:
    old = entry.value
    if old.start == old.end:
        colon = "" if old.start > entry.key.end else ":"
        return [Splice(old.start, old.end, f"{colon} {_rendered(value)}")]
    replaced = text[old.start : old.end]
    space = replaced[len(replaced.rstrip()) :]
    return [Splice(old.start, old.end, _rendered(value, old.style if isinstance(old, Scalar) else None) + space)]


def _put_in(
    text: str, fields: YamlMapping, first: YamlEntry, last: YamlEntry | None, name: str, value: Plain
) -> Splice:
    is_json = first.key.style == '"'
    line = f'"{name}": ' + _rendered(value, '"') if is_json else f"{name}: {_rendered(value)}"
    if last is None:
        at = first.key.start
        return Splice(at, at, f"{line}, " if fields.flow else f"{line}{_newline(text)}{' ' * fields.column}")
    if fields.flow:
        return Splice(last.value.end, last.value.end, f", {line}")
    at = _after(text, last.value)
    return Splice(at, at, f"{' ' * fields.column}{line}{_newline(text)}")


def _dropped(text: str, fields: YamlMapping, gone: Collection[str]) -> list[Splice]:
    """Without these keys; the first that stays takes the place of those before it."""
    entries = list(fields.entries.values())
    first = next((place for place, entry in enumerate(entries) if entry.key.text not in gone), 0)
    found: list[Splice] = []
    for place, entry in enumerate(entries):
        if entry.key.text not in gone:
            continue
        start, end = entry.key.start, entry.value.end
        if place < first:
            following = entries[place + 1].key.start
            said = not fields.flow and "#" in text[end:following]
            found.append(Splice(start, end if said else following, ""))
        elif fields.flow:
            found.append(Splice(entries[place - 1].value.end, end, ""))
        else:
            found.append(Splice(start - entry.key.column, _after(text, entry.value), ""))
    return found


def _before_space(text: str, at: int) -> int:
    return len(text[:at].rstrip(" "))


def nested(
    text: str, fields: YamlMapping, name: str, values: Mapping[str, Plain], order: Iterable[str]
) -> list[Splice]:
    """A mapping in a mapping with these values; it is made, last, if it is not there or is empty."""
    entry = fields.entries.get(name)
    if entry is not None and isinstance(entry.value, YamlMapping) and entry.value.entries:
        return amend(text, entry.value, values, order)
    newline = _newline(text)
    lines = _lines(values)
    indent = newline + " " * (fields.column + 2)
    inside = f" {_braced(values)}" if fields.flow else indent + indent.join(lines)
    if entry is not None:
        colon = "" if entry.value.start > entry.key.end else ":"
        return [Splice(_before_space(text, entry.value.start), entry.value.end, colon + inside)]
    last = list(fields.entries.values())[-1].value
    if fields.flow:
        return [Splice(last.end, last.end, f', "{name}":{inside}')]
    at = _after(text, last)
    return [Splice(at, at, f"{' ' * fields.column}{name}:{inside}{newline}")]


def _lines(values: Mapping[str, Plain]) -> list[str]:
    return [f"{name}: {_rendered(value)}" for name, value in values.items() if value is not None]


def _braced(values: Mapping[str, Plain]) -> str:
    """A mapping on one line, in the form that JSON has too."""
    given = [f'"{name}": ' + _rendered(value, '"') for name, value in values.items() if value is not None]
    return "{" + ", ".join(given) + "}"


# Lists

New = Mapping[str, Plain]
"""The fields of an item that the list does not have yet."""


class KeptItem(msgspec.Struct, frozen=True):
    """An item that the list has: its place there, and what is changed in it."""

    place: int
    splices: Sequence[Splice] = ()


def arrange(text: str, parent: YamlMapping, name: str, wanted: Sequence[KeptItem | New]) -> list[Splice]:
    """A list of mappings with these items, in this order; comments above an item move with it."""
    entry = parent.entries[name]
    items = entry.value
    assert isinstance(items, Items)
    as_it_was = [one.place for one in wanted if isinstance(one, KeptItem)] == list(range(len(items.items)))
    if as_it_was and len(wanted) == len(items.items):
        return [splice for one in wanted if isinstance(one, KeptItem) for splice in one.splices]
    if not items.flow:
        return _arranged_block(text, entry, items, wanted)
    if items.items or parent.flow:
        return [Splice(items.start, items.end, _bracketed(text, items, wanted))]
    news = [one for one in wanted if not isinstance(one, KeptItem)]
    newline, column = _newline(text), parent.column + 2
    lines = "".join(_block_item(one, column, column + 2, newline) for one in news)
    return [Splice(_before_space(text, items.start), items.end, newline + lines.removesuffix(newline))]


def _arranged_block(text: str, entry: YamlEntry, items: Items, wanted: Sequence[KeptItem | New]) -> list[Splice]:
    ends = [_after(text, item) for item in items.items]
    starts = [_after_line(text, entry.key.end), *ends]
    first = items.items[0]
    inner = first.column if isinstance(first, YamlMapping) and not first.flow else items.column + 2
    parts = [
        spliced(text, one.splices, starts[one.place], ends[one.place])
        if isinstance(one, KeptItem)
        else _block_item(one, items.column, inner, _newline(text))
        for one in wanted
    ]
    found = [Splice(starts[0], ends[-1], "".join(parts))]
    if not parts:
        colon = text.index(":", entry.key.end) + 1
        found.append(Splice(colon, colon, " []"))
    return found


def _block_item(values: New, column: int, inner: int, newline: str) -> str:
    dash = " " * column + "-" + " " * (inner - column - 1)
    return dash + (newline + " " * inner).join(_lines(values)) + newline


def _bracketed(text: str, items: Items, wanted: Sequence[KeptItem | New]) -> str:
    parts = [
        spliced(text, one.splices, items.items[one.place].start, items.items[one.place].end)
        if isinstance(one, KeptItem)
        else _braced(one)
        for one in wanted
    ]
    if not items.items:
        return f"[{', '.join(parts)}]"
    head, tail = text[items.start : items.items[0].start], text[items.items[-1].end : items.end]
    spread = len(items.items) > 1 and _NEWLINE.search(text[items.items[0].end : items.items[1].start])
    gap = "," + _newline(text) + " " * items.items[0].column if spread else ", "
    return head + gap.join(parts) + tail
