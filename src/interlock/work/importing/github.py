"""PURE. GitHub issues as `gh issue list --json number,title,body,labels,state,assignees,url` prints them."""

from __future__ import annotations

import re
from typing import Any, Final

from interlock.work.importing.imported import Batch, Imported, SourceFile, invalid, named, one_line
from interlock.work.importing.records import JsonRecord, read_json

__all__ = ["parse"]

_REPOSITORY: Final = re.compile(r"https://[^/\s]+/([\w.-]+/[\w.-]+)/issues/[0-9]+")


def parse(source: SourceFile) -> Batch:
    """The issues of a file, the oldest first."""
    found = read_json(source.text, source.where)
    if not isinstance(found, list):
        raise invalid(source.where, "it is no list of issues, as `gh issue list --json …` prints one")
    issues = [_issue(row, f"{source.where}, issue {place}") for place, row in enumerate(found, 1)]
    return Batch(tuple(issue for _, issue in sorted(issues, key=lambda one: one[0])))


def _issue(row: Any, where: str) -> tuple[int, Imported]:
    issue = JsonRecord.of(row, where)
    number = issue.values.get("number")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 10**12:
        raise invalid(where, "it needs `number`, the issue's number")
    url = issue.line("url")
    place = _REPOSITORY.fullmatch(url)
    labels = _words(issue, "labels", "name")
    return number, Imported(
        id=f"{place[1] if place else ''}#{number}",
        title=issue.line("title") or f"issue {number}",
        body=issue.text("body"),
        priority=next((one for label in labels if (one := _priority(label))), None),
        labels=labels,
        assignees=_words(issue, "assignees", "login"),
        is_done=issue.line("state").upper() == "CLOSED",
        link=url if place else "",
        where=where,
    )


def _words(issue: JsonRecord, name: str, field: str) -> tuple[str, ...]:
    found = [one_line(one.line(field), issue.where) for one in issue.records(name)]
    return tuple(word for word in found if word)


def _priority(label: str) -> str | None:
    """A label such as `P1`, `priority: high` or `priority/high`."""
    said = re.fullmatch(r"(?i)(?:priority[ ]?[:/-][ ]?(.+)|(p[0-9]))", label)
    return named(said[1] or said[2]) if said else None
