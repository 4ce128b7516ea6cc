"""PURE. A task file of Backlog.md: front matter, and sections for the description and the acceptance criteria."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from interlock.work.formats.front_matter import FRONT, FrontMatterFault, composed
from interlock.work.formats.markdown import MarkdownText
from interlock.work.importing.imported import Batch, Imported, SkippedItem, SourceFile, invalid, named, one_line, plain
from interlock.work.importing.records import JsonRecord, listed

__all__ = ["COMPLETED", "parse"]

COMPLETED: Final = "completed"
"""The directory of what is done."""
_DONE: Final = frozenset({"done", "completed", "complete", "closed"})
_LISTS: Final = frozenset({"assignee", "labels", "dependencies"})
_FIELDS: Final = _LISTS | {"id", "title", "status", "parent_task_id", "parent", "priority", "type"}
_MARKER: Final = re.compile(r"[ \t]*<!-- (?:SECTION:[A-Z_]+|[A-Z_]+):(?:BEGIN|END) -->[ \t]*")
_HANDLE: Final = re.compile(r"(?m)^([ \t]*(?:assignee|reporter):[ \t]*|[ \t]*-[ \t]+)(@[\w.-]+)[ \t]*$")
_BARE: Final = re.compile(r"(?<![\"'\w])@[\w.-]+")
_QUOTED: Final = r'"\g<0>"'
_HANDLES: Final = re.compile(r"(?m)^([ \t]*assignee:[ \t]*\[)(.*)(\][ \t]*)$")


def parse(source: SourceFile) -> Batch:
    """The one task of a file. A draft is none yet."""
    whole = source.text.replace("\r\n", "\n")
    front = FRONT.match(whole)
    if front is None:
        raise invalid(f"{source.where}, line 1", "it does not begin with front matter that is closed by a line `---`")
    task = JsonRecord(dict(_fields(_quoted(front["fields"]), source.where)), source.where)
    id_, title, status = task.id("id").upper(), task.line("title"), task.line("status").lower()
    if not title:
        raise invalid(source.where, "it needs a `title`")
    if id_.startswith("DRAFT-"):
        return Batch((), (SkippedItem(id_, title, "it is a draft"),))
    sections = _sections(whole[front.end() :], source.where)
    criteria = listed(sections.pop("Acceptance Criteria", ""))
    parent = task.line("parent_task_id") or task.line("parent")
    type_ = task.line("type")
    item = Imported(
        id=id_,
        title=title,
        body=_body(sections),
        criteria=tuple(one_line(one, source.where) for one in criteria),
        priority=named(task.line("priority")),
        labels=(*task.lines("labels"), *((type_,) if type_ else ())),
        assignees=tuple(one.removeprefix("@") for one in task.lines("assignee")),
        parent=parent.upper() or None,
        blocked_by=tuple(dict.fromkeys(one.upper() for one in task.lines("dependencies"))),
        is_done=status in _DONE or source.scope == COMPLETED,
        where=source.where,
    )
    return Batch((item,))


def _quoted(fields: str) -> str:
    """Names of people as YAML has them: their sign at the beginning means something else there."""
    quoted = _HANDLES.sub(lambda found: f"{found[1]}{_BARE.sub(_QUOTED, found[2])}{found[3]}", fields)
    return _HANDLE.sub(r'\1"\2"', quoted)


def _fields(fields: str, where: str) -> Iterator[tuple[str, Any]]:
    try:
        node = composed(fields)
    except FrontMatterFault as fault:
        raise invalid(f"{where}, line {fault.line}", f"the front matter is no YAML: {fault.said}") from None
    if not isinstance(node, MappingNode):
        raise invalid(f"{where}, line 2", "the front matter is no list of keys and values")
    for key, value in node.value:
        name = str(key.value)
        if name in _FIELDS:
            yield name, _value(name, value, f"{where}, line {int(value.start_mark.line) + 2}")


def _value(name: str, node: Node, where: str) -> str | list[str] | None:
    if isinstance(node, ScalarNode):
        text = "" if str(node.tag).endswith(":null") else str(node.value)
        return [text] if name in _LISTS else text
    if isinstance(node, SequenceNode) and name in _LISTS and all(isinstance(one, ScalarNode) for one in node.value):
        return [str(one.value) for one in node.value]
    raise invalid(where, f"`{name}` must be a {'list of texts' if name in _LISTS else 'text'}")


def _sections(text: str, where: str) -> dict[str, str]:
    """What stands under each heading of the second level; without one, it is the description."""
    page = MarkdownText(text)
    starts = {section.start: section.name for section in page.sections if section.level == 2}
    found: dict[str, list[str]] = {}
    name = "Description"
    for line in page.lines:
        if line.number in starts:
            name = starts[line.number].removesuffix("(Optional)").strip()
        elif not _MARKER.fullmatch(line.raw.rstrip("\r\n")):
            found.setdefault(name, []).append(line.raw.rstrip("\r\n"))
    return {name: said for name, lines in found.items() if (said := plain("\n".join(lines), where))}


def _body(sections: dict[str, str]) -> str:
    first = sections.get("Description", "")
    rest = [f"## {name}\n\n{text}" for name, text in sections.items() if name != "Description"]
    return "\n\n".join(part for part in (first, *rest) if part)
