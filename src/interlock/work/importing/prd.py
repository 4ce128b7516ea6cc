"""PURE. `prd.json`: user stories with numbers or words for what comes first, or a list of features."""

from __future__ import annotations

from typing import Any

from interlock.work.importing.imported import Batch, Imported, SourceFile, digest_id, invalid, named, one_line, scoped
from interlock.work.importing.records import JsonRecord, read_json

__all__ = ["parse"]

_SCOPES = ("branchName", "projectName", "project")


def parse(source: SourceFile) -> Batch:
    """The stories of a file. Numbers say only which comes first; words are priorities."""
    found = read_json(source.text, source.where)
    if isinstance(found, list):
        return Batch(tuple(_feature(row, f"{source.where}, feature {n}") for n, row in enumerate(found, 1)))
    whole = JsonRecord.of(found, source.where)
    if not isinstance(whole.values.get("userStories"), list):
        raise invalid(source.where, "it has no list `userStories`, and is no list of features")
    scope = next((text for name in _SCOPES if (text := whole.line(name))), "")
    rows = enumerate(whole.values["userStories"], 1)
    stories = [_story(row, scope, f"{source.where}, story {place}") for place, row in rows]
    return Batch(tuple(story for _, story in sorted(stories, key=lambda one: one[0])))


def _story(row: Any, scope: str, where: str) -> tuple[int, Imported]:
    story = JsonRecord.of(row, where)
    id_ = story.id("id")
    order, priority = _priority(story)
    notes = story.text("notes")
    parts = (story.text("description"), f"## Notes\n\n{notes}" if notes else "")
    return order, Imported(
        id=scoped(scope, id_),
        title=story.line("title") or id_,
        body="\n\n".join(part for part in parts if part),
        criteria=story.lines("acceptanceCriteria"),
        priority=priority,
        labels=story.lines("tags"),
        is_done=story.flag("passes"),
        where=where,
    )


def _priority(story: JsonRecord) -> tuple[int, str | None]:
    """Where a story comes among the others, and the priority that a word for it means."""
    found = story.values.get("priority")
    if found is None or (isinstance(found, int) and not isinstance(found, bool)):
        return (found or 0), None
    if not isinstance(found, str) or (priority := named(one_line(found, story.where))) is None:
        raise invalid(story.where, "`priority` must be a whole number, or high, medium or low")
    return int(priority[1:]), priority


def _feature(row: Any, where: str) -> Imported:
    feature = JsonRecord.of(row, where)
    title = feature.line("description")
    if not title:
        raise invalid(where, "it needs a `description`")
    labels = tuple(word for word in (feature.line("category"),) if word)
    done = feature.flag("passes")
    return Imported(digest_id(title), title, criteria=feature.lines("steps"), labels=labels, is_done=done, where=where)
