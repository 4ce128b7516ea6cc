"""The files of a session: rendered and parsed, the same again, whatever is in them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from exhaustive import EXHAUSTIVE
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.work.formats.markdown import MarkdownText
from interlock.work.orchestration.order import PLANNING
from interlock.work.orchestration.run_files.names import report_name, report_of
from interlock.work.orchestration.run_files.plan import normal_plan, parse_plan, render_instructions, render_plan
from interlock.work.orchestration.run_files.progress import normal_note, parse_progress, render_progress
from interlock.work.orchestration.run_files.questions import (
    AskingState,
    QuestionsHeader,
    parse_questions,
    render_questions,
)
from interlock.work.orchestration.run_files.reports import parse_report, render_report
from interlock.work.orchestration.run_files.tasks import normal_task, parse_tasks, render_tasks
from interlock.work.orchestration.run_files.text import block, normal, one_line, said, unguarded
from interlock.work.orchestration.run_files.transitions import transitions
from interlock.work.orchestration.values import (
    Category,
    Confidence,
    CriterionResult,
    Cycle,
    DiscoveredTask,
    Mark,
    Part1,
    Part2,
    Plan,
    Priority,
    Question,
    QuestionStatus,
    Task,
    TaskReport,
    Verdict,
)

from .samples import cycles, plans, reports, texts

PLANNED = dict.fromkeys(PLANNING, Mark.DONE)

# The same again


@given(plans)
def test_any_plan_is_read_as_it_was_written(plan: Plan) -> None:
    assert parse_plan(render_plan(plan.goal, plan.text)) == normal_plan(plan.goal, plan.text)
    sheet = parse_tasks(render_tasks(plan.tasks))
    bare = [normal_task(one) for one in plan.tasks]
    assert [one.value for one in sheet.blocks] == [
        Task(one.id, one.description, one.objective, one.criteria, one.files, one.depends_on, one.inherits)
        for one in bare
    ]
    assert (sheet.oddities, sheet.beside) == ((), {})


@given(plans)
def test_any_progress_is_read_as_it_was_written(plan: Plan) -> None:
    sheet = parse_progress(render_progress(PLANNED, plan.tasks))
    assert {one.key: one.value.mark for one in sheet.planning} == PLANNED
    assert [(one.key, one.value.mark, one.value.attempt, one.value.note) for one in sheet.blocks] == [
        (one.id, one.mark, one.attempt, normal_note(one.note)) for one in plan.tasks
    ]
    assert (sheet.oddities, sheet.beside) == ((), {})


@given(cycles)
def test_any_questions_are_read_as_they_were_written(some: list[Cycle]) -> None:
    overview = QuestionsHeader("260131-144400", "2026-01-31T14:44:00Z", "2026-01-31T15:00:00Z")
    sheet = parse_questions(render_questions(overview, some, "Some title"))
    assert sheet.cycles == tuple(map(normal, some))
    assert (sheet.overview, sheet.beside) == (overview, {})


@given(reports)
def test_any_report_is_read_as_it_was_written(report: TaskReport) -> None:
    assert parse_report(render_report(report)) == normal(report)


@given(texts, st.lists(texts, max_size=3), texts)
def test_any_instructions_can_be_read_as_they_were_written(goal: str, files: list[str], rules: str) -> None:
    text = render_instructions("260131-144400", goal, files, rules)
    assert text.startswith("---\ndescription: ")
    assert "\napplyTo: .ralph-sessions/260131-144400/**\n---\n" in text
    page = MarkdownText(text)
    assert block(unguarded(page.body(page.section("context")))) == block(goal)
    assert block(unguarded(page.body(page.section("important constraints")))) == block(rules)
    listed = [one.live[2:] for one in page.body(page.section("target files")) if one.live.strip()]
    assert list(map(said, listed)) == list(filter(None, map(one_line, files)))


# As the source system writes them


def test_a_plan_has_the_goal_in_its_title_or_at_its_end() -> None:
    body = "## Goal & Success Criteria\nA wall that stands"
    assert render_plan("Build a wall", body) == f"# Plan: Build a wall\n\n{body}\n"
    own = f"# My own title\n\n{body}"
    assert render_plan("Build a wall", own) == f"{own}\n\n## Request\n\nBuild a wall\n"
    assert parse_plan("no plan at all\n") == ("", "no plan at all")
    assert parse_plan(f"# PLAN: Build it\r\n\r\n{body}\r\n") == ("Build it", body)


def test_progress_is_written_as_the_source_system_writes_it() -> None:
    tasks = [Task(f"task-{number}", "x", mark=mark) for number, mark in enumerate(Mark, 1)]
    assert render_progress(PLANNED, tasks) == (
        "# Progress Tracking\n\n## Planning Progress\n"
        "- [x] plan-init (Completed)\n- [x] plan-qa-brainstorm (Completed)\n"
        "- [x] plan-qa-research (Completed)\n- [x] plan-breakdown (Completed)\n\n## Implementation Progress\n"
        "- [ ] task-1 (Not Started)\n- [/] task-2 (In Progress)\n- [P] task-3 (Review Pending)\n"
        "- [x] task-4 (Completed)\n- [F] task-5 (Failed)\n- [C] task-6 (Cancelled)\n"
    )


def test_a_line_of_a_later_version_of_the_source_system_is_read() -> None:
    first = "- [F] task-1 (Attempt 2, Iteration 1, failed: 2026-02-01T10:00:00Z)"
    text = f"## Implementation Progress\n{first}\n* [x] task-2\n"
    rows = parse_progress(text).blocks
    assert [(one.key, one.value.mark, one.value.attempt, one.value.note, one.line) for one in rows] == [
        ("task-1", Mark.FAILED, 2, "", 2),
        ("task-2", Mark.DONE, 1, "", 3),
    ]


def test_tasks_in_other_hands_writing_are_read() -> None:
    text = """# Tasks
