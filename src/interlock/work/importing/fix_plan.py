"""PURE. `fix_plan.md`: a checklist under headings that say how urgent it is, or that it is done."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from interlock.work.formats.markdown import MarkdownLine, MarkdownText
from interlock.work.importing.imported import Batch, Imported, SkippedItem, SourceFile, digest_id, named, one_line

__all__ = ["BOX", "parse"]

BOX: Final = re.compile(r"([ \t]*)[-*+][ \t]+\[([ xX])\][ \t]+(\S.*)")
_NUMBERED: Final = re.compile(r"(?:priority|phase)[ \t]+([0-9])(?![0-9])")
_DONE: Final = re.compile(r"completed|done|finished")
_OPTIONAL: Final = re.compile(r"optional|future|nice[ -]to[ -]have")


class _TaskDraft(msgspec.Struct):
    line: int
    indent: int
    title: str
    is_done: bool
    section: str
    body: list[str] = msgspec.field(default_factory=list)
    criteria: list[str] = msgspec.field(default_factory=list)


def parse(source: SourceFile) -> Batch:
    """Each box that is not indented, with the boxes below it as its criteria; what stands there twice counts once."""
    items: dict[str, Imported] = {}
    left: list[SkippedItem] = []
    for draft in _drafts(MarkdownText(source.text), source.where):
        id_ = digest_id(draft.title)
        if id_ in items:
            left.append(SkippedItem(id_, draft.title, f"line {draft.line} says it again"))
        else:
            items[id_] = _imported(draft, id_, source.where)
    return Batch(tuple(items.values()), tuple(left))


def _drafts(page: MarkdownText, where: str) -> list[_TaskDraft]:
    headings = {section.start: section.name for section in page.sections}
    found: list[_TaskDraft] = []
    section, current = "", None
    for line in page.lines:
        if line.number in headings:
            section, current = headings[line.number], None
            continue
        box = BOX.fullmatch(line.live.rstrip())
        if box is None:
            _add(current, line)
            continue
        said = one_line(box[3], f"{where}, line {line.number + 1}")
        indent = len(box[1].expandtabs(4))
        if current is not None and indent > current.indent:
            current.criteria.append(said)
        elif said:
            current = _TaskDraft(line.number + 1, indent, said, box[2] != " ", section)
            found.append(current)
    return found


def _add(current: _TaskDraft | None, line: MarkdownLine) -> None:
    """A line that is indented below a box says more about it."""
    said = line.raw.rstrip()
    if current is not None and said and said[0] in " \t":
        current.body.append(said.strip())


def _imported(draft: _TaskDraft, id_: str, where: str) -> Imported:
    section = draft.section.lower()
    is_optional = _OPTIONAL.search(section) is not None
    return Imported(
        id=id_,
        title=draft.title,
        body="\n".join(draft.body),
        criteria=tuple(one for one in draft.criteria if one),
        priority="P3" if is_optional else _priority(section),
        labels=("optional",) if is_optional else (),
        is_done=draft.is_done or _DONE.match(section) is not None,
        where=f"{where}, line {draft.line}",
    )


def _priority(section: str) -> str | None:
    numbered = _NUMBERED.match(section)
    if numbered:
        return f"P{min(int(numbered[1]), 3)}"
    return named(section.removesuffix("priority")) or named(section.partition(" ")[0].rstrip(":"))
