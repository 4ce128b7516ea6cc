"""PURE. `prd.json`: stories with criteria and whether they pass, as `userStories` or as a plain list of features."""

from __future__ import annotations

from typing import Any, Final

from interlock.errors import Refusal
from interlock.work.stories.stories import Story, StoryCriterion, Subtask
from interlock.world import jsonc

__all__ = ["PRD", "parse_prd", "passed"]

PRD: Final = "prd.json"
_MAX_STORIES: Final = 10_000
_MAX_BYTES: Final = 1024 * 1024


def parse_prd(text: str) -> tuple[Story, ...]:
    """The stories of a `prd.json`, first what has the lowest `priority`; each is one task."""
    stories = [story for _, story in _read(text)]
    return tuple(sorted(stories, key=lambda one: one.priority))


def passed(text: str, id_: str) -> str:
    """A `prd.json` in which a story passes; every other byte stays."""
    for trail, story in _read(text):
        if story.id == id_:
            return jsonc.put(text, (*trail, "passes"), True)
    raise _invalid(f"it has no story {id_!r}")


def _read(text: str) -> list[tuple[jsonc.Trail, Story]]:
    """Each story with where it stands."""
    if len(text) > _MAX_BYTES:
        raise _invalid(f"it has more than {_MAX_BYTES} characters")
    try:
        found = jsonc.get(text)
    except jsonc.JsonFault as error:
        raise _invalid(f"it is no JSON: {error}") from None
    if isinstance(found, dict) and isinstance(found.get("userStories"), list):
        rows = found["userStories"]
        trails: list[jsonc.Trail] = [("userStories", place) for place in range(len(rows))]
        stories = [_user_story(row, place) for place, row in enumerate(rows)]
    elif isinstance(found, list):
        trails = [(place,) for place in range(len(found))]
        stories = [_feature(row, place) for place, row in enumerate(found)]
    else:
        raise _invalid("it has neither `userStories` nor is it a list of features")
    if len(stories) > _MAX_STORIES:
        raise _invalid(f"it has more than {_MAX_STORIES} stories")
    seen: set[str] = set()
    for story in stories:
        if story.id in seen:
            raise _invalid(f"two stories have the id {story.id!r}")
        seen.add(story.id)
    return list(zip(trails, stories, strict=True))


def _user_story(row: Any, place: int) -> Story:
    id_ = row.get("id") if isinstance(row, dict) else None
    if not isinstance(id_, str | int) or isinstance(id_, bool) or not str(id_).isprintable() or not str(id_).strip():
        raise _invalid(f"story {place + 1} needs an `id`")
    priority = row.get("priority", place)
    if not isinstance(priority, int) or isinstance(priority, bool):
        raise _invalid(f"the `priority` of {id_} must be a whole number")
    title = _text(row, "title", str(id_)) or str(id_)
    criteria = _criteria(row, "acceptanceCriteria", str(id_))
    return _story(str(id_), title, criteria, _text(row, "description", str(id_)), _passes(row, str(id_)), priority)


def _feature(row: Any, place: int) -> Story:
    id_ = f"feature-{place + 1}"
    title = _text(row, "description", id_) if isinstance(row, dict) else ""
    if not title:
        raise _invalid(f"feature {place + 1} needs a `description`")
    return _story(id_, title, _criteria(row, "steps", id_), title, _passes(row, id_), place)


def _text(row: dict[str, Any], name: str, id_: str) -> str:
    found = row.get(name) or ""
    if not isinstance(found, str):
        raise _invalid(f"the `{name}` of {id_} must be a text")
    return found


def _criteria(row: dict[str, Any], name: str, id_: str) -> list[str]:
    found = row.get(name)
    if not isinstance(found, list) or not found or not all(isinstance(one, str) and one.strip() for one in found):
        raise _invalid(f"{id_} needs `{name}`, a list of at least one text")
    return [" ".join(one.split()) for one in found]


def _passes(row: dict[str, Any], id_: str) -> bool:
    found = row.get("passes", False)
    if not isinstance(found, bool):
        raise _invalid(f"`passes` of {id_} must be true or false")
    return found


def _story(id_: str, title: str, texts: list[str], body: str, passes: bool, priority: int) -> Story:
    criteria = tuple(StoryCriterion(number, text) for number, text in enumerate(texts, 1))
    task = Subtask("1", title, passes, tuple(one.number for one in criteria))
    return Story(id_, title, criteria, (task,), body, PRD, priority)


def _invalid(what: str) -> Refusal:
    hint = "It has `userStories` with id, title and acceptanceCriteria, or is a list with description and steps."
    return Refusal("story_invalid", f"{PRD}: {what}.", hint)