## Implementation Tasks
* **task-1**: A description that
  goes on in the next line
\t* **type**: Parallelizable (depends on: task-2, task-3)
\t* **Files**:
\t\t* one.py
\t\t* two.py
\t* **Objective**: First
\t\tsecond
\t* **Success Criteria**: In the same line
\t\tand the next
\t* **Wave**: 1
\t* **Inherits From**: task-2 and task-3
- [ ] task-2: With a box
"""
    sheet = parse_tasks(text)
    assert [one.value for one in sheet.blocks] == [
        Task(
            "task-1",
            "A description that goes on in the next line",
            "First\nsecond",
            ("In the same line and the next",),
            ("one.py", "two.py"),
            ("task-2", "task-3"),
            ("task-2", "task-3"),
        ),
        Task("task-2", "With a box"),
    ]
    assert [one.line for one in sheet.blocks] == [3, 15]
    assert sheet.beside["task-1"].text == "\t* **Wave**: 1"


def test_questions_in_the_source_systems_template_are_read() -> None:
    text = """# Q&A Discovery: Walls

## Overview
- **Session ID**: 260131-144400
- **Created**: 2026-01-31
- **Status**: Converged

## Q&A Cycles

### Cycle 1
**Initiated**: 2026-01-31
**Objective**: Initial context

#### Generated Questions
1. **[High Priority]** Which stone?
    - **Category**: Constraints
    - **Priority**: High
    - **Status**: Research Needed
    - **Impact**: The price
    - **Answer**: [To be filled]
    - **Confidence**: [High/Medium/Low if answered]

2. **[Low Priority]** Which colour?
    - **Status**: Answered
    - **Answer**: Red
    - **Confidence**: high

#### Cycle Summary
- **Questions Generated**: 2
- **New Questions Emerged**: 0
- **Key Insights**: Stone is dear

## Key Insights for Plan.md
### Critical Findings
- Stone is dear

