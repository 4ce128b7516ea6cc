"""PURE. `plan.questions.md`: the cycles of questions and answers.

Each cycle has its numbered questions with their fields and a summary, and at the end stand the insights of all cycles.
People answer a question by writing behind `**Answer**:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeVar

import msgspec

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
)
from interlock.work.orchestration.run_files.text import block, entry, line_of, one_line, said, value_of
from interlock.work.orchestration.values import Category, Confidence, Cycle, Priority, Question, QuestionStatus

__all__ = [
    "AskingState",
    "FileQuestion",
    "QuestionSheet",
    "QuestionsHeader",
    "normal_cycle",
    "parse_questions",
    "render_questions",
]


class AskingState(StrEnum):
    """Where the asking stands."""

    ACTIVE = "Active"
    CONVERGED = "Converged"
    COMPLETE = "Complete"


class QuestionsHeader(msgspec.Struct, frozen=True):
    """What stands at the head of the file."""

    session: str
    created: str = ""
    updated: str = ""
    state: AskingState = AskingState.ACTIVE


class FileQuestion(msgspec.Struct, frozen=True):
    """A question of the file: its cycle, and its line, counted from 1."""

    cycle: int
    question: Question
    line: int


class QuestionSheet(msgspec.Struct, frozen=True):
    """What `plan.questions.md` says, and what people wrote beside it."""

    overview: QuestionsHeader | None = None
    cycles: tuple[Cycle, ...] = ()
    asked: tuple[FileQuestion, ...] = ()
    beside: Mapping[str, Beside] = msgspec.field(default_factory=dict)


_INSIGHTS: Final = (
    ("findings", "Critical Findings"),
    ("validated", "Validated Assumptions"),
    ("invalidated", "Invalidated Assumptions"),
    ("unknowns", "Remaining Unknowns & Risks"),
    ("recommendations", "Recommendations for Plan Updates"),
)
_FIELDS: Final = ("category", "priority", "status", "impact", "answer", "source", "confidence")
_FIELD: Final = re.compile(rf"\*\*({'|'.join(_FIELDS)})\*\*[ \t]*:?[ \t]*", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[ \t]*([0-9]{1,9})[.)]")
_PRIORITY: Final = re.compile(r"\*\*\[(?:high|medium|low) priority\]\*\*[ \t]*", re.IGNORECASE)
_CYCLE: Final = re.compile(r"cycle ([0-9]{1,9})\b", re.IGNORECASE)
_OF: Final = re.compile(r"\(cycle ([0-9]{1,9})\)[ \t]*", re.IGNORECASE)
_PAIR: Final = re.compile(r"\*\*([^*]{1,40})\*\*:[ \t]*")
_UNFILLED: Final = frozenset({"[to be filled]", "to be filled", "tbd"})
_CHAPTERS: Final = {
    "title": "q&a discovery",
    "overview": "overview",
    "cycles": "q&a cycles",
    "insights": "key insights",
}
_COUNTED: Final = ("Questions Generated", "Questions Answered", "Key Insights")
_NAMES: Final = frozenset(name for name, _ in _INSIGHTS)
_OVERVIEW: Final = ("Session ID", "Created", "Last Updated", "Q&A Cycles Completed", "Status")

_Choice = TypeVar("_Choice", bound=StrEnum)


# Writing


def render_questions(
    overview: QuestionsHeader, cycles: Sequence[Cycle], title: str = "", beside: Mapping[str, Beside] | None = None
) -> str:
    """The text that says this, with what people wrote beside it."""
    cycles = [normal_cycle(one) for one in cycles]
    head = f"# Q&A Discovery: {line_of(title) or overview.session}"
    parts = [FilePart("#start"), FilePart("#title", [head]), FilePart("#end title")]
    parts += [FilePart("#overview", _overview(overview, cycles), spaced=True), FilePart("#end overview")]
    parts.append(FilePart("#cycles", ["## Q&A Cycles"], spaced=True))
    for cycle in cycles:
        parts += _cycle(cycle)
    parts += [FilePart("#end cycles"), FilePart("#insights", ["## Key Insights for Plan.md"], spaced=True)]
    for name, heading in _INSIGHTS:
        lines = [f"### {heading}"]
        for cycle in cycles:
            for text in getattr(cycle, name):
                lines += entry(0, f"- (Cycle {cycle.number})", text)
        parts.append(FilePart(f"#{name}", lines, spaced=True))
    return composed([*parts, FilePart("#end insights")], beside or {})


def _overview(overview: QuestionsHeader, cycles: Sequence[Cycle]) -> list[str]:
    values = (overview.session, overview.created, overview.updated, str(len(cycles)), overview.state)
    return [
        "## Overview",
        *(f"- **{name}**: {line_of(one)}".rstrip(" ") for name, one in zip(_OVERVIEW, values, strict=True)),
    ]


def _cycle(cycle: Cycle) -> Iterator[FilePart]:
    number = cycle.number
    yield FilePart(f"#cycle {number}", [f"### Cycle {number}"], spaced=True)
    yield FilePart(f"#questions {number}", ["#### Generated Questions"], spaced=True)
    for one in cycle.questions:
        yield FilePart(f"{number}/{one.number}", _question(one), spaced=one is not cycle.questions[0])
    answered = sum(1 for one in cycle.questions if one.status is QuestionStatus.ANSWERED)
    lines = [
        "#### Cycle Summary",
        f"- **Questions Generated**: {len(cycle.questions)}",
        f"- **Questions Answered**: {answered}",
        *entry(0, "- **Key Insights**:", cycle.summary),
    ]
    yield FilePart(f"#summary {number}", lines, spaced=True)


def _question(one: Question) -> list[str]:
    lines = [f"{one.number}. **[{one.priority} Priority]** {line_of(one.text)}".rstrip(" ")]
    for name in _FIELDS:
        lines += entry(4, f"- **{name.capitalize()}**:", getattr(one, name))
    return lines


def normal_cycle(cycle: Cycle) -> Cycle:
    """A cycle as the file can hold it: questions in one line, nothing that is empty."""
    insights = {name: tuple(text for one in getattr(cycle, name) if (text := block(one))) for name, _ in _INSIGHTS}
    return Cycle(cycle.number, tuple(map(_normal, cycle.questions)), block(cycle.summary), **insights)


def _normal(one: Question) -> Question:
    return Question(
        one.number,
        one_line(one.text),
        one.category,
        one.priority,
        one.status,
        block(one.impact),
        _filled(block(one.answer)),
        block(one.source),
        one.confidence,
    )


# Reading


def parse_questions(text: str) -> QuestionSheet:
    """What a text says; whatever it is."""
    reader = _Reader()
    for key, heading, body in _pieces(MarkdownText(text)):
        reader.take(key, heading, body)
    reader.collector.ours()
    cycles = tuple(one.made(number) for number, one in reader.cycles.items())
    return QuestionSheet(_overviewed(reader.overview), cycles, tuple(reader.asked), reader.collector.found)


def _pieces(page: MarkdownText) -> Iterator[tuple[str, MarkdownLine | None, Sequence[MarkdownLine]]]:
    """The lines below each heading, with what it is the heading of: nothing of ours, where that is empty."""
    ends = [one.start for one in page.sections] + [len(page.lines)]
    yield "start", None, page.lines[: ends[0]]
    above: dict[int, str] = {}
    is_begun = False
    for one, end in zip(page.sections, ends[1:], strict=True):
        name = re.sub(r"^\W+", "", one.name).lower()
        key = _key(one.level, name, above) if one.level > 1 else "" if is_begun else "title"
        is_begun = is_begun or bool(key)
        if key or one.level < 3:  # a small heading of somebody's does not end a cycle
            above = {level: known for level, known in above.items() if level < one.level} | {one.level: key}
        yield key, page.lines[one.start], page.lines[one.start + 1 : end]


def _key(level: int, name: str, above: Mapping[int, str]) -> str:
    if level == 2:
        return next((key for key in _CHAPTERS if name.startswith(_CHAPTERS[key])), "")
    if level == 3 and above.get(2) == "cycles":
        number = _CYCLE.match(name)
        return f"cycle {int(number[1])}" if number else ""
    if level == 3 and above.get(2) == "insights":
        return next((key for key, heading in _INSIGHTS if name.startswith(heading.lower()[:15])), "")
    cycle = above.get(3, "")
    kinds = {"generated questions": "questions", "cycle summary": "summary"}
    return f"{kinds[name]} {cycle[6:]}" if level == 4 and cycle.startswith("cycle ") and name in kinds else ""


class _Found:
    """A cycle that is being read."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.summary = ""
        self.insights: dict[str, list[str]] = {name: [] for name, _ in _INSIGHTS}

    def made(self, number: int) -> Cycle:
        insights = {name: tuple(texts) for name, texts in self.insights.items()}
        return Cycle(number, tuple(self.questions), self.summary, **insights)


