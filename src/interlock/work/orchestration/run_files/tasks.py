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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from interlock.work.formats.markdown import MarkdownLine
from interlock.work.orchestration.run_files.document import (
    Beside,
    Block,
    Found,
    Oddity,
    Sheet,
    Taken,
    begin_with,
    chapter,
    read,
    render,
)
from interlock.work.orchestration.run_files.items import (
    ListItem,
    below_of,
    fields_of,
    items,
    notes_of,
    tail_of,
    text_of,
)
from interlock.work.orchestration.run_files.names import ID
from interlock.work.orchestration.run_files.progress import LABELS
from interlock.work.orchestration.run_files.text import entry, line_of, normal, said
from interlock.work.orchestration.values import Mark, Task

__all__ = ["normal_task", "parse_tasks", "render_tasks"]

_STEPS: Final = (
    """\
- plan-init: Write the plan
    - **Type**: Sequential
    - **Files**: plan.md
    - **Objective**: A goal that can be checked, and a way to it
    - **Success Criteria**:
        - plan.md says what is to be achieved and how it is shown
    - **Inherits From**: None""",
    """\
- plan-qa-brainstorm: Ask what the plan takes for granted
    - **Type**: Sequential (depends on plan-init)
    - **Files**: plan.questions.md
    - **Objective**: Nothing that matters is left unasked
    - **Success Criteria**:
        - Questions by category and priority, each with what depends on it
    - **Inherits From**: plan-init""",
    """\
- plan-qa-research: Answer the questions
    - **Type**: Sequential (depends on plan-qa-brainstorm)
    - **Files**: plan.questions.md
    - **Objective**: Answers with their sources, and how sure they are
    - **Success Criteria**:
        - Every question of high priority has an answer, or is named as a risk
    - **Inherits From**: plan-qa-brainstorm""",
    """\
- plan-breakdown: Break the plan down into tasks
    - **Type**: Sequential (depends on plan-qa-research)
    - **Files**: tasks.md, progress.md
    - **Objective**: Tasks that one agent can do, and another can judge
    - **Success Criteria**:
        - Each task has an objective, criteria, its files and what it depends on
    - **Inherits From**: plan-init, plan-qa-research""",
)
"""The steps of planning, which are the same in every session."""
_PLANNING: Final = {lines[0][2:].partition(":")[0]: lines for lines in (one.split("\n") for one in _STEPS)}
_LEGEND: Final = ("## Legend", *(f"- `[{mark}]` {label}" for mark, label in LABELS.items()))
_CHAPTERS: Final = {"legend": "legend", "planning": "planning", "implementation": "implementation"}
_HEAD: Final = re.compile(rf"(?:\[[^\]]{{0,20}}\][ \t]+)?\**({ID})\**[ \t]*:(?:[ \t]+(.*))?")
_FIELD: Final = re.compile(
    r"\*\*(type|files|objective|success criteria|inherits from)\*\*[ \t]*:?[ \t]*", re.IGNORECASE
)
_DEPENDS: Final = re.compile(r"depends on:?[ \t]+([^)]*)", re.IGNORECASE)
_TICKS: Final = re.compile(r"[ \t,]*(`+)")
_PLAIN_NAME: Final = re.compile(r"[^\s,`\[\]<>]+(?: [^\s,`\[\]<>]+)*")
_NONE: Final = "None"


# Writing


def render_tasks(tasks: Sequence[Task], beside: Mapping[str, Beside] | None = None) -> str:
    """The text of the file, with what people wrote beside it."""
    written = ((one.id, _written(_bare(one))) for one in tasks)
    return render(
        chapter("title", "# Task List"),
        chapter("legend", *_LEGEND),
        chapter("planning", "## Planning Tasks", blocks=_blocks(_PLANNING.items())),
        chapter("implementation", "## Implementation Tasks", blocks=_blocks(written)),
        beside=beside,
    )


def _blocks(written: Iterable[tuple[str, Sequence[str]]]) -> Iterator[Block]:
    return (Block(id_, lines, spaced=True) for id_, lines in written)


def _bare(task: Task) -> Task:
    """The task without what is not in this file, so that another mark does not make it render again."""
    return replace(task, mark=Mark.OPEN, attempt=1, note="")


