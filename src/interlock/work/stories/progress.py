"""PURE. `progress.txt`: where the stories stand, in YAML that people read and edit.

What is written changes only what it must: every comment, the order, the quotes, the indentation and the keys that we do
not know stay byte for byte as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from interlock.work.stories.edits import KeptItem, Splice, amend, arrange, ended, nested, spliced
from interlock.work.stories.simple import read
from interlock.work.stories.yaml_tree import FILE, Items, Node, Plain, YamlMapping, invalid

__all__ = [
    "FILE",
    "SHOWN",
    "IterationStatus",
    "LoopMetrics",
    "Progress",
    "StoryProgress",
    "StoryStatus",
    "parse",
    "progress_of",
    "template",
    "written",
]

_WORKFLOW: Final = "ralph-bmad-integration"
_MAX_ID: Final = 200


class StoryStatus(StrEnum):
    """Where a story stands."""

    NOT_STARTED = "not_started"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    COMPLETE = "complete"


class StoryProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """One story. Which fields it has depends on its status: `SHOWN`."""

    id: str
    status: StoryStatus
    file: str | None = None
    current_task: str | None = None
    retry_count: int = 0
    last_action: str | None = None
    tasks_completed: int | None = None
    tasks_total: int | None = None
    last_commit: str | None = None
    blocker_reason: str | None = None
    blocker_type: str | None = None
    blocker_logged_to_neo4j: bool | None = None
    neo4j_event_id: str | None = None
    requires_human: bool | None = None


class IterationStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """The iteration that is under way, or was last."""

    ralph_instance_id: str | None = None
    start_time: str | None = None
    brooks_context_window_used: str | None = None
    neo4j_connected: bool | None = None
    pending_neo4j_logs: int = 0


class LoopMetrics(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the loop counted."""

    tasks_completed_this_session: int = 0
    blockers_encountered: int = 0
    avg_iteration_time_ms: int = 0


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the file says."""

    project: str = ""
    iteration: int = 0
    last_updated: str | None = None
    workflow: str = _WORKFLOW
    stories: tuple[StoryProgress, ...] = ()
    current_iteration: IterationStatus = IterationStatus()
    metrics: LoopMetrics = LoopMetrics()

    def story(self, id_: str) -> StoryProgress | None:
        """The story of an id."""
        return next((one for one in self.stories if one.id == id_), None)


_WORK: Final = ("current_task", "retry_count", "last_action", "tasks_completed", "tasks_total")
SHOWN: Final[Mapping[StoryStatus, tuple[str, ...]]] = {
    StoryStatus.NOT_STARTED: ("id", "status", "file"),
    StoryStatus.IN_PROGRESS: ("id", "status", "file", *_WORK),
    StoryStatus.BLOCKED: (
        *("id", "status", "file", *_WORK, "blocker_reason", "blocker_type"),
        *("blocker_logged_to_neo4j", "neo4j_event_id", "requires_human"),
    ),
    StoryStatus.COMPLETE: ("id", "status", "file", "tasks_completed", "tasks_total", "last_commit"),
}
"""The fields that a story of each status has, in their order. Others of ours are not read, and are taken out when the
story is written next; what is not ours stays."""

_HEAD: Final = ("workflow", "project", "iteration", "last_updated")
_PARTS: Final = ("current_iteration", "metrics")
_OURS: Final = frozenset(StoryProgress.__struct_fields__)
_KINDS: Final[dict[type, str]] = {str: "a text", int: "a whole number from 0 on", bool: "true or false"}


# Reading

Shape = TypeVar("Shape", IterationStatus, LoopMetrics, StoryProgress)


def parse(text: str) -> Progress:
    """What a text says, or `progress_invalid` with the line that is wrong."""
    return progress_of(read(text))


def progress_of(document: YamlMapping) -> Progress:
    """What a text says that was read, or `progress_invalid`."""
    stories = document.get("stories")
    if not isinstance(stories, Items):
        raise invalid("`stories` must be a list", document.line_of("stories"))
    found: dict[str, StoryProgress] = {}
    for item in stories.items:
        story = _story(item)
        if story.id in found:
            raise invalid(f"the story {story.id!r} is there twice", item.line)
        found[story.id] = story
    head = {name: _typed(document, name, int if name == "iteration" else str) for name in _HEAD}
    return Progress(
        stories=tuple(found.values()),
        current_iteration=_part(document, "current_iteration", IterationStatus),
        metrics=_part(document, "metrics", LoopMetrics),
        **{name: value for name, value in head.items() if value is not None},
    )


def _story(item: Node) -> StoryProgress:
    id_ = item.get("id") if isinstance(item, YamlMapping) else None
    if not isinstance(item, YamlMapping) or id_ is None:
        raise invalid("a story must be a mapping with an `id`", item.line)
    name = _typed(item, "id", str)
    if not name or not name.isprintable() or len(name) > _MAX_ID:
        raise invalid(f"an `id` has 1 to {_MAX_ID} characters that can be printed", item.line_of("id"))
    status = item.get("status")
    if not isinstance(status, str) or status not in set(StoryStatus):
        known = ", ".join(StoryStatus)
        said = str(_typed(item, "status", str))[:80]
        raise invalid(f"{said!r} is no status of {name}; there is {known}", item.line_of("status"))
    story = _shaped(item, StoryProgress, SHOWN[StoryStatus(status)])
    if story.status is StoryStatus.IN_PROGRESS and not story.current_task:
        raise invalid(f"{name} is in_progress and has no current_task", item.line)
    if story.status is StoryStatus.BLOCKED and not story.blocker_reason:
        raise invalid(f"{name} is blocked and has no blocker_reason", item.line)
    return story


def _part(document: YamlMapping, name: str, shape: type[Shape]) -> Shape:
    found = document.get(name)
    if found is None:
        return msgspec.convert({}, shape)
    if not isinstance(found, YamlMapping):
        raise invalid(f"`{name}` must be a mapping", document.line_of(name))
    return _shaped(found, shape, shape.__struct_fields__)


def _shaped(fields: YamlMapping, shape: type[Shape], names: Iterable[str]) -> Shape:
    given = {name: _typed(fields, name, _kind(shape, name)) for name in names if name in fields.entries}
    return msgspec.convert({name: value for name, value in given.items() if value is not None}, shape)


def _kind(shape: type[Any], name: str) -> type:
    """Of what kind a field is, None aside."""
    annotation = shape.__annotations__[name]
    return next((kind for kind in (bool, int) if annotation.startswith(kind.__name__)), str)


def _typed(fields: YamlMapping, name: str, kind: type) -> Any:
    """A value of this kind, or None; what is no text is one as it is written, so that 1.10 stays 1.10."""
    value = fields.get(name)
    if value is None:
        return None
    if kind is str and not isinstance(value, Items | YamlMapping):
        written = value if isinstance(value, str) else fields.entries[name].value
        said = written if isinstance(written, str) else getattr(written, "text", "")
        if any("\ud800" <= one <= "\udfff" for one in said):
            raise invalid(f"`{name}` holds half a character", fields.line_of(name))
        return said
    if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool) or not _in_range(value):
        raise invalid(f"`{name}` must be {_KINDS[kind]}", fields.line_of(name))
    return value


def _in_range(value: object) -> bool:
    return not isinstance(value, int) or 0 <= value < 1 << 31


# Writing

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


def written(text: str | None, progress: Progress) -> str:
    """A text that says this: the one that was there with what differs, or a new one.

    `parse` reads it back as `progress`, if each story has the fields of its status alone.
    """
    text = _NEW if text is None else text
    document = read(text)
    before = progress_of(document)
    if before == progress:
        return text
    whole = ended(text)
    splices = amend(whole, document, _differing(before, progress, _HEAD), _HEAD)
    splices += _write_stories(whole, document, before, progress)
    for name in sorted(
        _PARTS, key=lambda name: name not in document.entries
    ):  # a new part comes after the last one's end
        old, new = getattr(before, name), getattr(progress, name)
        if old != new:
            names = new.__struct_fields__
            splices += nested(whole, document, name, _differing(old, new, names), names)
    return spliced(whole, splices)


def _differing(before: object, after: object, names: Iterable[str]) -> dict[str, Plain]:
    return {name: getattr(after, name) for name in names if getattr(before, name) != getattr(after, name)}


def _write_stories(text: str, document: YamlMapping, before: Progress, after: Progress) -> list[Splice]:
    stories = document.get("stories")
    assert isinstance(stories, Items)
    places = {story.id: place for place, story in enumerate(before.stories)}
    wanted: list[KeptItem | dict[str, Plain]] = []
    for story in after.stories:
        place = places.get(story.id)
        if place is None:
            wanted.append({name: getattr(story, name) for name in SHOWN[story.status]})
        else:
            wanted.append(KeptItem(place, _write_story(text, stories.items[place], before.stories[place], story)))
    return arrange(text, document, "stories", wanted)


def _write_story(text: str, item: Node, before: StoryProgress, after: StoryProgress) -> list[Splice]:
    if before == after:
        return []
    assert isinstance(item, YamlMapping)
    shown, was_shown = SHOWN[after.status], SHOWN[before.status]
    values = _differing(before, after, shown) | {name: getattr(after, name) for name in shown if name not in was_shown}
    stale = {name for name in _OURS if name not in was_shown and values.get(name) is None}
    return amend(text, item, values, shown, (stale | _OURS - set(shown)) & item.entries.keys())


def template(project: str, stories: Iterable[tuple[str, str | None]], now: str) -> str:
    """The text of a new file: every story, as an id and its file, not started."""
    lines = tuple(StoryProgress(id_, StoryStatus.NOT_STARTED, file) for id_, file in stories)
    head = (
        "# Where the stories stand. The loop writes this file and reads your edits:\n"
        "# to unblock a story set `status: in_progress`, `retry_count: 0`, and remove its blocker_ lines.\n"
    )
    return head + written(None, Progress(project=project, last_updated=now, stories=lines))