class _Reader:
    def __init__(self) -> None:
        self.collector = LineCollector()
        self.overview: dict[str, str] = {}
        self.cycles: dict[int, _Found] = {}
        self.asked: list[FileQuestion] = []
        self._chapter = "title"
        self._within = ""

    def take(self, key: str, heading: MarkdownLine | None, body: Sequence[MarkdownLine]) -> None:
        """The lines below a heading."""
        if not key and heading is not None:
            if heading.live.lstrip(" ").startswith("###"):  # what is below a small heading of somebody's may be ours
                self.collector.others(heading)
                self._read(self._within, body)
            else:
                self.collector.part(f"#end {self._chapter}")
                self.collector.others(heading, *body)
                self._within = ""
            return
        if heading is not None:
            self.collector.part(f"#{key}")
            self._chapter = key if key in _CHAPTERS else self._chapter
        self._within = key
        self._read(key, body)

    def _read(self, key: str, body: Sequence[MarkdownLine]) -> None:
        kind, _, number = key.partition(" ")
        if number:
            self.cycles.setdefault(int(number), _Found())
        for one in items(body):
            if isinstance(one, MarkdownLine):
                self.collector.others(one)
            elif not self._understood(kind, int(number or 0), one):
                self.collector.others(one.line, *one.below)

    def _understood(self, kind: str, number: int, item: ListItem) -> bool:
        if kind in ("questions", "cycle"):
            return self._ask(number, item)
        pair = _PAIR.match(item.live)
        if kind == "overview" and pair and pair[1] in _OVERVIEW:
            self.overview[pair[1]] = said(item.live[pair.end() :])
        elif kind == "summary" and pair and pair[1] in _COUNTED:
            if pair[1] == _COUNTED[-1]:
                self.cycles[number].summary = value_of(item.live[pair.end() :], item.below, item.indent)
        elif kind in _NAMES:
            of = _OF.match(item.live)
            number = int(of[1]) if of else max(self.cycles, default=1)
            text = value_of(item.live[of.end() :] if of else item.live, item.below, item.indent)
            self.cycles.setdefault(number, _Found()).insights[kind] += [text] if text else []
        else:
            return False
        self.collector.ours()
        self.collector.others(*comments_of(item))
        return True

    def _ask(self, cycle: int, item: ListItem) -> bool:
        number = _NUMBER.match(item.line.live)
        if number is None:
            return False
        fields: dict[str, str] = {}
        strangers: list[MarkdownLine] = []
        text = item.live
        for one in items(below_of(item)):
            name = _FIELD.match(one.live) if isinstance(one, ListItem) else None
            if isinstance(one, ListItem) and name is not None and name[1].lower() not in fields:
                strangers += comments_of(one)
                fields[name[1].lower()] = value_of(one.live[name.end() :], one.below, one.indent)
            elif (
                isinstance(one, MarkdownLine) and not fields and one.live.strip() and one.live == one.raw.rstrip("\r\n")
            ):
                text = f"{text} {one.live}"
            else:
                strangers += [one.line, *one.below] if isinstance(one, ListItem) else [one]
        question = _made(int(number[1]), said(_PRIORITY.sub("", text, count=1)), fields)
        self.collector.part(f"{cycle}/{question.number}")
        self.collector.others(*strangers)
        self.cycles[cycle].questions.append(question)
        self.asked.append(FileQuestion(cycle, question, item.line.number + 1))
        return True


def _made(number: int, text: str, fields: Mapping[str, str]) -> Question:
    return Question(
        number,
        text,
        _choice(Category, fields.get("category"), Category.TECHNICAL),
        _choice(Priority, fields.get("priority"), Priority.MEDIUM),
        _choice(QuestionStatus, fields.get("status"), QuestionStatus.UNANSWERED),
        fields.get("impact", ""),
        _filled(fields.get("answer", "")),
        fields.get("source", ""),
        _choice(Confidence, fields.get("confidence"), Confidence.UNKNOWN),
    )


def _choice(kind: type[_Choice], text: str | None, otherwise: _Choice) -> _Choice:
    word = (text or "").strip().lower()
    return next((one for one in kind if one.value.lower() == word), otherwise)


def _filled(text: str) -> str:
    return "" if text.lower() in _UNFILLED else text


def _overviewed(found: Mapping[str, str]) -> QuestionsHeader | None:
    if not found:
        return None
    session, created, updated, _, state = (found.get(name, "") for name in _OVERVIEW)
    return QuestionsHeader(session, created, updated, _choice(AskingState, state, AskingState.ACTIVE))