@lru_cache(4096)
def _written(task: Task) -> tuple[str, ...]:
    task = normal_task(task)
    depends = f" (depends on {', '.join(task.depends_on)})" if task.depends_on else ""
    return (
        f"- {task.id}: {line_of(task.description)}".rstrip(" "),
        f"    - **Type**: Sequential{depends}",
        f"    - **Files**: {', '.join(map(_name, task.files)) or _NONE}",
        *entry(4, "- **Objective**:", task.objective),
        "    - **Success Criteria**:",
        *(line for one in task.criteria for line in entry(8, "-", one)),
        f"    - **Inherits From**: {', '.join(task.inherits) or _NONE}",
    )


def _name(name: str) -> str:
    """The name of a file; one that could be taken for something else is quoted as code."""
    if _PLAIN_NAME.fullmatch(name) and name.lower() != _NONE.lower():
        return name
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", name)), default=0))
    space = " " if "`" in (name[0], name[-1]) else ""
    return f"{ticks}{space}{line_of(name)}{space}{ticks}"


def normal_task(task: Task) -> Task:
    """A task as the file can hold it."""
    names = ("files", "depends_on", "inherits")
    task = normal(task)
    return replace(task, **{name: tuple(dict.fromkeys(getattr(task, name))) for name in names})


# Reading


def parse_tasks(text: str) -> Sheet[Task]:
    """The tasks of any text, without the steps of planning. Marks are in `progress.md`."""
    tasks: list[Found[Task]] = []
    oddities: list[Oddity] = []

    def take(section: str, item: ListItem) -> Taken | None:
        if section == "legend" and item.line.raw.rstrip() in _LEGEND:
            return Taken(others=item.below)
        head = _HEAD.fullmatch(item.live.rstrip(" \t")) if section in ("planning", "implementation") else None
        if head is None:
            if section == "implementation":
                why = "it names no task: write `- task-9: what is to be done`"
                oddities.append(Oddity(item.number, why, item.head))
            return None
        others: list[MarkdownLine | None] = []
        if section == "implementation":
            tasks.append(Found(head[1], _task(head[1], head[2] or "", item, others), item.number))
        else:
            others += _step_others(head[1], item)
        return Taken(head[1], others, tail_of(item))

    beside = read(text, begin_with(_CHAPTERS), take)
    return Sheet(tuple(tasks), tuple(oddities), beside)


def _step_others(id_: str, item: ListItem) -> Iterator[MarkdownLine | None]:
    """The lines of a step of planning that are a person's: its own are fixed."""
    ours = _PLANNING.get(id_, ())
    for line in below_of(item):
        if line.live.rstrip(" \t") in ours:
            yield None
            yield from notes_of(line, indent=item.indent)
        else:
            yield line


def _task(id_: str, head: str, item: ListItem, others: list[MarkdownLine | None]) -> Task:
    head, found = fields_of(item, head, _FIELD, others)
    depends = _DEPENDS.search(_flat(found.get("type")))
    return Task(
        id_,
        said(head),
        text_of(found.get("objective")),
        tuple(_criteria(found.get("success criteria"))),
        tuple(dict.fromkeys(filter(None, _names(_unbracketed(_flat(found.get("files"))))))),
        tuple(_ids(depends[1] if depends else "")),
        tuple(_ids(_flat(found.get("inherits from")))),
    )


def _flat(item: ListItem | None) -> str:
    """All of a field, with commas between the items of a list."""
    if item is None:
        return ""
    parts = [item.live, *(one.live if isinstance(one, ListItem) else one.live.strip() for one in items(item.below))]
    return ", ".join(part.strip(" \t,") for part in parts if part.strip(" \t,"))


def _criteria(item: ListItem | None) -> Iterator[str]:
    if item is None:
        return
    first: list[str] = [item.live]
    rest: list[str] = []
    for one in items(item.below):
        if isinstance(one, ListItem):
            rest.append(text_of(one))
        elif not rest and one.live.strip():
            first.append(one.live.strip())
    yield from (text for text in (said(" ".join(first)), *rest) if text)


def _unbracketed(text: str) -> str:
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def _names(text: str) -> Iterator[str]:
    """The names between commas; what is quoted as code is one name, whatever it holds."""
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
