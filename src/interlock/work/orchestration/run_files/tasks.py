"""PURE. `tasks.md`: what the tasks are.

# Task List

## Implementation Tasks

- task-2: What is to be done
    - **Type**: Sequential (depends on task-1)
    - **Files**: src/one.py, src/two.py
    - **Objective**: What for
    - **Success Criteria**:
        - Something that can be checked
    - **Inherits From**: task-1
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec
from msgspec.structs import replace
from msgspec.structs import replace as replace_item

from interlock.work.formats.markdown import MarkdownLine, MarkdownText
from interlock.work.orchestration.run_files.outline import (
    Beside,
    FilePart,
    LineCollector,
    ListItem,
    below_of,
    comments_of,
    composed,
    items,
    ours_of,
    tail_of,
)
from interlock.work.orchestration.run_files.progress import ID, LABELS, Oddity
from interlock.work.orchestration.run_files.text import block, entry, line_of, one_line, said, value_of
from interlock.work.orchestration.values import Mark, Task

__all__ = ["TaskSheet", "normal_task", "parse_tasks", "render_tasks"]

_PLANNING_TASKS: Final = (
    Task(
        "plan-init",
        "Write the plan",
        "A goal that can be checked, and a way to it",
        ("plan.md says what is to be achieved and how it is shown",),
        ("plan.md",),
    ),
    Task(
        "plan-qa-brainstorm",
        "Ask what the plan takes for granted",
        "Nothing that matters is left unasked",
        ("Questions by category and priority, each with what depends on it",),
        ("plan.questions.md",),
        ("plan-init",),
        ("plan-init",),
    ),
    Task(
        "plan-qa-research",
        "Answer the questions",
        "Answers with their sources, and how sure they are",
        ("Every question of high priority has an answer, or is named as a risk",),
        ("plan.questions.md",),
        ("plan-qa-brainstorm",),
        ("plan-qa-brainstorm",),
    ),
    Task(
        "plan-breakdown",
        "Break the plan down into tasks",
        "Tasks that one agent can do, and another can judge",
        ("Each task has an objective, criteria, its files and what it depends on",),
        ("tasks.md", "progress.md"),
        ("plan-qa-research",),
        ("plan-init", "plan-qa-research"),
    ),
)
"""The steps of planning as `tasks.md` lists them; they are the same in every session."""

_TITLE: Final = "# Task List"
_LEGEND: Final = ("## Legend", *(f"- `[{mark}]` {label}" for mark, label in LABELS.items()))
_HEAD: Final = re.compile(rf"(?:\[[^\]]{{0,20}}\][ \t]+)?\**({ID})\**[ \t]*:(?:[ \t]+(.*))?")
_FIELD: Final = re.compile(
    r"\*\*(type|files|objective|success criteria|inherits from)\*\*[ \t]*:?[ \t]*", re.IGNORECASE
)
_DEPENDS: Final = re.compile(r"depends on:?[ \t]+([^)]*)", re.IGNORECASE)
_TICKS: Final = re.compile(r"[ \t,]*(`+)")
_PLAIN_NAME: Final = re.compile(r"[^\s,`\[\]<>]+(?: [^\s,`\[\]<>]+)*")
_NONE: Final = "None"


class TaskSheet(msgspec.Struct, frozen=True):
    """What `tasks.md` says: its tasks with their lines, counted from 1, and what people wrote beside them."""

    tasks: tuple[Task, ...] = ()
    lines: tuple[int, ...] = ()
    oddities: tuple[Oddity, ...] = ()
    beside: Mapping[str, Beside] = msgspec.field(default_factory=dict)


# Writing


def render_tasks(tasks: Sequence[Task], beside: Mapping[str, Beside] | None = None) -> str:
    """The text that says this, with what people wrote beside it."""
    parts = [
        FilePart("#start"),
        FilePart("#title", [_TITLE]),
        FilePart("#end title"),
        FilePart("#legend", _LEGEND, spaced=True),
    ]
    parts += [FilePart("#end legend"), FilePart("#planning", ["## Planning Tasks"], spaced=True)]
    parts += [FilePart(one.id, _written(one), spaced=True) for one in _PLANNING_TASKS]
    parts += [FilePart("#end planning"), FilePart("#implementation", ["## Implementation Tasks"], spaced=True)]
    parts += [FilePart(one.id, _written(_bare(one)), spaced=True) for one in tasks]
    return composed([*parts, FilePart("#end implementation")], beside or {})


def _bare(task: Task) -> Task:
    """A task without what is not in this file, so that a mark makes nothing to be written anew."""
    return replace(task, mark=Mark.OPEN, attempt=1, note="")


@lru_cache(4096)
def _written(task: Task) -> tuple[str, ...]:
    task = normal_task(task)
    depends = f" (depends on {', '.join(task.depends_on)})" if task.depends_on else ""
    lines = [
        f"- {task.id}: {line_of(task.description)}".rstrip(" "),
        f"    - **Type**: Sequential{depends}",
        f"    - **Files**: {', '.join(map(_name, task.files)) or _NONE}",
        *entry(4, "- **Objective**:", task.objective),
        "    - **Success Criteria**:",
    ]
    for criterion in task.criteria:
        lines += entry(8, "-", criterion)
    return (*lines, f"    - **Inherits From**: {', '.join(task.inherits) or _NONE}")


def _name(name: str) -> str:
    """The name of a file; one that could be taken for something else stands in quotes of code."""
    if _PLAIN_NAME.fullmatch(name) and name.lower() != _NONE.lower():
        return name
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", name)), default=0))
    space = " " if "`" in (name[0], name[-1]) else ""
    return f"{ticks}{space}{line_of(name)}{space}{ticks}"


def normal_task(task: Task) -> Task:
    """A task as the file can hold it: names and descriptions in one line, nothing that is empty."""
    return Task(
        task.id,
        one_line(task.description),
        block(task.objective),
        tuple(text for one in task.criteria if (text := block(one))),
        tuple(dict.fromkeys(name for one in task.files if (name := one_line(one)))),
        tuple(dict.fromkeys(task.depends_on)),
        tuple(dict.fromkeys(task.inherits)),
        task.mark,
        task.attempt,
        task.note,
    )


# Reading


_PLANNING_LINES: Final = {one.id: frozenset(_written(one)) for one in _PLANNING_TASKS}


def parse_tasks(text: str) -> TaskSheet:
    """What a text says; whatever it is. Marks are not in it: they are in `progress.md`."""
    collector = LineCollector()
    tasks: list[Task] = []
    lines: list[int] = []
    oddities: list[Oddity] = []
    for name, body in ours_of(MarkdownText(text), collector, ("legend", "planning", "implementation")):
        for one in items(body):
            if isinstance(one, MarkdownLine):
                collector.others(one)
            elif name == "legend" and one.line.raw.rstrip() in _LEGEND:
                collector.ours()
                collector.others(*one.below)
            elif name in ("planning", "implementation") and (head := _HEAD.fullmatch(one.live.rstrip(" \t"))):
                collector.part(head[1], tail_of(one))
                if name == "planning":
                    _passed(one, _PLANNING_LINES.get(head[1], ()), collector)
                    continue
                tasks.append(_parsed(head[1], head[2] or "", below_of(one), collector))
                lines.append(one.line.number + 1)
            else:
                if name == "implementation":
                    oddities.append(
                        Oddity(one.line.number + 1, "it names no task: write `- task-9: what is to be done`", one.head)
                    )
                collector.others(one.line, *one.below)
    collector.ours()
    return TaskSheet(tuple(tasks), tuple(lines), tuple(oddities), collector.found)


def _passed(item: ListItem, ours: Collection[str], collector: LineCollector) -> None:
    """Pass over a step of planning: what it says is fixed, and every other line is a person's."""
    for line in below_of(item):
        if line.live.rstrip(" \t") in ours:
            collector.ours()
            collector.others(*comments_of(replace_item(item, line=line, below=())))
        else:
            collector.others(line)


