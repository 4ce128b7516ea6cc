"""PURE. The text of `progress.txt`: YAML that people edit, read with positions and changed by splices.

A text is parsed into nodes that know where they are. A change replaces only the characters that must differ, so
comments, the order of keys, quotes, indentation and keys that we do not know stay byte for byte.
Of YAML only what is needed is read: no anchors, aliases, tags, directives or second documents, and nothing deep.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from interlock.decoding import convert
from interlock.errors import Refusal
from interlock.work.stories.progress import (
    FILE,
    SHOWN,
    IterationStatus,
    LoopMetrics,
    Progress,
    StoryProgress,
    StoryStatus,
)

__all__ = ["ProgressFile", "parse", "template", "written"]

_MAX_BYTES: Final = 1024 * 1024
_MAX_DEPTH: Final = 12
_MAX_ID: Final = 200
_NEWLINE: Final = re.compile(r"\r\n|\n|\r")
_HEAD: Final = ("workflow", "project", "iteration", "last_updated")
_PARTS: Final[Mapping[str, type[IterationStatus | LoopMetrics]]] = {
    "current_iteration": IterationStatus,
    "metrics": LoopMetrics,
}
_OURS: Final = frozenset(StoryProgress.__struct_fields__)

_NEW: Final = """\
workflow: ralph-bmad-integration
project: ""
iteration: 0
last_updated: null

stories: []

current_iteration:
  ralph_instance_id: null
  start_time: null
  brooks_context_window_used: null
  neo4j_connected: null
  pending_neo4j_logs: 0

metrics:
  tasks_completed_this_session: 0
  blockers_encountered: 0
  avg_iteration_time_ms: 0
