"""PURE. spec-kit's `tasks.md`: numbered tasks in phases that wait for each other.

A phase becomes a ticket that its tasks are parts of; the tasks of a later phase wait for it. The phases wait for each
other as spec-kit says: first setup, then the foundation, then the stories beside each other, then what is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.work.formats.markdown import MarkdownLine, MarkdownText
from interlock.work.importing.imported import Batch, Imported, SkippedItem, SourceFile, one_line, plain, scoped

__all__ = ["TASK", "parse"]

TASK: Final = re.compile(
    r"[ \t]*[-*+][ \t]+\[([ xX])\][ \t]+\*{0,2}(T[0-9]{1,6}[a-z]?)\b\*{0,2}:?"
    r"((?:[ \t]+\[(?:P|US[0-9]{1,4})\])*)[ \t]+(\S.*)"
)
_BOX: Final = re.compile(r"[ \t]*[-*+][ \t]+\[[ xX]\][ \t]+(\S.*)")
_PHASE: Final = re.compile(r"(?i)phase[ \t]+([0-9]{1,4}|n)\b")
_PRIORITY: Final = re.compile(r"(?i)\(priority:[ \t]*(p[0-9])\)")
_DEPENDS: Final = re.compile(r"(?i)depends[ \t]+on\b([^).;]*)")
_NUMBER: Final = re.compile(r"\bT[0-9]{1,6}[a-z]?\b")
_STORY: Final = re.compile(r"\[(US[0-9]{1,4})\]")
_SAID: Final = re.compile(r"\*\*(Goal|Purpose|Independent Test|Checkpoint)[^*]*\*\*:?[ \t]*(.*)")


class _Phase(msgspec.Struct):
    id: str
    title: str
    line: int
    kind: str
    said: dict[str, str] = msgspec.field(default_factory=dict)
    tasks: list[Imported] = msgspec.field(default_factory=list)
    waits: tuple[str, ...] = ()

    @property
    def priority(self) -> str | None:
        found = _PRIORITY.search(self.title)
        return f"P{min(int(found[1][1:]), 3)}" if found else None


def parse(source: SourceFile) -> Batch:
    """The tasks of a feature; its directory's name tells its ids from another feature's."""
    phases, loose, left = _read(MarkdownText(source.text), source)
    phases = [phase for phase in phases if phase.tasks]
    _order(phases)
    items = [*loose, *(item for phase in phases for item in _items(phase, source))]
    return Batch(tuple(items), tuple(left))


def _read(page: MarkdownText, source: SourceFile) -> tuple[list[_Phase], list[Imported], list[SkippedItem]]:
    headings = {section.start: section for section in page.sections if section.level <= 2}
    phases: list[_Phase] = []
    loose: list[Imported] = []
    left: list[SkippedItem] = []
    current: _Phase | None = None
    for line in page.lines:
        if line.number in headings:
            current = _phase(headings[line.number].name, line.number + 1, len(phases) + 1, source)
            phases += [current] if current else []
        elif task := TASK.fullmatch(line.live.rstrip()):
            (current.tasks if current else loose).append(_task(task, line, source))
        elif box := _BOX.fullmatch(line.live.rstrip()):
            where = f"{source.where}, line {line.number + 1}"
            left.append(SkippedItem("", one_line(box[1], where), f"line {line.number + 1} has no number such as T001"))
        elif current and (said := _SAID.fullmatch(line.live.strip())):
            current.said.setdefault(said[1], plain(said[2], source.where))
    return phases, loose, left


def _phase(name: str, line: int, place: int, source: SourceFile) -> _Phase | None:
    found = _PHASE.match(name)
    if found is None:
        return None
    number = found[1] if found[1].isdigit() else str(place)
    words = name.lower()
    kinds = {"setup": "setup", "foundation": "foundation", "user story": "story"}
    kind = next((kind for word, kind in kinds.items() if word in words), "other")
    return _Phase(scoped(source.scope, f"phase-{number}"), one_line(name, f"{source.where}, line {line}"), line, kind)


def _task(found: re.Match[str], line: MarkdownLine, source: SourceFile) -> Imported:
    where = f"{source.where}, line {line.number + 1}"
    said = one_line(found[4], where)
    waits = [number for part in _DEPENDS.findall(said) for number in _NUMBER.findall(part)]
    stories = _STORY.findall(found[3])
    return Imported(
        id=scoped(source.scope, found[2]),
        title=said,
        labels=tuple(stories),
        blocked_by=tuple(dict.fromkeys(scoped(source.scope, number) for number in waits)),
        is_done=found[1] != " ",
        where=where,
    )


def _order(phases: list[_Phase]) -> None:
    """Say for each phase which others it waits for."""
    before: list[_Phase] = []
    for phase in phases:
        wanted: tuple[tuple[str, ...], ...] = ((), ())
        if phase.kind == "foundation":
            wanted = (("setup",),)
        elif phase.kind == "story":
            wanted = (("foundation",), ("setup",))
        elif phase.kind == "other":
            wanted = (("story",),)
        found = next((some for kinds in wanted if (some := [one.id for one in before if one.kind in kinds])), [])
        if phase.kind == "other" and not found and before:
            found = [before[-1].id]
        phase.waits = tuple(found)
        before.append(phase)


def _items(phase: _Phase, source: SourceFile) -> Iterator[Imported]:
    parts = [f"{name}: {text}" for name, text in phase.said.items() if name != "Independent Test" and text]
    test = phase.said.get("Independent Test", "")
    yield Imported(
        id=phase.id,
        title=phase.title,
        body="\n\n".join(parts),
        criteria=(one_line(test, source.where),) if test else (),
        priority=phase.priority,
        blocked_by=phase.waits,
        is_done=all(task.is_done for task in phase.tasks),
        where=f"{source.where}, line {phase.line}",
    )
    for task in phase.tasks:
        waits = (*task.blocked_by, *phase.waits)
        yield replace(task, parent=phase.id, priority=phase.priority, blocked_by=tuple(dict.fromkeys(waits)))
