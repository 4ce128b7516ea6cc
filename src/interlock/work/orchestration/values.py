"""PURE. The values of a run of the orchestrator: the plan, its tasks with their marks, questions, and reports.

All of it goes into entries of the journal and from there into the files of the session. Numbers count from 1.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import msgspec

__all__ = [
    "CLOSED_MARKS",
    "OPEN_MARKS",
    "TASK_ID",
    "Category",
    "Confidence",
    "CriterionResult",
    "Cycle",
    "DiscoveredTask",
    "Mark",
    "Part1",
    "Part2",
    "Plan",
    "PlannedTask",
    "Priority",
    "Question",
    "QuestionStatus",
    "Task",
    "TaskReport",
    "Verdict",
]

TASK_ID: Final = re.compile(r"task-(?=.{1,59}\Z)[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")
"""The id of a task: `task-7`, `task-add-login`. It is part of names of files, so two must differ in more than
capitals."""


class Mark(StrEnum):
    """The mark in a task's box."""

    OPEN = " "
    WORKING = "/"
    PENDING = "P"
    """Done, as its executor says; the reviewer has not judged it yet."""
    DONE = "x"
    FAILED = "F"
    """It waits for a person."""
    CLOSED = "C"
    """It will not be done."""


CLOSED_MARKS: Final = frozenset({Mark.DONE, Mark.CLOSED})
"""The marks of tasks for which nothing is left to do."""
OPEN_MARKS: Final = frozenset({Mark.OPEN, Mark.WORKING})
"""The marks of tasks that are still to be done."""


class Category(StrEnum):
    """The subject of a question."""

    TECHNICAL = "Technical"
    REQUIREMENTS = "Requirements"
    CONSTRAINTS = "Constraints"
    ASSUMPTIONS = "Assumptions"
    RISKS = "Risks"


class Priority(StrEnum):
    """The importance of an answer."""

    HIGH = "High"
    MEDIUM = "Medium"
    LOW = "Low"


class QuestionStatus(StrEnum):
    """The state of a question."""

    UNANSWERED = "Unanswered"
    RESEARCH_NEEDED = "Research Needed"
    ANSWERED = "Answered"


class Confidence(StrEnum):
    """The confidence in an answer."""

    HIGH = "High"
    MEDIUM = "Medium"
    LOW = "Low"
    UNKNOWN = "Unknown"


class Verdict(StrEnum):
    """The decision of a reviewer."""

    QUALIFIED = "Qualified"
    FAILED = "Failed"


class PlannedTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One piece of work: small enough for one executor, with criteria that a reviewer can check."""

    id: str
    description: str
    objective: str = ""
    criteria: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    """The tasks that must be closed before it begins."""
    inherits: tuple[str, ...] = ()
    """The tasks whose reports its executor is given."""


class Task(PlannedTask, frozen=True, omit_defaults=True, forbid_unknown_fields=False):
    """A task of a plan, with its mark."""

    mark: Mark = Mark.OPEN
    attempt: int = 1
    note: str = ""
    """A person's note behind it."""


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The goal, and the way to it."""

    goal: str
    text: str = ""
    """The body of `plan.md`, as the planner gave it."""
    tasks: tuple[Task, ...] = ()
    version: int = 1
    """One more with each plan that was accepted."""


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question that the plan depends on, with its answer once it is known."""

    number: int
    text: str
    category: Category = Category.TECHNICAL
    priority: Priority = Priority.MEDIUM
    status: QuestionStatus = QuestionStatus.UNANSWERED
    impact: str = ""
    """The part of the plan that depends on it."""
    answer: str = ""
    source: str = ""
    """The source of the answer: a file and a line, a document, a person."""
    confidence: Confidence = Confidence.UNKNOWN


class Cycle(msgspec.Struct, frozen=True, omit_defaults=True):
    """One round of questions and answers."""

    number: int
    questions: tuple[Question, ...] = ()
    summary: str = ""
    findings: tuple[str, ...] = ()
    """The critical ones."""
    validated: tuple[str, ...] = ()
    """Assumptions that turned out to be true."""
    invalidated: tuple[str, ...] = ()
    """Assumptions that turned out to be wrong."""
    unknowns: tuple[str, ...] = ()
    """The questions that are still open, and their risks."""
    recommendations: tuple[str, ...] = ()


class CriterionResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The finding on one criterion of a task."""

    criterion: str
    met: bool
    evidence: str = ""
    finding: str = ""


class DiscoveredTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task that was not planned, and that an executor or a reviewer found to be needed."""

    id: str
    """The finder's name for it; the plan may give it another."""
    description: str
    rationale: str = ""


class Part1(msgspec.Struct, frozen=True, omit_defaults=True):
    """The executor's part of a report."""

    objective_recap: str = ""
    criteria_status: tuple[CriterionResult, ...] = ()
    summary_of_changes: str = ""
    verification_results: str = ""
    discovered_tasks: tuple[DiscoveredTask, ...] = ()
    rework_context: str = ""
    """From the second attempt on: what was wrong, and what is done about it."""


class Part2(msgspec.Struct, frozen=True, omit_defaults=True):
    """The reviewer's part of a report."""

    verdict: Verdict
    review_summary: str = ""
    criteria_results: tuple[CriterionResult, ...] = ()
    quality_assessment: str = ""
    issues: tuple[str, ...] = ()
    validation_actions: tuple[str, ...] = ()
    """The checks that the reviewer made."""
    feedback: str = ""
    """The work for the next attempt."""
    reasoning: str = ""
    discovered_tasks: tuple[DiscoveredTask, ...] = ()


class TaskReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt at a task: what its executor did, and what the reviewer made of it."""

    task: str
    attempt: int
    part1: Part1
    part2: Part2 | None = None
    """None until there is a verdict."""
