"""PURE. Story files, as BMAD and people write them.

A story file is people's; of it only the check boxes of tasks, the status and the Dev Agent Record are ever written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from interlock.errors import Refusal
from interlock.work.formats.markdown import MarkdownText, Section
from interlock.work.stories.criteria import criteria_of
from interlock.work.stories.stories import Story, Subtask

__all__ = ["checked", "parse_story", "recorded", "with_status"]

_MAX_BYTES: Final = 1024 * 1024
_MAX_RANGE: Final = 99
_TITLE: Final = re.compile(r"Story\s+[\w.-]+\s*[:–—-]\s*", re.IGNORECASE)
_BOX: Final = re.compile(r"(?P<before>[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[)(?P<mark>[ xX])\][ \t]+(?P<text>\S.*)")
_LABEL: Final = re.compile(
    r"(?:\*\*|__)?(?:(?:Task|Subtask|T)[ \t]*#?(?P<named>\d+(?:\.\d+)*)|(?P<bare>\d+(?:\.\d+)+|\d+(?=[:.)])))"
    r"(?:\*\*|__)?[ \t]*[:.)–—-]?(?:\*\*|__)?(?:[ \t]+|$)",
    re.IGNORECASE,
)
_FOR: Final = re.compile(r"[(\[]\s*ACs?(?=[\s:#\d-])(?P<numbers>[\s:#,;&.\dACands–-]*)[)\]]", re.IGNORECASE)
_STATUS: Final = re.compile(
    r"[ \t]*(?:[-*][ \t]+)?(?:\*\*|__)?Status(?:\*\*|__)?[ \t]*:(?:\*\*|__)?[ \t]*", re.IGNORECASE
)
_BOLD: Final = re.compile(r"\*\*((?:Acceptance Criteria|Tasks|Dev Notes|Dev Agent Record)\b[^*]*)\*\*:?", re.IGNORECASE)
"""What some write in bold instead of a heading."""
_RECORD: Final = "Dev Agent Record"
_DONE: Final = "done"


# Reading


def parse_story(id_: str, text: str, file: str | None = None) -> Story:
    """A story file as a story; without criteria it is refused, because nothing could be judged.

    A story without tasks is one task, which is done when the story's status says so.
    """
    if len(text) > _MAX_BYTES:
        raise _invalid(f"{file or id_} has more than {_MAX_BYTES} characters.", "Put what is no story elsewhere.")
    page = MarkdownText(text, _BOLD)
    title = next((_TITLE.sub("", one.name, count=1) for one in page.sections if one.level == 1), "") or id_
    criteria = criteria_of(page)
    if not criteria:
        message = f"{file or id_} has no acceptance criteria, so nothing can be judged by them."
        raise _invalid(message, "Write a numbered list below `## Acceptance Criteria`.")
    tasks = tuple(box.task for box in _boxes(page) if not box.below)
    if not tasks:
        done = (_status(page) or (0, 0, ""))[2].lower() == _DONE
        tasks = (Subtask("1", title, done, tuple(one.number for one in criteria)),)
    return Story(id_, title, criteria, tasks, text, file)


def _invalid(message: str, hint: str) -> Refusal:
    return Refusal("story_invalid", message, hint)


class _Box(msgspec.Struct):
    """A check box while the list is read: those above and below it are found as they come."""

    task: Subtask
    line: int
    column: int
    depth: int
    above: _Box | None
    below: list[_Box]


def _boxes(page: MarkdownText) -> list[_Box]:
    """The check boxes of the tasks, each with those below it, in the order of the text."""
    found: list[_Box] = []
    path: list[_Box] = []
    at_top = 0
    labels: Counter[str] = Counter()
    for line in page.body(page.section("task")):
        box = _BOX.fullmatch(line.live.rstrip())
        if box is None:
            continue
        depth = len(line.live[: len(line.live) - len(line.live.lstrip())].expandtabs(4))
        while path and path[-1].depth >= depth:
            path.pop()
        above = path[-1] if path else None
        at_top += above is None
        place = str(at_top) if above is None else f"{above.task.id}.{len(above.below) + 1}"
        one = _Box(_task(box, above, place, labels), line.number, box.end("before"), depth, above, [])
        if above:
            above.below.append(one)
        path.append(one)
        found.append(one)
    return found


def _task(box: re.Match[str], above: _Box | None, place: str, labels: Counter[str]) -> Subtask:
    """What a box says; it is called by the number that it gives itself, or else by its place."""
    named = _FOR.search(box["text"])
    text = " ".join(_FOR.sub("", box["text"]).split())
    label = _LABEL.match(text)
    id_ = wanted = (label["named"] or label["bare"]) if label else place
    while labels[id_]:  # a number that is there twice; `labels` knows how often, so that many are no trouble
        labels[wanted] += 1
        id_ = f"{wanted}-{labels[wanted]}"
    labels[id_] += 1
    criteria = _numbers(named["numbers"]) if named else above.task.criteria if above else ()
    return Subtask(id_, (text[label.end() :] if label else text) or box["text"].strip(), box["mark"] != " ", criteria)


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers of a list such as `1, 3-5` or `#1 and #2`."""
    found: dict[int, None] = {}
    for first, last in re.findall(r"(\d{1,4})(?:\s*[–-]\s*#?(\d{1,4}))?", text):
        found |= dict.fromkeys(range(int(first), min(int(last or first), int(first) + _MAX_RANGE) + 1))
    return tuple(found)