### Remaining Unknowns & Risks
- The ground
"""
    sheet = parse_questions(text)
    stone = Question(
        1, "Which stone?", Category.CONSTRAINTS, Priority.HIGH, QuestionStatus.RESEARCH_NEEDED, impact="The price"
    )
    colour = Question(2, "Which colour?", status=QuestionStatus.ANSWERED, answer="Red", confidence=Confidence.HIGH)
    cycle = Cycle(1, (stone, colour), "Stone is dear", ("Stone is dear",), unknowns=("The ground",))
    assert sheet.cycles == (cycle,)
    assert [(one.key, one.line) for one in sheet.blocks] == [("1/1", 15), ("1/2", 23)]
    assert sheet.overview == QuestionsHeader("260131-144400", "2026-01-31", "", AskingState.CONVERGED)
    again = render_questions(sheet.overview, sheet.cycles, "Walls", sheet.beside)
    assert "**Objective**: Initial context" in again
    assert "- **New Questions Emerged**: 0" in again
    assert render_questions(sheet.overview, sheet.cycles, "Walls", parse_questions(again).beside) == again


def test_a_report_in_the_source_systems_template_is_read() -> None:
    text = """# Task Report: task-1 [Rework #2]

---
## PART 1: IMPLEMENTATION REPORT
*(Created by Ralph-Executor)*

### Rework Context (if applicable)
- **Reason for Rework**: It fell

### Objective Recap
A wall

### Success Criteria Status
- ✅ It stands: Met - I leaned on it
- ❌ It is white: Not Met

### Summary of Changes
Stones

### Discovered Tasks
- task-9: Paint it
- a gate

---
## PART 2: REVIEW REPORT
*(Appended by Ralph-Reviewer)*

### Success Criteria Validation
- ✅ **It stands**: Met
  - **Evidence Reviewed**: leaned on it
  - **Finding**: firm

### Issues Identified (if any)
- It is grey

### Recommendation
**Status**: Failed
**Reasoning**: Not white