"""


def parse(text: str) -> Progress:
    """Return what a text holds; raise `progress_invalid` with the line that is wrong."""
    return _parsed(text)[1]


def written(text: str | None, progress: Progress) -> str:
    """Return a text that holds `progress`: the given one with what differs, or a new one.

    `parse` reads it back as `progress`, if each story has only the fields of its status.
    """
    text = _NEW if text is None else text
    document, before = _parsed(text)
    return text if before == progress else _Edits(text).made(document, before, progress)


def template(project: str, stories: Iterable[tuple[str, str | None]], now: str) -> str:
    """Return the text of a new file: every story, as an id and its file, not started."""
    lines = tuple(StoryProgress(id_, StoryStatus.NOT_STARTED, file) for id_, file in stories)
    head = (
        "# Where the stories stand. The loop writes this file and reads your edits:\n"
        "# to unblock a story set `status: in_progress`, `retry_count: 0`, and remove its blocker_ lines.\n"
    )
    return head + written(None, Progress(project=project, last_updated=now, stories=lines))


# Nodes: the text, parsed

Plain = str | int | bool | None
_WORDS: Final[dict[str, bool | None]] = {"": None, "~": None, "null": None, "true": True, "false": False}
_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,18}")
_FORBIDDEN: Final = "[^\\t\\n\\r\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]"
_COLON: Final = re.compile(r"[ \t]*:")
_LINE_BEFORE_KEY: Final = re.compile(r"[ \t]*(?:-[ \t]+)*")


class _Node(msgspec.Struct, frozen=True):
    """A value with its place in the text; an empty one is where its text would be."""

    start: int
    end: int
    line: int
    column: int


class _Scalar(_Node, frozen=True):
    """A single value."""

    text: str
    style: str
    """The quotes: a quotation mark, `|` or `>`; empty if there are none."""

    @property
    def plain(self) -> Plain:
        """The value: null, a boolean or a number as in YAML 1.2, else the text as written."""
        if self.style:
            return self.text.rstrip("\n") if self.style in "|>" else self.text
        lowered = self.text.lower()
        if lowered in _WORDS and self.text in (lowered, lowered.upper(), lowered.capitalize()):
            return _WORDS[lowered]
        return int(self.text) if _WHOLE.fullmatch(self.text) else self.text


class _Items(_Node, frozen=True):
    """A list; a `flow` one is in brackets."""

    flow: bool
    items: tuple[_Node, ...]


class _KeyValue(msgspec.Struct, frozen=True):
    """A key with its value."""

    key: _Scalar
    value: _Node

    @property
    def colon(self) -> str:
        """The colon that an empty value needs before it: in braces a key may have none."""
        return "" if self.value.start > self.key.end else ":"


class _Mapping(_Node, frozen=True):
    """A mapping, in the order of the text; a `flow` one is in braces."""

    flow: bool
    entries: dict[str, _KeyValue]

    def get(self, name: str) -> _Node | None:
        return self.entries[name].value if name in self.entries else None

    def line_of(self, name: str) -> int:
        """Return the line of a key, or of the mapping if it has no such key."""
        return self.entries[name].key.line if name in self.entries else self.line


def _invalid(what: str, line: int | None) -> Refusal:
    where = f"{FILE}, line {line}" if line else FILE
    hint = "Fix it by hand; nothing was changed."
    return Refusal("progress_invalid", f"{where}: {what}.", hint, {"line": line})


@lru_cache(maxsize=2)
def _parsed(text: str) -> tuple[_Mapping, Progress]:
    """Return the nodes of a text and what it holds. What is written at one step is read at the next."""
    document = _read(text)
    return document, _progress_of(document)


def _read(text: str) -> _Mapping:
    import yaml  # here, because commands that only replay a loop import this module and parse nothing

    if len(text) > _MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        raise _invalid(f"it has more than {_MAX_BYTES} bytes", None)
    if bad := re.search(_FORBIDDEN, text):
        line = len(_NEWLINE.findall(text, 0, bad.start())) + 1
        raise _invalid(f"the character U+{ord(bad[0]):04X} may not be in it", line)
    try:
        return _YamlReader(text, yaml.parse(text, Loader=yaml.CSafeLoader)).document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
        raise _invalid(f"it is no YAML: {said}", mark.line + 1 if mark else None) from None


class _YamlReader:
    """The events of the parser, made into nodes."""

    def __init__(self, text: str, events: Iterator[Any]) -> None:
        self._text = text
        self._events = events
        self._offset = int(text.startswith("\ufeff"))  # libyaml does not count a byte order mark

    def document(self) -> _Mapping:
        root: _Node | None = None
        for event in self._events:
            line = event.start_mark.line + 1
            if getattr(event, "version", None) or getattr(event, "tags", None):
                raise _invalid("it holds a directive (%)", line)
            if hasattr(event, "anchor"):  # the first event of a node
                if root is not None:
                    raise _invalid("it holds a second document (---)", line)
                root = self._node(event, 1)
        if not isinstance(root, _Mapping):
            raise _invalid("it is empty, or no mapping", 1)
        return root

    def _node(self, event: Any, depth: int) -> _Node:
        mark, kind = event.start_mark, type(event).__name__
        start, line, column = mark.index + self._offset, mark.line + 1, mark.column
        if kind == "AliasEvent":
            raise _invalid("it holds an alias (*name)", line)
        if event.anchor is not None:
            raise _invalid("it holds an anchor (&name)", line)
        if event.tag is not None:
            raise _invalid("it holds a tag (!name)", line)
        if kind == "ScalarEvent":
            return _Scalar(start, event.end_mark.index + self._offset, line, column, event.value, event.style or "")
        if depth > _MAX_DEPTH:
            raise _invalid(f"it is nested more than {_MAX_DEPTH} deep", line)
        flow, inside = bool(event.flow_style), []
        while hasattr(event := next(self._events), "anchor"):
            inside.append(self._node(event, depth + 1))
        end = event.end_mark.index + self._offset
        if kind == "SequenceStartEvent":
            return _Items(start, end, line, column, flow, tuple(inside))
        return _Mapping(start, end, line, column, flow, self._entries(inside[::2], inside[1::2], flow))

    def _entries(self, keys: Sequence[_Node], values: Sequence[_Node], flow: bool) -> dict[str, _KeyValue]:
        found: dict[str, _KeyValue] = {}
        for key, value in zip(keys, values, strict=True):
            before = key.start - key.column
            begins_its_line = flow or _LINE_BEFORE_KEY.fullmatch(self._text, before, key.start)
            if not isinstance(key, _Scalar) or not begins_its_line:
                raise _invalid("a key must be a single text at the beginning of its line", key.line)
            if key.text in found:
                raise _invalid(f"the key {key.text[:80]!r} is there twice", key.line)
            if value.end == value.start:  # an empty value is right behind the colon, not where the next thing begins
                colon = _COLON.match(self._text, key.end)
                at = colon.end() if colon else key.end
                value = replace(value, start=at, end=at, line=key.line)
            found[key.text] = _KeyValue(key, value)
        return found


# Values: what the nodes hold

_TYPES: Final[dict[type, str]] = {str: "a text", int: "a whole number from 0 on", bool: "true or false"}
_TYPE_OF: Final = {
    name: next((type_ for type_ in (bool, int) if annotation.startswith(type_.__name__)), str)
    for shape in (Progress, StoryProgress, IterationStatus, LoopMetrics)
    for name, annotation in shape.__annotations__.items()
}
"""The type of each field, None aside; fields of the same name have the same type."""


def _progress_of(document: _Mapping) -> Progress:
    stories = document.get("stories")
    if not isinstance(stories, _Items):
        raise _invalid("`stories` must be a list", document.line_of("stories"))
    found: dict[str, StoryProgress] = {}
    for item in stories.items:
        story = _story(item)
        if story.id in found:
            raise _invalid(f"the story {story.id!r} is there twice", item.line)
        found[story.id] = story
    parts: dict[str, Any] = {name: _part(document, name, shape) for name, shape in _PARTS.items()}
    return Progress(stories=tuple(found.values()), **parts, **_given(document, _HEAD))


def _story(item: _Node) -> StoryProgress:
    name = _typed(item, "id") if isinstance(item, _Mapping) else None
    if not isinstance(item, _Mapping) or name is None:
        raise _invalid("a story must be a mapping with an `id`", item.line)
    if not name or not name.isprintable() or len(name) > _MAX_ID:
        raise _invalid(f"an `id` has 1 to {_MAX_ID} characters that can be printed", item.line_of("id"))
    status = _typed(item, "status")
    if status not in SHOWN:
        known = ", ".join(StoryStatus)
        raise _invalid(f"{str(status)[:80]!r} is no status of {name}; there is {known}", item.line_of("status"))
    story = convert(_given(item, SHOWN[StoryStatus(status)]), StoryProgress)
    if story.status is StoryStatus.IN_PROGRESS and not story.current_task:
        raise _invalid(f"{name} is in_progress and has no current_task", item.line)
    if story.status is StoryStatus.BLOCKED and not story.blocker_reason:
        raise _invalid(f"{name} is blocked and has no blocker_reason", item.line)
    return story


def _part(document: _Mapping, name: str, shape: type[Any]) -> Any:
    found = document.get(name)
    if found is None or (isinstance(found, _Scalar) and found.plain is None):
        return shape()
    if not isinstance(found, _Mapping):
        raise _invalid(f"`{name}` must be a mapping", document.line_of(name))
    return shape(**_given(found, shape.__struct_fields__))


def _given(fields: _Mapping, names: Iterable[str]) -> dict[str, Any]:
    """Return those of the fields that are there and not null."""
    return {name: value for name in names if (value := _typed(fields, name)) is not None}


def _typed(fields: _Mapping, name: str) -> Any:
    """Return a value of the field's type, or None. A text is as it is written, so that 1.10 stays 1.10."""
    node, type_ = fields.get(name), _TYPE_OF[name]
    value = node.plain if isinstance(node, _Scalar) else node
    if value is None:
        return None
    if type_ is str and isinstance(node, _Scalar):
        return value if isinstance(value, str) else node.text
    if not isinstance(value, int) or type(value) is not type_ or not 0 <= value < 1 << 31:
        raise _invalid(f"`{name}` must be {_TYPES[type_]}", fields.line_of(name))
    return value


