"""PURE. beads' JSONL: an issue a line, with what it depends on."""

from __future__ import annotations

from typing import Any, Final

from interlock.work.importing.imported import Batch, Imported, SkippedItem, SourceFile, invalid, one_line
from interlock.work.importing.records import JsonRecord, listed, read_json

__all__ = ["parse"]

_NO_WORK: Final = frozenset({"message", "event", "gate", "agent", "role", "rig", "molecule"})
"""Types of issues that are no work of anybody's."""
_PLAIN_TYPES: Final = frozenset({"", "task"})
_WAITS: Final = frozenset({"blocks", "conditional-blocks", "waits-for"})


def parse(source: SourceFile) -> Batch:
    """The issues of a file, in its order."""
    items: list[Imported] = []
    left: list[SkippedItem] = []
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            where = f"{source.where}, line {number}"
            found = _issue(read_json(line, source.where, number), where)
            (left if isinstance(found, SkippedItem) else items).append(found)  # type: ignore[arg-type]
    return Batch(tuple(items), tuple(left))


def _issue(row: Any, where: str) -> Imported | SkippedItem:
    issue = JsonRecord.of(row, where)
    if issue.line("_type") not in ("", "issue"):
        return SkippedItem("", issue.line("key") or issue.line("_type"), "it is no issue")
    id_, type_, status = issue.id("id"), issue.line("issue_type"), issue.line("status")
    title = issue.line("title") or id_
    why = _why_not(issue, type_, status)
    if why:
        return SkippedItem(id_, title, why)
    links = [(one.line("type") or "blocks", one.id("depends_on_id")) for one in issue.records("dependencies")]
    parents = [other for kind, other in links if kind == "parent-child"]
    reference = issue.line("external_ref")
    return Imported(
        id=id_,
        title=title,
        body=_body(issue),
        criteria=tuple(one_line(one, where) for one in listed(issue.text("acceptance_criteria"))),
        priority=_priority(issue),
        labels=(*issue.lines("labels"), *(() if type_ in _PLAIN_TYPES else (type_,))),
        assignees=tuple(word for word in (issue.line("assignee"),) if word),
        parent=parents[0] if parents else None,
        blocked_by=tuple(dict.fromkeys(other for kind, other in links if kind in _WAITS)),
        is_done=status == "closed",
        link=reference if reference.startswith("https://") else "",
        where=where,
    )


def _why_not(issue: JsonRecord, type_: str, status: str) -> str:
    if status == "tombstone":
        return "it was deleted"
    if issue.flag("is_template") or issue.flag("ephemeral") or issue.flag("pinned") or status == "pinned":
        return "it is a template, a note or passing"
    return f"a {type_} is no piece of work" if type_ in _NO_WORK else ""


def _body(issue: JsonRecord) -> str:
    parts = [issue.text("description")]
    for name, heading in (("design", "Design"), ("notes", "Notes")):
        text = issue.text(name)
        parts += [f"## {heading}\n\n{text}"] if text else []
    return "\n\n".join(part for part in parts if part)


def _priority(issue: JsonRecord) -> str | None:
    """Theirs go from 0 to 4, and the last two are low here."""
    found = issue.values.get("priority")
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= 4:
        raise invalid(issue.where, "`priority` must be a number from 0 to 4")
    return f"P{min(found, 3)}"