### Feedback for Next Iteration (if Failed)
Paint it
"""
    report = parse_report(text)
    assert report == TaskReport(
        "task-1",
        2,
        Part1(
            "A wall",
            (CriterionResult("It stands: Met - I leaned on it", True), CriterionResult("It is white: Not Met", False)),
            "Stones",
            "",
            (DiscoveredTask("task-9", "Paint it"), DiscoveredTask("", "a gate")),
            "- **Reason for Rework**: It fell",
        ),
        Part2(
            Verdict.FAILED,
            criteria_results=(CriterionResult("**It stands**: Met", True, "leaned on it", "firm"),),
            issues=("It is grey",),
            feedback="Paint it",
            reasoning="Not white",
        ),
    )
    assert parse_report("# Something else\n") is None
    first, second = text.split("\n---\n## PART 2")[0], parse_report(text.replace("**Status**: Failed", "**Status**: ?"))
    assert second is not None
    assert (second.part2, parse_report(first)) == (None, replace(report, part2=None))


def test_the_first_part_of_a_report_stays_byte_for_byte_when_the_second_is_appended() -> None:
    report = TaskReport("task-1", 1, Part1("A wall", summary_of_changes="Stones"))
    judged = replace(report, part2=Part2(Verdict.QUALIFIED, "It stands"))
    assert render_report(judged).startswith(render_report(report))


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("tasks.task-1-report.md", ("task-1", 1)),
        ("tasks.task-1-report-r2.md", ("task-1", 2)),
        ("tasks.x-report-r2-report.md", ("x-report-r2", 1)),
        ("tasks.x-report-report-r12.md", ("x-report", 12)),
        ("tasks.task-1-report-r1.md", None),
        ("tasks.task-1-report-r02.md", None),
        ("tasks.../x-report.md", None),
        ("tasks.md", None),
    ],
)
def test_a_report_is_known_by_its_name(name: str, of: tuple[str, int] | None) -> None:
    assert report_of(name) == of
    if of is not None:
        assert report_name(*of) == name


# Hostile


LARGE = 10 if EXHAUSTIVE else 2
"""How large the files are; what takes the square of it takes much longer at either size."""
HOSTILE = {
    "nothing": "",
    "NUL": "\0" * 1000,
    "megabytes in one line": "- [x] task-1 " + "x" * 1_000_000 * LARGE,
    "boxes": "## Implementation Progress\n" + "- [ ] " * 5_000 * LARGE,
    "lines": "## Implementation Progress\n## Implementation Tasks\n" + "- [ ] task-1: x\n" * 2_000 * LARGE,
    "nested": "## Implementation Tasks\n" + "".join(f"{' ' * depth}- task-{depth}: x\n" for depth in range(1_000)),
    "fields": "## Implementation Tasks\n- task-1: x\n" + "    - **Files**: a,\n" * 500 * LARGE,
    "ticks": "## Implementation Tasks\n- task-1: x\n    - **Files**: " + "`" * 2_000 * LARGE + ", `" * 2_000 * LARGE,
    "fences": "```\n" * (2_000 * LARGE + 1),
    "comments": "<!--\n" * 2_000 * LARGE,
    "comments in a line": "## Implementation Progress\n- [ ] task-1 " + "<!-- -->" * 10_000 * LARGE,
    "headings": "# x\n## Q&A Cycles\n" + "### Cycle 1\n#### Generated Questions\n1. x\n" * 500 * LARGE,
    "spaces": "## Implementation Tasks\n- task-1:" + " " * 100_000 * LARGE + "\n" + " " * 100_000 * LARGE + "- x",
    "right to left": "## Implementation Progress\n- [x] \u202etask-1\n- [\u202e] task-2\n- [🏴\u200d☠️] task-3\n",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_any_file_is_read_in_bounded_time(text: str) -> None:
    for parse in (parse_progress, parse_tasks, parse_plan, parse_questions, parse_report):
        parse(text)
    beside = parse_progress(text).beside
    assert parse_progress(render_progress(PLANNED, [Task("task-1", "x")], beside)).blocks[0].value.mark is Mark.OPEN


def test_tasks_in_code_and_comments_are_none() -> None:
    inside = "- [x] task-1\n- task-1: x\n"
    for text in (
        f"```\n{inside}```\n",
        f"~~~~ md\n{inside}```\n~~~~\n",
        f"<!--\n{inside}-->\n",
        f"- ```\n{inside}```\n",
    ):
        whole = f"## Implementation Progress\n{text}\n## Implementation Tasks\n{text}"
        assert parse_progress(whole).blocks == ()
        assert parse_tasks(whole).blocks == ()
    unclosed = f"## Implementation Progress\n```\n{inside}"
    assert [one.key for one in parse_progress(unclosed).blocks] == ["task-1"]


# The log


def test_the_log_has_a_line_for_each_move_in_the_seeds_form(sqlite_journal: Journal) -> None:
    system = Actor(ActorKind.SYSTEM, "driver", Channel.DRIVER)

    def event(name: str, task: str | None = None, **facts: str) -> Event:
        return Event(name, system, evidence=Evidence(facts=facts, task=task))

    run = sqlite_journal.create("orchestrator", Event("created", system)).entry.instance
    for one in (
        event("session_resolved", session="new"),
        event("planner_completed", planner="completed"),
        event("task_selected", "task-1"),
        event("executor_completed", executor="completed"),
        Event("noted", system, evidence=Evidence(data={"type": "projected"})),
        event("reviewer_completed", verdict="Failed"),
        event("task_selected", "task-1"),
        event("executor_completed", executor="completed"),
    ):
        sqlite_journal.append(run, one)
    entries = sqlite_journal.history(run)
    machine = sqlite_journal.machine_of(sqlite_journal.instance(run))
    lines = [json.loads(line) for line in transitions(machine, "260131-144400", entries)]
    assert [tuple(line["transition"].values()) for line in lines] == [
        ("Initializing", "Planning", "session_resolved", None, None),
        ("Planning", "Executing", "planner_completed", None, None),
        ("Executing", "Executing", "task_selected", "task-1", 1),
        ("Executing", "Reviewing", "executor_completed", "task-1", 1),
        ("Reviewing", "Executing", "reviewer_completed", "task-1", 1),
        ("Executing", "Executing", "task_selected", "task-1", 2),
        ("Executing", "Reviewing", "executor_completed", "task-1", 2),
    ]
    assert lines[3] == {
        "timestamp": entries[4].time,
        "sessionId": "260131-144400",
        "transition": {
            "from": "Executing",
            "to": "Reviewing",
            "trigger": "executor_completed",
            "taskId": "task-1",
            "attemptNumber": 1,
        },
    }