# Edits: a text with other values

_BARE: Final = re.compile(r"[^\W\d_](?:[\w./ -]*[\w./-])?|\d{4}-\d\d-\d\dT[\d:.]+Z|\d+%")
"""Texts that mean the same without quotes to every reader of YAML; of times and percentages we say so."""
_MEANING: Final = frozenset("null true false yes no on off y n".split())
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
Values = Mapping[str, Plain]
Splice = tuple[int, int, str]
"""What is from a start to an end is replaced by a text. Several at the same place keep their order."""
_Kept = tuple[int, list[Splice]]
"""A story that is there: its place, and what changes in it."""


def _rendered(value: Plain, style: str = "") -> str:
    """Return a value as YAML; a text in quotes of this style."""
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if style != '"' and _BARE.fullmatch(value) and value.lower() not in _MEANING:
        return value
    return '"' + "".join(_ESCAPES.get(one, one if one.isprintable() else _escaped(one)) for one in value) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _lines(values: Values) -> list[str]:
    return [f"{name}: {_rendered(value)}" for name, value in values.items() if value is not None]


def _braced(values: Values) -> str:
    """Return a mapping on one line, in the form that JSON has too."""
    given = [f'"{name}": ' + _rendered(value, '"') for name, value in values.items() if value is not None]
    return "{" + ", ".join(given) + "}"


