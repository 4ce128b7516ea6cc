"""PURE. `plan.questions.md`: the cycles of questions and answers.

Each cycle has its numbered questions with their fields and a summary; the insights of all cycles follow at the end.
People answer a question by writing behind `**Answer**:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from interlock.work.formats.markdown import MarkdownLine
from interlock.work.orchestration.run_files.document import Beside, Block, Found, Sheet, Taken, chapter, read, render
from interlock.work.orchestration.run_files.items import ListItem, fields_of, notes_of, text_of
from interlock.work.orchestration.run_files.text import entry, filled, line_of, normal, said
from interlock.work.orchestration.values import Category, Confidence, Cycle, Priority, Question, QuestionStatus

__all__ = ["AskingState", "QuestionSheet", "QuestionsHeader", "parse_questions", "render_questions"]


class AskingState(StrEnum):
    """The state of the asking."""

    ACTIVE = "Active"
    CONVERGED = "Converged"
    COMPLETE = "Complete"


class QuestionsHeader(msgspec.Struct, frozen=True):
    """The overview at the head of the file."""

    session: str
    created: str = ""
    updated: str = ""
    state: AskingState = AskingState.ACTIVE


class QuestionSheet(Sheet[Question], frozen=True):
    """The content of `plan.questions.md`; the key of a question is `CYCLE/NUMBER`."""

    overview: QuestionsHeader | None = None
    cycles: tuple[Cycle, ...] = ()


_OVERVIEW: Final = ("Session ID", "Created", "Last Updated", "Q&A Cycles Completed", "Status")
_COUNTED: Final = ("Questions Generated", "Questions Answered", "Key Insights")
_CHAPTERS: Final = {
    "title": "q&a discovery",
    "overview": "overview",
    "cycles": "q&a cycles",
    "insights": "key insights",
}
_INSIGHTS: Final = {
    "findings": "Critical Findings",
    "validated": "Validated Assumptions",
    "invalidated": "Invalidated Assumptions",
    "unknowns": "Remaining Unknowns & Risks",
    "recommendations": "Recommendations for Plan Updates",
}
_PARTS: Final = {"generated questions": "questions", "cycle summary": "summary"}
_FIELDS: Final = ("category", "priority", "status", "impact", "answer", "source", "confidence")
_CHOICES: Final = {
    "category": (Category, Category.TECHNICAL),
    "priority": (Priority, Priority.MEDIUM),
    "status": (QuestionStatus, QuestionStatus.UNANSWERED),
    "confidence": (Confidence, Confidence.UNKNOWN),
}
"""The fields that are one of several words, and what another word means."""
_FIELD: Final = re.compile(rf"\*\*({'|'.join(_FIELDS)})\*\*[ \t]*:?[ \t]*", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[ \t]*([0-9]{1,9})[.)]")
_PRIORITY: Final = re.compile(r"\*\*\[(?:high|medium|low) priority\]\*\*[ \t]*", re.IGNORECASE)
_CYCLE: Final = re.compile(r"cycle ([0-9]{1,9})\b", re.IGNORECASE)
_OF: Final = re.compile(r"\(cycle ([0-9]{1,9})\)[ \t]*", re.IGNORECASE)
_PAIR: Final = re.compile(r"\*\*([^*]{1,40})\*\*:[ \t]*")

_Choice = TypeVar("_Choice", bound=StrEnum)


# Writing


def render_questions(
    overview: QuestionsHeader, cycles: Sequence[Cycle], title: str = "", beside: Mapping[str, Beside] | None = None
) -> str:
    """The text of the file, with what people wrote beside it."""
    cycles = [normal(one) for one in cycles]
    values = (overview.session, overview.created, overview.updated, str(len(cycles)), overview.state)
    pairs = (f"- **{name}**: {line_of(one)}".rstrip(" ") for name, one in zip(_OVERVIEW, values, strict=True))
    return render(
        chapter("title", f"# Q&A Discovery: {line_of(title) or overview.session}"),
        chapter("overview", "## Overview", *pairs),
        chapter("cycles", "## Q&A Cycles", blocks=(one for cycle in cycles for one in _cycle(cycle))),
        chapter("insights", "## Key Insights for Plan.md", blocks=(_insights(name, cycles) for name in _INSIGHTS)),
        beside=beside,
    )


def _cycle(cycle: Cycle) -> Iterator[Block]:
    number = cycle.number
    yield Block(f"#cycle {number}", [f"### Cycle {number}"], spaced=True)
    yield Block(f"#questions {number}", ["#### Generated Questions"], spaced=True)
    for one in cycle.questions:
        yield Block(f"{number}/{one.number}", _question(one), spaced=one is not cycle.questions[0])
    answered = sum(1 for one in cycle.questions if one.status is QuestionStatus.ANSWERED)
    lines = [
        "#### Cycle Summary",
        f"- **Questions Generated**: {len(cycle.questions)}",
        f"- **Questions Answered**: {answered}",
        *entry(0, "- **Key Insights**:", cycle.summary),
    ]
    yield Block(f"#summary {number}", lines, spaced=True)


def _question(one: Question) -> list[str]:
    lines = [f"{one.number}. **[{one.priority} Priority]** {line_of(one.text)}".rstrip(" ")]
    for name in _FIELDS:
        lines += entry(4, f"- **{name.capitalize()}**:", getattr(one, name))
    return lines


def _insights(name: str, cycles: Sequence[Cycle]) -> Block:
    entries = (entry(0, f"- (Cycle {one.number})", text) for one in cycles for text in getattr(one, name))
    return Block(f"#{name}", [f"### {_INSIGHTS[name]}", *(line for lines in entries for line in lines)], spaced=True)


# Reading


def parse_questions(text: str) -> QuestionSheet:
    """The questions of any text."""
    reader = _QuestionReader()
    beside = read(text, reader.key, reader.take, deepest=6)
    cycles = tuple(Cycle(number, **found) for number, found in reader.cycles.items())
    return QuestionSheet(tuple(reader.asked), (), beside, _header(reader.overview), cycles)


class _QuestionReader:
    """Collects what the items of a text say."""

    def __init__(self) -> None:
        self.overview: dict[str, str] = {}
        self.cycles: dict[int, dict[str, Any]] = {}
        self.asked: list[Found[Question]] = []

    def key(self, level: int, name: str, above: Mapping[int, str]) -> str:
        cycle, number = above.get(3, ""), _CYCLE.match(name)
        if level == 2:
            return next((key for key in _CHAPTERS if name.startswith(_CHAPTERS[key])), "")
        if level == 3 and above.get(2) == "insights":
            return next((key for key, heading in _INSIGHTS.items() if name.startswith(heading.lower()[:15])), "")
        if level == 3 and above.get(2) == "cycles" and number:
            self._cycle(int(number[1]))
            return f"cycle {int(number[1])}"
        if level == 4 and cycle.startswith("cycle ") and name in _PARTS:
            return f"{_PARTS[name]} {cycle[6:]}"
        return ""

    def take(self, section: str, item: ListItem) -> Taken | None:
        kind, _, number = section.partition(" ")
        cycle = self._cycle(int(number)) if number else {}
        if kind in ("questions", "cycle"):
            return self._question(int(number), cycle, item)
        pair = _PAIR.match(item.live)
        rest = replace(item, live=item.live[pair.end() :]) if pair else item
        if kind == "overview" and pair and pair[1] in _OVERVIEW:
            self.overview[pair[1]] = said(rest.live)
        elif kind == "summary" and pair and pair[1] in _COUNTED:
            if pair[1] == _COUNTED[-1]:
                cycle["summary"] = text_of(rest)
        elif kind in _INSIGHTS:
            self._insight(kind, item)
        else:
            return None
        return Taken(others=[*notes_of(*item.lines, indent=item.indent)])

    def _cycle(self, number: int) -> dict[str, Any]:
        return self.cycles.setdefault(number, {"questions": ()})

    def _insight(self, kind: str, item: ListItem) -> None:
        of = _OF.match(item.live)
        cycle = self._cycle(int(of[1]) if of else max(self.cycles, default=1))
        text = text_of(replace(item, live=item.live[of.end() :]) if of else item)
        cycle[kind] = (*cycle.get(kind, ()), *([text] if text else []))

    def _question(self, number: int, cycle: dict[str, Any], item: ListItem) -> Taken | None:
        own = _NUMBER.match(item.line.live)
        if own is None:
            return None
        others: list[MarkdownLine | None] = []
        text, fields = fields_of(item, item.live, _FIELD, others)
        values: dict[str, Any] = {name: text_of(one) for name, one in fields.items()}
        values |= {name: _choice(*of, values.get(name)) for name, of in _CHOICES.items()}
        values["answer"] = filled(values.get("answer", ""))
        question = Question(int(own[1]), said(_PRIORITY.sub("", text, count=1)), **values)
        cycle["questions"] += (question,)
        key = f"{number}/{question.number}"
        self.asked.append(Found(key, question, item.number))
        return Taken(key, [*filter(None, others)])


def _choice(kind: type[_Choice], otherwise: _Choice, text: str | None) -> _Choice:
    word = (text or "").strip().lower()
    return next((one for one in kind if one.value.lower() == word), otherwise)


def _header(found: Mapping[str, str]) -> QuestionsHeader | None:
    if not found:
        return None
    session, created, updated, _, state = (found.get(name, "") for name in _OVERVIEW)
    return QuestionsHeader(session, created, updated, _choice(AskingState, AskingState.ACTIVE, state))