def _status(page: MarkdownText) -> tuple[int, int, str] | None:
    """Where the status is said, as a line and a column, and what it is: before the sections, or in one of its own."""
    first = next((one.start for one in page.sections if one.level > 1), len(page.lines))
    for line in page.lines[:first]:
        label = _STATUS.match(line.live)
        if label:
            return line.number, label.end(), line.live[label.end() :].strip()
    for line in page.body(page.section("status")):
        if line.live.strip():
            return line.number, len(line.live) - len(line.live.lstrip()), line.live.strip()
    return None


# Writing


def checked(text: str, id_: str) -> str:
    """A story file with the box of one task ticked, and those above it of which all below are; nothing else changes.

    The one task of a story without boxes is ticked by the status.
    """
    page = MarkdownText(text, _BOLD)
    boxes = _boxes(page)
    if not boxes and id_ == "1":
        return with_status(text, _DONE)
    box = next((one for one in boxes if one.task.id == id_ and not one.below), None)
    if box is None:
        raise _invalid(f"The story has no task {id_!r} any more.", "Look at its Tasks section.")
    lines = [line.raw for line in page.lines]
    done = {one.line for one in boxes if one.task.done}
    above: _Box | None = box
    while above is not None and all(one.line in done for one in above.below):
        row = lines[above.line]
        lines[above.line] = row if above.line in done else f"{row[: above.column]}x{row[above.column + 1 :]}"
        done.add(above.line)
        above = above.above
    return "".join(lines)


def with_status(text: str, status: str) -> str:
    """A story file with this status; it is said below the title if it was not said yet."""
    page = MarkdownText(text, _BOLD)
    lines = [line.raw for line in page.lines]
    found = _status(page)
    if found:
        number, column, old = found
        lines[number] = f"{_spaced(lines[number][:column])}{status}{lines[number][column + len(old) :]}"
        return "".join(lines)
    newline = _newline(text)
    if not page.sections or page.sections[0].level > 1:
        mark, rest = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
        return f"{mark}Status: {status}{newline}{newline if rest else ''}{rest}"
    title = page.sections[0].start
    lines[title] = f"{lines[title].rstrip()}{newline}{newline}Status: {status}{newline}"
    return "".join(lines)


def _spaced(label: str) -> str:
    return label if label.endswith((" ", "\t")) or not label.rstrip().endswith((":", "*", "_")) else f"{label} "


def recorded(text: str, notes: Iterable[str] = (), files: Iterable[str] = ()) -> str:
    """A story file with more in its Dev Agent Record: completion notes, and files, that are not listed there yet."""
    for heading, items in (("Completion Notes List", notes), ("File List", files)):
        text = _listed(text, heading, [" ".join(item.split()) for item in items])
    return text


def _listed(text: str, heading: str, items: Sequence[str]) -> str:
    page = MarkdownText(text, _BOLD)
    record = page.section(_RECORD.lower())
    section = next((one for one in page.sections if record and _is_in(one, record, heading)), None)
    there = {line.raw.strip().lstrip("-*+").strip() for line in page.body(section)}
    new = [item for item in dict.fromkeys(items) if item and item not in there]
    if not new:
        return text
    head = [] if record else [f"## {_RECORD}", ""]
    head += [] if section else [f"{'#' * min(6, record.level + 1 if record else 3)} {heading}", ""]
    return _inserted(page, section or record, [*head, *(f"- {item}" for item in new)], _newline(text))


def _is_in(section: Section, record: Section, name: str) -> bool:
    return record.start < section.start < record.end and section.name.lower().startswith(name.lower())


def _inserted(page: MarkdownText, section: Section | None, new: list[str], newline: str) -> str:
    """Lines at the end of a section, or of the text: in its list, or a blank line below what is there."""
    lines = [line.raw for line in page.lines]
    end = section.end if section else len(lines)
    at = end
    while at and not lines[at - 1].strip():
        at -= 1
    if at:
        lines[at - 1] = lines[at - 1].rstrip("\r\n") + newline
    goes_on = bool(at) and new[0].startswith("- ") and lines[at - 1].lstrip().startswith(("-", "*", "+"))
    gap = [newline] if at and not goes_on else []
    rest = lines[at:] or []
    if end < len(lines) and not (rest and not rest[0].strip()):
        rest = [newline, *rest]
    return "".join([*lines[:at], *gap, *(line + newline for line in new), *rest])


def _newline(text: str) -> str:
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"