def _differing(before: object, after: object, names: Iterable[str]) -> dict[str, Plain]:
    return {name: getattr(after, name) for name in names if getattr(before, name) != getattr(after, name)}


class _Edits:
    """A text and the splices to make in it. Only inside braces and brackets are comments moved or removed."""

    def __init__(self, text: str) -> None:
        found = _NEWLINE.search(text)
        self._newline = found[0] if found else "\n"
        self._text = text if text.endswith(("\n", "\r")) else text + self._newline
        self._splices: list[Splice] = []

    def made(self, document: _Mapping, before: Progress, after: Progress) -> str:
        """Return the text with what differs."""
        self._stories(document, before.stories, after.stories)
        self._fields(document, _differing(before, after, _HEAD), _HEAD)
        for name in sorted(_PARTS, key=lambda name: name not in document.entries):  # a new part comes last
            old, new = getattr(before, name), getattr(after, name)
            if old != new:
                names = _PARTS[name].__struct_fields__
                self._part(document, name, _differing(old, new, names), names)
        return self._spliced(self._splices, 0, len(self._text))

    def _splice(self, start: int, end: int, text: str) -> None:
        self._splices.append((start, end, text))

    def _spliced(self, splices: Iterable[Splice], start: int, end: int) -> str:
        """Return a section of the text with its splices."""
        parts, at = [], start
        for first, last, text in sorted(splices, key=lambda one: one[:2]):
            parts += [self._text[at:first], text]
            at = max(at, last)
        return "".join([*parts, self._text[at:end]])

    def _after_line(self, at: int) -> int:
        """Return where the next line begins."""
        found = _NEWLINE.search(self._text, at)
        return found.end() if found else len(self._text)

    def _after(self, node: _Node) -> int:
        """Return where the line after a value of a block begins."""
        while isinstance(node, _Items | _Mapping) and not node.flow:
            node = node.items[-1] if isinstance(node, _Items) else list(node.entries.values())[-1].value
        if isinstance(node, _Scalar) and node.style in ("|", ">") and self._text[node.end - 1] in "\r\n":
            return node.end
        return self._after_line(node.end)

    def _before_space(self, at: int) -> int:
        return len(self._text[:at].rstrip(" "))

    # Mappings

    def _fields(
        self, fields: _Mapping, values: Values, order: Iterable[str], gone: Collection[str] = frozenset()
    ) -> None:
        """Set these values, each in its place if it is there, else after what comes before it in the `order`.

        A value that is not there and None is not added. At least one key must be there and stay.
        """
        self._drop(fields, gone)
        kept = {name: entry for name, entry in fields.entries.items() if name not in gone}
        last: _KeyValue | None = None
        for name in order:
            if name in kept:
                last = kept[name]
                if name in values:
                    self._replace(last, values[name])
            elif values.get(name) is not None:
                self._put_in(fields, next(iter(kept.values())), last, name, values[name])

    def _replace(self, entry: _KeyValue, value: Plain) -> None:
        old = entry.value
        if old.start == old.end:
            self._splice(old.start, old.end, f"{entry.colon} {_rendered(value)}")
            return
        replaced = self._text[old.start : old.end]
        space = replaced[len(replaced.rstrip()) :]
        style = old.style if isinstance(old, _Scalar) else ""
        self._splice(old.start, old.end, _rendered(value, style) + space)

    def _put_in(self, fields: _Mapping, first: _KeyValue, last: _KeyValue | None, name: str, value: Plain) -> None:
        is_json = first.key.style == '"'
        line = f'"{name}": ' + _rendered(value, '"') if is_json else f"{name}: {_rendered(value)}"
        indent = " " * fields.column
        if last is None:
            at = first.key.start
            line += ", " if fields.flow else self._newline + indent
        elif fields.flow:
            at, line = last.value.end, f", {line}"
        else:
            at, line = self._after(last.value), indent + line + self._newline
        self._splice(at, at, line)

    def _drop(self, fields: _Mapping, gone: Collection[str]) -> None:
        """Take out these keys; the first one that stays takes the place of those before it."""
        entries = list(fields.entries.values())
        first = next((place for place, entry in enumerate(entries) if entry.key.text not in gone), 0)
        for place, entry in enumerate(entries):
            if entry.key.text not in gone:
                continue
            start, end = entry.key.start, entry.value.end
            if place < first:
                following = entries[place + 1].key.start
                has_comment = not fields.flow and "#" in self._text[end:following]
                self._splice(start, end if has_comment else following, "")
            elif fields.flow:
                self._splice(entries[place - 1].value.end, end, "")
            else:
                self._splice(start - entry.key.column, self._after(entry.value), "")

    def _part(self, document: _Mapping, name: str, values: Values, order: Iterable[str]) -> None:
        """Set these values of a mapping in the document; it is made, last, if it is not there or is empty."""
        entry = document.entries.get(name)
        if entry is not None and isinstance(entry.value, _Mapping) and entry.value.entries:
            self._fields(entry.value, values, order)
            return
        indent = self._newline + " " * (document.column + 2)
        inside = f" {_braced(values)}" if document.flow else indent + indent.join(_lines(values))
        last = list(document.entries.values())[-1].value
        if entry is not None:
            self._splice(self._before_space(entry.value.start), entry.value.end, entry.colon + inside)
        elif document.flow:
            self._splice(last.end, last.end, f', "{name}":{inside}')
        else:
            at = self._after(last)
            self._splice(at, at, f"{' ' * document.column}{name}:{inside}{self._newline}")

    # Stories

    def _stories(self, document: _Mapping, before: Sequence[StoryProgress], after: Sequence[StoryProgress]) -> None:
        """Set the stories, in their order; comments above a story move with it."""
        entry = document.entries["stories"]
        items = entry.value
        assert isinstance(items, _Items)
        places = {story.id: place for place, story in enumerate(before)}
        wanted: list[_Kept | Values] = []
        for story in after:
            place = places.get(story.id)
            if place is None:
                wanted.append({name: getattr(story, name) for name in SHOWN[story.status]})
            else:
                self._splices = []
                self._story(items.items[place], before[place], story)
                wanted.append((place, self._splices))
        if [story.id for story in before] == [story.id for story in after]:
            self._splices = [splice for one in wanted if isinstance(one, tuple) for splice in one[1]]
        elif not items.flow:
            self._splices = self._arranged(entry, items, wanted)
        elif items.items or document.flow:
            self._splices = [(items.start, items.end, self._bracketed(items, wanted))]
        else:
            column = document.column + 2
            lines = "".join(self._block_item(one, column, column + 2) for one in wanted if not isinstance(one, tuple))
            start = self._before_space(items.start)
            self._splices = [(start, items.end, self._newline + lines.removesuffix(self._newline))]

    def _story(self, item: _Node, before: StoryProgress, after: StoryProgress) -> None:
        if before == after:
            return
        assert isinstance(item, _Mapping)
        shown, was_shown = SHOWN[after.status], SHOWN[before.status]
        values = _differing(before, after, shown)
        values |= {name: getattr(after, name) for name in shown if name not in was_shown}
        stale = {name for name in _OURS if name not in was_shown and values.get(name) is None}
        self._fields(item, values, shown, (stale | _OURS - set(shown)) & item.entries.keys())

    def _arranged(self, entry: _KeyValue, items: _Items, wanted: Sequence[_Kept | Values]) -> list[Splice]:
        """Return the splices of a block list that gets these items."""
        ends = [self._after(item) for item in items.items]
        starts = [self._after_line(entry.key.end), *ends]
        first = items.items[0]
        inner = first.column if isinstance(first, _Mapping) and not first.flow else items.column + 2
        parts = [
            self._spliced(one[1], starts[one[0]], ends[one[0]])
            if isinstance(one, tuple)
            else self._block_item(one, items.column, inner)
            for one in wanted
        ]
        found = [(starts[0], ends[-1], "".join(parts))]
        if not parts:
            colon = self._text.index(":", entry.key.end) + 1
            found.append((colon, colon, " []"))
        return found

    def _block_item(self, values: Values, column: int, inner: int) -> str:
        dash = " " * column + "-" + " " * (inner - column - 1)
        return dash + (self._newline + " " * inner).join(_lines(values)) + self._newline

    def _bracketed(self, items: _Items, wanted: Sequence[_Kept | Values]) -> str:
        places = [(item.start, item.end) for item in items.items]
        parts = [self._spliced(one[1], *places[one[0]]) if isinstance(one, tuple) else _braced(one) for one in wanted]
        if not places:
            return f"[{', '.join(parts)}]"
        head, tail = self._text[items.start : places[0][0]], self._text[places[-1][1] : items.end]
        spread = len(places) > 1 and _NEWLINE.search(self._text, places[0][1], places[1][0])
        gap = "," + self._newline + " " * items.items[0].column if spread else ", "
        return head + gap.join(parts) + tail


