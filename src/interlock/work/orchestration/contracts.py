"""PURE. What each role is given, and what it must answer.

    role         is given                                      answers
    planner      SESSION_PATH MODE USER_REQUEST [CONTEXT]      the plan or a part of it, questions, or what blocks it
    questioner   SESSION_PATH MODE CYCLE_NUMBER                questions, with answers where it has found them
    executor     SESSION_PATH TASK_ID ATTEMPT_NUMBER           what it did for one task, and whether that is all
    reviewer     SESSION_PATH TASK_ID REPORT_PATH              a verdict on one attempt, criterion by criterion
    holistic     SESSION_PATH MODE                             whether the goal is met, and which tasks are missing

The schemas ask for every field and for no other, as the agents' own schema options want it. What is read is wider: a
field that has nothing to say may be missing or null, and one that we do not know is dropped, because asking again costs
a whole run of an agent. Only a name that looks like a known one that is missing is complained about: dropping
`dependsOn` would lose the order of the tasks without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from interlock.work.orchestration.values import CriterionResult, Cycle, DiscoveredTask, Part1, Part2, Question, Verdict

__all__ = [
    "ANSWERS",
    "Answer",
    "ExecutorAnswer",
    "ExecutorInput",
    "ExecutorStatus",
    "HolisticAnswer",
    "HolisticInput",
    "Input",
    "PlannedTask",
    "PlannerAnswer",
    "PlannerInput",
    "PlannerMode",
    "PlannerStatus",
    "QuestionerAnswer",
    "QuestionerInput",
    "QuestionerMode",
    "QuestionerStatus",
    "ReviewerAnswer",
    "ReviewerInput",
    "ReviewerMode",
    "ReviewerStatus",
    "Role",
    "schema_of",
]


class Role(StrEnum):
    """Who is asked. The holistic check is the reviewer's too, with another answer."""

    PLANNER = "planner"
    QUESTIONER = "questioner"
    EXECUTOR = "executor"
    REVIEWER = "reviewer"
    HOLISTIC = "holistic"

    @property
    def performer(self) -> Role:
        """Which of the four it is: whose file, agent and model are used."""
        return Role.REVIEWER if self is Role.HOLISTIC else self

    @property
    def called(self) -> str:
        """What it is called in a sentence."""
        return "reviewer of the whole" if self is Role.HOLISTIC else str(self)


class PlannerMode(StrEnum):
    """What the planner is asked for."""

    INITIALIZE = "INITIALIZE"
    UPDATE = "UPDATE"
    TASK_BREAKDOWN = "TASK_BREAKDOWN"
    QA_COORDINATE = "QA_COORDINATE"
    """To go on after a cycle of questions and answers; `DISCOVERY` in the source system's contracts."""


class PlannerStatus(StrEnum):
    """How a planner ends."""

    COMPLETED = "completed"
    BLOCKED = "blocked"
    NEEDS_CLARIFICATION = "needs_clarification"
    NEEDS_QA_CYCLE = "needs_qa_cycle"


class QuestionerMode(StrEnum):
    """What the questioner is asked for: to find what is not known, or to find it out."""

    BRAINSTORM = "BRAINSTORM"
    RESEARCH = "RESEARCH"


class QuestionerStatus(StrEnum):
    """How a questioner ends."""

    COMPLETED = "completed"
    BLOCKED = "blocked"


class ExecutorStatus(StrEnum):
    """How an attempt at a task ends."""

    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"


class ReviewerMode(StrEnum):
    """What the reviewer is asked for."""

    TASK_REVIEW = "TASK_REVIEW"
    SESSION_REVIEW = "SESSION_REVIEW"
    """The holistic check."""


class ReviewerStatus(StrEnum):
    """How a reviewer ends."""

    COMPLETED = "completed"
    ERROR = "error"
    """It could not judge."""


# What each is given: the names in capitals are the keys of its prompt


class PlannerInput(msgspec.Struct, frozen=True):
    """For the planner."""

    session_path: str
    mode: PlannerMode
    user_request: str
    context: str = ""
    """Why it is asked again: what blocked a task, what is missing, what a person added."""


class QuestionerInput(msgspec.Struct, frozen=True):
    """For the questioner."""

    session_path: str
    mode: QuestionerMode
    cycle_number: int


class ExecutorInput(msgspec.Struct, frozen=True):
    """For the executor."""

    session_path: str
    task_id: str
    attempt_number: int


class ReviewerInput(msgspec.Struct, frozen=True):
    """For the reviewer of a task."""

    session_path: str
    task_id: str
    report_path: str
    mode: ReviewerMode = ReviewerMode.TASK_REVIEW


class HolisticInput(msgspec.Struct, frozen=True):
    """For the reviewer of the whole."""

    session_path: str
    mode: ReviewerMode = ReviewerMode.SESSION_REVIEW


