"""PURE. The reports of a task: one for each attempt, first its executor's part, then its reviewer's.

    tasks.task-1-report.md       the first attempt
    tasks.task-1-report-r2.md    the second one

A report is written once and then only grows by its second part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from interlock.work.formats.markdown import MarkdownLine, MarkdownText
from interlock.work.orchestration.run_files.outline import ListItem, items
from interlock.work.orchestration.run_files.progress import ID
from interlock.work.orchestration.run_files.text import (
    block,
    entry,
    guarded,
    line_of,
    one_line,
    said,
    unguarded,
    value_of,
)
from interlock.work.orchestration.values import CriterionResult, DiscoveredTask, Part1, Part2, TaskReport, Verdict

__all__ = ["normal_report", "parse_report", "render_report", "report_name", "report_of"]

_NAME: Final = re.compile(rf"tasks\.({ID})-report(?:-r([1-9][0-9]{{0,8}}))?\.md")
_TITLE: Final = re.compile(rf"task report: ({ID})(?: \[?rework #([0-9]{{1,9}})\]?)?", re.IGNORECASE)
_SIGN: Final = re.compile(r"(✅|❌)?[ \t]*\*{0,2}")
_FACT: Final = re.compile(r"\*\*(Evidence Reviewed|Evidence|Finding|Rationale)\*\*:[ \t]*", re.IGNORECASE)
_LABEL: Final = re.compile(r"\*\*(Status|Reasoning)\*\*:[ \t]*", re.IGNORECASE)
_PARTS: Final = ("## PART 1: IMPLEMENTATION REPORT", "## PART 2: REVIEW REPORT")


def report_name(task: str, attempt: int) -> str:
    """What the file of a report is called."""
    return f"tasks.{task}-report.md" if attempt == 1 else f"tasks.{task}-report-r{attempt}.md"


def report_of(name: str) -> tuple[str, int] | None:
    """The task and the attempt that a file is the report of; None for another file."""
    found = _NAME.fullmatch(name)
    return (found[1], int(found[2] or 1)) if found and found[2] != "1" else None


# Writing


def render_report(report: TaskReport) -> str:
    """The text that says this."""
    report = normal_report(report)
    one = report.part1
    title = f"# Task Report: {report.task}" + (f" [Rework #{report.attempt}]" if report.attempt > 1 else "")
    lines = [title, "", "---", _PARTS[0], "*(Created by Ralph-Executor)*"]
    if one.rework_context:
        lines += _block("Rework Context", one.rework_context)
    lines += _block("Objective Recap", one.objective_recap)
    lines += _list("Success Criteria Status", map(_criterion, one.criteria_status))
    lines += _block("Summary of Changes", one.summary_of_changes)
    lines += _block("Verification Results", one.verification_results)
    lines += _list("Discovered Tasks", map(_discovered, one.discovered_tasks))
    if report.part2 is not None:
        lines += _second(report.part2)
    return "\n".join(lines) + "\n"


def _second(two: Part2) -> list[str]:
    return [
        *("", "---", _PARTS[1], "*(Appended by Ralph-Reviewer)*"),
        *_block("Review Summary", two.review_summary),
        *_list("Success Criteria Validation", map(_criterion, two.criteria_results)),
        *_block("Quality Assessment", two.quality_assessment),
        *_list("Issues Identified", (entry(0, "-", text) for text in two.issues)),
        *_list("Validation Actions Performed", (entry(0, "-", text) for text in two.validation_actions)),
        *_list("Discovered Tasks", map(_discovered, two.discovered_tasks)),
        *("", "### Recommendation", f"- **Status**: {two.verdict}"),
        *entry(0, "- **Reasoning**:", two.reasoning),
        *_block("Feedback for Next Iteration", two.feedback),
    ]


def _block(heading: str, text: str) -> list[str]:
    return ["", f"### {heading}", *(guarded(text) if text else [])]


def _list(heading: str, entries: Iterator[list[str]]) -> list[str]:
    return ["", f"### {heading}", *(line for lines in entries for line in lines)]


def _criterion(one: CriterionResult) -> list[str]:
    lines = [f"- {'✅' if one.met else '❌'} {line_of(one.criterion)}".rstrip(" ")]
    lines += entry(4, "- **Evidence**:", one.evidence) if one.evidence else []
    return lines + (entry(4, "- **Finding**:", one.finding) if one.finding else [])


def _discovered(one: DiscoveredTask) -> list[str]:
    lines = [f"- {line_of(one.id)}: {line_of(one.description)}".rstrip(" ")]
    return lines + (entry(4, "- **Rationale**:", one.rationale) if one.rationale else [])


def normal_report(report: TaskReport) -> TaskReport:
    """A report as the file can hold it."""
    one, two = report.part1, report.part2
    part1 = Part1(
        block(one.objective_recap),
        tuple(map(_normal, one.criteria_status)),
        block(one.summary_of_changes),
        block(one.verification_results),
        tuple(map(_normal_found, one.discovered_tasks)),
        block(one.rework_context),
    )
    part2 = two and Part2(
        two.verdict,
        block(two.review_summary),
        tuple(map(_normal, two.criteria_results)),
        block(two.quality_assessment),
        tuple(text for one in two.issues if (text := block(one))),
        tuple(text for one in two.validation_actions if (text := block(one))),
        block(two.feedback),
        block(two.reasoning),
        tuple(map(_normal_found, two.discovered_tasks)),
    )
    return TaskReport(report.task, report.attempt, part1, part2)


def _normal(one: CriterionResult) -> CriterionResult:
    return CriterionResult(one_line(one.criterion), one.met, block(one.evidence), block(one.finding))


def _normal_found(one: DiscoveredTask) -> DiscoveredTask:
    return DiscoveredTask(one_line(one.id).replace(":", "-"), one_line(one.description), block(one.rationale))


# Reading


def parse_report(text: str) -> TaskReport | None:
    """What a text says; None where it is no report of a task. Without a verdict it has no second part."""
    page = MarkdownText(text)
    title = next((found for one in page.sections if (found := _TITLE.match(one.name))), None)
    if title is None:
        return None
    parts = _bodies(page)
    return TaskReport(title[1], max(1, int(title[2] or 1)), _first(parts[0]), _judged(parts[1]))


_Bodies = dict[str, Sequence[MarkdownLine]]


def _bodies(page: MarkdownText) -> tuple[_Bodies, _Bodies]:
    """The lines of each section of both parts, by the first word of its heading that tells it from the others."""
    found: tuple[_Bodies, _Bodies] = ({}, {})
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


def _without_rule(lines: Sequence[MarkdownLine]) -> Sequence[MarkdownLine]:
    """Without the rule that stands before the next part."""
    last = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].raw.strip()), None)
    return lines[:last] if last is not None and lines[last].raw.rstrip() == "---" else lines


def _first(found: _Bodies) -> Part1:
    return Part1(
        _text(found.get("objective recap", ())),
        tuple(_criteria(found.get("success criteria status", ()))),
        _text(found.get("summary of changes", ())),
        _text(found.get("verification results", ())),
        tuple(_found(found.get("discovered tasks", ()))),
        _text(found.get("rework context", ())),
    )


def _judged(found: _Bodies) -> Part2 | None:
    labels = _labels(found.get("recommendation", ()))
    verdict = next((one for one in Verdict if one.lower() == labels.get("status", "").lower()), None)
    if verdict is None:
        return None
    return Part2(
        verdict,
        _text(found.get("review summary", ())),
        tuple(_criteria(found.get("success criteria validation", ()))),
        _text(found.get("quality assessment", ())),
        tuple(_texts(found.get("issues identified", found.get("issues", ())))),
        tuple(_texts(found.get("validation actions performed", found.get("validation actions", ())))),
        _text(found.get("feedback for next iteration", found.get("feedback", ()))),
        labels.get("reasoning", ""),
        tuple(_found(found.get("discovered tasks", ()))),
    )


def _text(lines: Sequence[MarkdownLine]) -> str:
    return block(unguarded(lines))


def _texts(lines: Sequence[MarkdownLine]) -> Iterator[str]:
    found = (value_of(one.live, one.below, one.indent) for one in items(lines) if isinstance(one, ListItem))
    return (text for text in found if text)


def _labels(lines: Sequence[MarkdownLine]) -> dict[str, str]:
    """What stands behind `**Status**:` and the like, with a sign before it or without."""
    found: dict[str, str] = {}
    for one in items(lines):
        head, below, indent = (one.live, one.below, one.indent) if isinstance(one, ListItem) else (one.live, (), 0)
        label = _LABEL.match(head.strip(" \t"))
        if label:
            found.setdefault(label[1].lower(), value_of(head.strip(" \t")[label.end() :], below, indent))
    return found


def _facts(below: Sequence[MarkdownLine]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in items(below):
        fact = _FACT.match(one.live) if isinstance(one, ListItem) else None
        if fact is not None and isinstance(one, ListItem):
            name = fact[1].lower().partition(" ")[0]
            found.setdefault(name, value_of(one.live[fact.end() :], one.below, one.indent))
    return found


def _criteria(lines: Sequence[MarkdownLine]) -> Iterator[CriterionResult]:
    for one in items(lines):
        if not isinstance(one, ListItem):
            continue
        met = one.live.startswith("✅")
        text = one.live[1:].lstrip(" \t") if one.live[:1] in ("✅", "❌") else one.live
        facts = _facts(one.below)
        yield CriterionResult(said(text), met, facts.get("evidence", ""), facts.get("finding", ""))


def _found(lines: Sequence[MarkdownLine]) -> Iterator[DiscoveredTask]:
    for one in items(lines):
        if isinstance(one, ListItem):
            id_, colon, text = said(one.live).partition(":")
            facts = _facts(one.below)
            yield DiscoveredTask(id_ if colon else "", one_line(text if colon else id_), facts.get("rationale", ""))