# The file from one step to the next


class _Pieces(msgspec.Struct, frozen=True):
    """A text in pieces: before the first story, each story with what follows it, and after the last."""

    head: str
    stories: tuple[str, ...]
    tail: str
    keys: tuple[str, ...]

    @classmethod
    def of(cls, text: str, document: _Mapping) -> _Pieces | None:
        """Cut a text before each story; None if the stories are not one below the other, each on its own lines."""
        stories = document.get("stories")
        if document.flow or not isinstance(stories, _Items) or stories.flow or not text.endswith("\n"):
            return None
        begins = [text.rfind("\n", 0, one.start) + 1 for one in stories.items]
        if any(text[at : one.start].strip() != "-" for at, one in zip(begins, stories.items, strict=True)):
            return None
        keys = tuple(document.entries)
        after = keys[keys.index("stories") + 1 :]
        end = document.entries[after[0]].key.start if after else len(text)
        pieces = tuple(text[start:stop] for start, stop in zip(begins, [*begins[1:], end], strict=True))
        return cls(text[: begins[0]], pieces, text[end:], keys)


class ProgressFile(msgspec.Struct):
    """The text that was read or written last. Writing costs as much as changes, however many stories there are.

    Only the stories that change are written, in a text that has no others, and put in their places.
    """

    _text: str | None = None
    _held: Progress = msgspec.field(default_factory=Progress)
    """What that text holds."""
    _wanted: Progress = msgspec.field(default_factory=Progress)
    """What it was written for: a text shows less of a story than is known."""
    _pieces: _Pieces | None = None

    def parse(self, text: str) -> Progress:
        """Return what `parse` returns."""
        if text != self._text:
            document, held = _parsed(text)
            self._text, self._held, self._wanted, self._pieces = text, held, held, _Pieces.of(text, document)
        return self._held

    def written(self, text: str, progress: Progress) -> str:
        """Return what `written` returns."""
        if text == self._text and progress == self._wanted:
            return text
        self.parse(text)
        made = self._amended(progress)
        if made is None:
            made = written(text, progress)
            self.parse(made)
        self._wanted = progress
        return made

    def _amended(self, progress: Progress) -> str | None:
        """Return the text with the stories that changed; None if the whole of it must be written."""
        pieces, before, after = self._pieces, self._wanted.stories, progress.stories
        if pieces is None or [story.id for story in before] != [story.id for story in after]:
            return None
        pairs = enumerate(zip(before, after, strict=True))
        places = [place for place, (old, new) in pairs if old is not new and old != new] or [0]
        part = pieces.head + "".join(pieces.stories[place] for place in places) + pieces.tail
        made = written(part, replace(progress, stories=tuple(after[place] for place in places)))
        document, held = _parsed(made)
        new = _Pieces.of(made, document)
        if new is None or len(new.stories) != len(places) or new.keys != pieces.keys:
            return None
        texts, stories = list(pieces.stories), list(self._held.stories)
        for place, text, story in zip(places, new.stories, held.stories, strict=True):
            texts[place], stories[place] = text, story
        self._pieces = replace(new, stories=tuple(texts))
        self._held = replace(held, stories=tuple(stories))
        self._text = new.head + "".join(texts) + new.tail
        return self._text