def _parsed(id_: str, head: str, below: Sequence[MarkdownLine], collector: LineCollector) -> Task:
    found: dict[str, ListItem] = {}
    for one in items(below):
        name = _FIELD.match(one.live) if isinstance(one, ListItem) else None
        if name is not None and isinstance(one, ListItem) and name[1].lower() not in found:
            collector.ours()
            collector.others(*comments_of(one))
            found[name[1].lower()] = one
        elif isinstance(one, MarkdownLine) and not found and one.live.strip() and one.live == one.raw.rstrip("\r\n"):
            collector.ours()
            head = f"{head} {one.live}"
        else:
            collector.others(*([one.line, *one.below] if isinstance(one, ListItem) else [one]))
    depends = _DEPENDS.search(_flat(found.get("type")))
    return Task(
        id_,
        said(head),
        _value(found.get("objective")),
        tuple(_criteria(found.get("success criteria"))),
        tuple(dict.fromkeys(filter(None, _names(_unbracketed(_flat(found.get("files"))))))),
        tuple(_ids(depends[1] if depends else "")),
        tuple(_ids(_flat(found.get("inherits from")))),
    )


def _after_name(text: str) -> str:
    found = _FIELD.match(text)
    return text[found.end() :] if found else text


def _flat(item: ListItem | None) -> str:
    """All that a field says, with commas between what is in a list."""
    if item is None:
        return ""
    parts = [_after_name(item.live)]
    parts += [one.live if isinstance(one, ListItem) else one.live.strip() for one in items(item.below)]
    return ", ".join(part.strip(" \t,") for part in parts if part.strip(" \t,"))


def _value(item: ListItem | None) -> str:
    return "" if item is None else value_of(_after_name(item.live), item.below, item.indent)


def _criteria(item: ListItem | None) -> Iterator[str]:
    if item is None:
        return
    first: list[str] = [_after_name(item.live)]
    rest: list[str] = []
    for one in items(item.below):
        if isinstance(one, ListItem):
            rest.append(value_of(one.live, one.below, one.indent))
        elif not rest and one.live.strip():
            first.append(one.live.strip())
    yield from (text for text in (said(" ".join(first)), *rest) if text)


def _unbracketed(text: str) -> str:
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def _names(text: str) -> Iterator[str]:
    """The names of a list with commas between them; what stands in quotes of code is one name, whatever it holds."""
    if text.strip(" \t").lower() == _NONE.lower():
        return
    at = 0
    while at < len(text):
        ticks = _TICKS.match(text, at)
        end = text.find(ticks[1], ticks.end()) if ticks else -1
        if ticks and end >= 0:
            yield said(text[ticks.end() : end])
            at = end + len(ticks[1])
        else:
            comma = text.find(",", at)
            end = comma if comma >= 0 else len(text)
            yield said(text[at:end])
            at = end + 1


def _ids(text: str) -> Iterable[str]:
    found = dict.fromkeys(re.findall(rf"(?<![\w.-]){ID}", text))
    return [one for one in found if one.lower() not in ("none", "and")]