Input = PlannerInput | QuestionerInput | ExecutorInput | ReviewerInput | HolisticInput


# What each answers


class PlannedTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task of a plan."""

    id: str
    description: str
    objective: str = ""
    criteria: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    inherits: tuple[str, ...] = ()


class PlannerAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan, what must be asked first, or what blocks it. Tasks that are not named stay as they are."""

    status: PlannerStatus
    goal: str = ""
    plan: str = ""
    tasks: tuple[PlannedTask, ...] = ()
    """New ones, and open ones that change."""
    closes: tuple[str, ...] = ()
    """Open tasks that are no longer needed."""
    questions: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    next_actions: tuple[str, ...] = ()


class QuestionerAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One cycle of questions, with answers where there are any."""

    status: QuestionerStatus
    questions: tuple[Question, ...] = ()
    summary: str = ""
    critical_findings: tuple[str, ...] = ()
    validated_assumptions: tuple[str, ...] = ()
    invalidated_assumptions: tuple[str, ...] = ()
    remaining_unknowns: tuple[str, ...] = ()
    recommendations: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()

    def cycle(self, number: int) -> Cycle:
        """As the session keeps it."""
        return Cycle(
            number,
            self.questions,
            self.summary,
            findings=self.critical_findings,
            validated=self.validated_assumptions,
            invalidated=self.invalidated_assumptions,
            unknowns=self.remaining_unknowns,
            recommendations=self.recommendations,
        )


class ExecutorAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an attempt at a task came to."""

    status: ExecutorStatus
    task_id: str
    success_criteria_met: bool
    objective_recap: str = ""
    rework_context: str = ""
    criteria_status: tuple[CriterionResult, ...] = ()
    summary_of_changes: str = ""
    verification_results: str = ""
    discovered_tasks: tuple[DiscoveredTask, ...] = ()
    blockers: tuple[str, ...] = ()

    def part1(self) -> Part1:
        """As the report keeps it."""
        return Part1(
            objective_recap=self.objective_recap,
            criteria_status=self.criteria_status,
            summary_of_changes=self.summary_of_changes,
            verification_results=self.verification_results,
            discovered_tasks=self.discovered_tasks,
            rework_context=self.rework_context,
        )


class ReviewerAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A verdict on one attempt at a task."""

    status: ReviewerStatus
    task_id: str
    verdict: Verdict | None = None
    """None where it could not judge."""
    review_summary: str = ""
    criteria_results: tuple[CriterionResult, ...] = ()
    quality_assessment: str = ""
    issues: tuple[str, ...] = ()
    validation_actions: tuple[str, ...] = ()
    feedback: str = ""
    reasoning: str = ""
    discovered_tasks: tuple[DiscoveredTask, ...] = ()

    def part2(self) -> Part2:
        """As the report keeps it; a reviewer that could not judge has qualified nothing."""
        return Part2(
            verdict=self.verdict or Verdict.FAILED,
            review_summary=self.review_summary,
            criteria_results=self.criteria_results,
            quality_assessment=self.quality_assessment,
            issues=self.issues,
            validation_actions=self.validation_actions,
            feedback=self.feedback,
            reasoning=self.reasoning,
            discovered_tasks=self.discovered_tasks,
        )


class HolisticAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the goal is met, and the tasks that are missing where it is not."""

    met: bool
    summary: str
    gaps: tuple[DiscoveredTask, ...] = ()


Answer = PlannerAnswer | QuestionerAnswer | ExecutorAnswer | ReviewerAnswer | HolisticAnswer

ANSWERS: Final[Mapping[Role, type[Answer]]] = {
    Role.PLANNER: PlannerAnswer,
    Role.QUESTIONER: QuestionerAnswer,
    Role.EXECUTOR: ExecutorAnswer,
    Role.REVIEWER: ReviewerAnswer,
    Role.HOLISTIC: HolisticAnswer,
}


def schema_of(role: Role) -> dict[str, Any]:
    """The JSON Schema of a role's answer: an object at its root, every field required, none besides."""
    kind = ANSWERS[role]
    _, components = msgspec.json.schema_components([kind])
    parts = {name: _whole(part) for name, part in components.items()}
    return {**parts.pop(kind.__name__), "$defs": parts}


def _whole(part: dict[str, Any]) -> dict[str, Any]:
    """What our own code comments on is not the agents' business, and a default is no answer."""
    kept = {key: value for key, value in part.items() if key not in ("title", "description")}
    if "properties" not in kept:
        return {"type": "string", **kept}
    properties = {
        name: {key: value for key, value in one.items() if key != "default"} for name, one in kept["properties"].items()
    }
    return {**kept, "properties": properties, "required": [*properties], "additionalProperties": False}
