"""PURE. The reports of a task: one for each attempt, first its executor's part, then its reviewer's.

    tasks.task-1-report.md       the first attempt
    tasks.task-1-report-r2.md    the second one

A report is written once and then only grows by its second part. Nobody edits one, so nothing is kept beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from interlock.work.formats.markdown import MarkdownLine, MarkdownText
from interlock.work.orchestration.run_files.items import ListItem, fields_of, items, text_of
from interlock.work.orchestration.run_files.names import ID
from interlock.work.orchestration.run_files.text import (
    block,
    entry,
    guarded,
    line_of,
    normal,
    one_line,
    said,
    unguarded,
    value_of,
)
from interlock.work.orchestration.values import CriterionResult, DiscoveredTask, Part1, Part2, TaskReport, Verdict

__all__ = ["parse_report", "render_report"]

_TITLE: Final = re.compile(rf"task report: ({ID})(?: \[?rework #([0-9]{{1,9}})\]?)?", re.IGNORECASE)
_FACT: Final = re.compile(r"\*\*(Evidence|Finding|Rationale)(?: Reviewed)?\*\*:[ \t]*", re.IGNORECASE)
_LABEL: Final = re.compile(r"\*\*(Status|Reasoning)\*\*:[ \t]*", re.IGNORECASE)


# Writing


def render_report(report: TaskReport) -> str:
    """The text of the file."""
    report = normal(report)
    rework = f" [Rework #{report.attempt}]" if report.attempt > 1 else ""
    lines = [f"# Task Report: {report.task}{rework}"]
    lines += ["", "---", "## PART 1: IMPLEMENTATION REPORT", "*(Created by Ralph-Executor)*"]
    lines += _written(report.part1, _PART1)
    if report.part2 is not None:
        lines += ["", "---", "## PART 2: REVIEW REPORT", "*(Appended by Ralph-Reviewer)*"]
        lines += _written(report.part2, _PART2)
    return "\n".join(lines) + "\n"


def _written(part: Part1 | Part2, sections: Sequence[_Section]) -> Iterator[str]:
    for one in sections:
        value = getattr(part, one.name)
        if value or not one.is_optional:
            yield from ("", f"### {one.heading}")
            yield from one.write(value)
        if one.name == "discovered_tasks" and isinstance(part, Part2):
            yield from ("", "### Recommendation", f"- **Status**: {part.verdict}")
            yield from entry(0, "- **Reasoning**:", part.reasoning)


def _write_block(text: str) -> list[str]:
    return guarded(text) if text else []


def _write_texts(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in entry(0, "-", text)]


def _write_criteria(criteria: Sequence[CriterionResult]) -> list[str]:
    lines: list[str] = []
    for one in criteria:
        lines.append(f"- {'✅' if one.met else '❌'} {line_of(one.criterion)}".rstrip(" "))
        lines += entry(4, "- **Evidence**:", one.evidence) if one.evidence else []
        lines += entry(4, "- **Finding**:", one.finding) if one.finding else []
    return lines


def _write_found(found: Sequence[DiscoveredTask]) -> list[str]:
    lines: list[str] = []
    for one in found:
        lines.append(f"- {line_of(one.id)}: {line_of(one.description)}".rstrip(" "))
        lines += entry(4, "- **Rationale**:", one.rationale) if one.rationale else []
    return lines


# Reading


_Lines = Sequence[MarkdownLine]


def parse_report(text: str) -> TaskReport | None:
    """The report in a text; None if it is not the report of a task. Without a verdict it has no second part."""
    page = MarkdownText(text)
    title = next((found for one in page.sections if (found := _TITLE.match(one.name))), None)
    if title is None:
        return None
    first, second = _bodies(page)
    labels = _labels(second.get("recommendation", ()))
    verdict = next((one for one in Verdict if one.lower() == labels.get("status", "").lower()), None)
    part1 = Part1(**_values(first, _PART1))
    more = {**_values(second, _PART2), "verdict": verdict, "reasoning": labels.get("reasoning", "")}
    part2 = None if verdict is None else Part2(**more)
    return TaskReport(title[1], max(1, int(title[2] or 1)), part1, part2)


def _bodies(page: MarkdownText) -> tuple[dict[str, _Lines], dict[str, _Lines]]:
    """The lines of each section of both parts, by its heading in lower case without what is in brackets."""
    found: tuple[dict[str, _Lines], dict[str, _Lines]] = ({}, {})
    part = 0
    second = next((one.start for one in page.sections if one.level == 2 and one.name.lower().startswith("part 2")), -1)
    for one in page.sections:
        name = re.sub(r"^\W+", "", one.name).lower()
        if one.level == 2 and name.startswith("part "):
            part = 1 if name.startswith("part 2") else 0
        elif one.level == 3:
            body = page.body(one)
            found[part].setdefault(name.partition(" (")[0], _without_rule(body) if one.end == second else body)
    return found


def _without_rule(lines: _Lines) -> _Lines:
    """The lines without the rule before the next part."""
    last = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].raw.strip()), None)
    return lines[:last] if last is not None and lines[last].raw.rstrip() == "---" else lines


def _values(found: Mapping[str, _Lines], sections: Sequence[_Section]) -> dict[str, Any]:
    """The fields of a part; a heading of which only the first words are there counts, too."""
    values: dict[str, Any] = {}
    for one in sections:
        heading = one.heading.lower()
        short = next((name for name in found if heading.startswith(f"{name} ")), "")
        values[one.name] = one.read(found.get(heading, found.get(short, ())))
    return values


def _labels(lines: _Lines) -> dict[str, str]:
    """The texts behind `**Status**:` and the like, as items of a list or not."""
    found: dict[str, str] = {}
    for one in items(lines):
        head, below, indent = (one.live, one.below, one.indent) if isinstance(one, ListItem) else (one.live, (), 0)
        label = _LABEL.match(head.strip(" \t"))
        if label:
            found.setdefault(label[1].lower(), value_of(head.strip(" \t")[label.end() :], below, indent))
    return found


def _read_block(lines: _Lines) -> str:
    return block(unguarded(lines))


def _read_texts(lines: _Lines) -> tuple[str, ...]:
    return tuple(text for one in items(lines) if isinstance(one, ListItem) and (text := text_of(one)))


def _read_criteria(lines: _Lines) -> tuple[CriterionResult, ...]:
    found: list[CriterionResult] = []
    for one, facts in _with_facts(lines):
        text = one.live[1:].lstrip(" \t") if one.live[:1] in ("✅", "❌") else one.live
        met = one.live.startswith("✅")
        found.append(CriterionResult(said(text), met, facts.get("evidence", ""), facts.get("finding", "")))
    return tuple(found)


def _read_found(lines: _Lines) -> tuple[DiscoveredTask, ...]:
    found: list[DiscoveredTask] = []
    for one, facts in _with_facts(lines):
        id_, colon, text = said(one.live).partition(":")
        rationale = facts.get("rationale", "")
        found.append(DiscoveredTask(id_ if colon else "", one_line(text if colon else id_), rationale))
    return tuple(found)


def _with_facts(lines: _Lines) -> Iterator[tuple[ListItem, dict[str, str]]]:
    for one in items(lines):
        if isinstance(one, ListItem):
            yield one, {name: text_of(field) for name, field in fields_of(one, "", _FACT, [])[1].items()}


# The sections of both parts


class _Section(msgspec.Struct, frozen=True):
    """A section for one field of a part."""

    name: str
    heading: str
    write: Callable[[Any], list[str]]
    read: Callable[[_Lines], Any]
    is_optional: bool = False
    """True if it is left out where it is empty."""


_BLOCK: Final = (_write_block, _read_block)
_TEXTS: Final = (_write_texts, _read_texts)
_CRITERIA: Final = (_write_criteria, _read_criteria)
_DISCOVERED: Final = _Section("discovered_tasks", "Discovered Tasks", _write_found, _read_found)
_PART1: Final = (
    _Section("rework_context", "Rework Context", *_BLOCK, is_optional=True),
    _Section("objective_recap", "Objective Recap", *_BLOCK),
    _Section("criteria_status", "Success Criteria Status", *_CRITERIA),
    _Section("summary_of_changes", "Summary of Changes", *_BLOCK),
    _Section("verification_results", "Verification Results", *_BLOCK),
    _DISCOVERED,
)
_PART2: Final = (
    _Section("review_summary", "Review Summary", *_BLOCK),
    _Section("criteria_results", "Success Criteria Validation", *_CRITERIA),
    _Section("quality_assessment", "Quality Assessment", *_BLOCK),
    _Section("issues", "Issues Identified", *_TEXTS),
    _Section("validation_actions", "Validation Actions Performed", *_TEXTS),
    _DISCOVERED,
    _Section("feedback", "Feedback for Next Iteration", *_BLOCK),
)
