"""The input of each role and the answer it must give, with schemas and examples.

    role         is given                                      answers
    planner      SESSION_PATH MODE USER_REQUEST [CONTEXT]      the plan or a part of it, questions, or what blocks it
    questioner   SESSION_PATH MODE CYCLE_NUMBER                questions, with answers where it has found them
    executor     SESSION_PATH TASK_ID ATTEMPT_NUMBER           what it did for one task, and whether that is all
    reviewer     SESSION_PATH TASK_ID REPORT_PATH MODE         a verdict on one attempt, criterion by criterion
    holistic     SESSION_PATH MODE                             whether the goal is met, and which tasks are missing

An answer is what the session keeps of it (`values`) and what only the driver needs. The schemas ask for every field and
for no other, as the agents' own schema options require. What is read is wider: a field that has nothing to say may be
missing or null, and an unknown one is dropped, because asking again costs a whole run of an agent. Only a name that
looks like a known one that is missing is a fault: dropping `dependsOn` would lose the order of the tasks silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from interlock.decoding import decode
from interlock.work.orchestration.values import Cycle, DiscoveredTask, Part1, Part2, PlannedTask, Question, Verdict

__all__ = [
    "ANSWERS",
    "Answer",
    "ExecutorAnswer",
    "ExecutorStatus",
    "HolisticAnswer",
    "Input",
    "PlannerAnswer",
    "PlannerStatus",
    "QuestionerAnswer",
    "QuestionerStatus",
    "ReviewerAnswer",
    "ReviewerStatus",
    "Role",
    "RoleMode",
    "example_of",
    "schema_of",
]


class Role(StrEnum):
    """The role that is asked. The holistic check is the reviewer's too, with another answer."""

    PLANNER = "planner"
    QUESTIONER = "questioner"
    EXECUTOR = "executor"
    REVIEWER = "reviewer"
    HOLISTIC = "holistic"

    @property
    def performer(self) -> Role:
        """The one of the four whose file, agent and model are used."""
        return Role.REVIEWER if self is Role.HOLISTIC else self

    @property
    def called(self) -> str:
        """Its name in a sentence."""
        return "reviewer of the whole" if self is Role.HOLISTIC else str(self)


class RoleMode(StrEnum):
    """The kind of work that the planner, the questioner or the reviewer is asked for."""

    INITIALIZE = "INITIALIZE"
    UPDATE = "UPDATE"
    TASK_BREAKDOWN = "TASK_BREAKDOWN"
    QA_COORDINATE = "QA_COORDINATE"
    """To continue after a cycle of questions and answers; `DISCOVERY` in the source system's contracts."""
    BRAINSTORM = "BRAINSTORM"
    RESEARCH = "RESEARCH"
    TASK_REVIEW = "TASK_REVIEW"
    SESSION_REVIEW = "SESSION_REVIEW"
    """The holistic check."""


class Input(msgspec.Struct, frozen=True):
    """The input of a role; in capitals, its names are the keys of the prompt, and an empty one is left out."""

    session_path: str
    task_id: str = ""
    attempt_number: int = 0
    report_path: str = ""
    mode: RoleMode | None = None
    cycle_number: int = 0
    user_request: str = ""
    context: str = ""
    """The reason why the planner is asked again: what blocked a task, what is missing, what a person added."""


# What each answers


class PlannerStatus(StrEnum):
    """The outcome of a planner."""

    COMPLETED = "completed"
    BLOCKED = "blocked"
    NEEDS_CLARIFICATION = "needs_clarification"
    NEEDS_QA_CYCLE = "needs_qa_cycle"


class QuestionerStatus(StrEnum):
    """The outcome of a questioner."""

    COMPLETED = "completed"
    BLOCKED = "blocked"


class ExecutorStatus(StrEnum):
    """The outcome of an attempt at a task."""

    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"


class ReviewerStatus(StrEnum):
    """The outcome of a reviewer."""

    COMPLETED = "completed"
    ERROR = "error"
    """It could not judge."""


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
        """The cycle as the session keeps it."""
        return Cycle(
            number,
            self.questions,
            self.summary,
            self.critical_findings,
            self.validated_assumptions,
            self.invalidated_assumptions,
            self.remaining_unknowns,
            self.recommendations,
        )


class ExecutorAnswer(Part1, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """The result of one attempt at a task."""

    status: ExecutorStatus
    task_id: str
    success_criteria_met: bool
    blockers: tuple[str, ...] = ()

    def part1(self) -> Part1:
        """The part of it that the report keeps."""
        return _kept(self, Part1)


class ReviewerAnswer(Part2, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """A verdict on one attempt at a task."""

    status: ReviewerStatus
    task_id: str
    verdict: Verdict | None = None  # type: ignore[assignment]
    """None where it could not judge."""

    def part2(self) -> Part2:
        """The part of it that the report keeps; a reviewer that could not judge has qualified nothing."""
        return _kept(msgspec.structs.replace(self, verdict=self.verdict or Verdict.FAILED), Part2)


_Part = TypeVar("_Part", Part1, Part2)


def _kept(answer: _Part, kind: type[_Part]) -> _Part:
    return kind(**{name: getattr(answer, name) for name in kind.__struct_fields__})


class HolisticAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The holistic check: whether the goal is met, and the tasks that are missing where it is not."""

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


def example_of(role: Role) -> dict[str, Any]:
    """One answer of a role, as its prompt shows it. Repeated word for word, it is not an answer."""
    return _examples()[role]


@cache
def _examples() -> dict[str, dict[str, Any]]:
    content = (Path(__file__).with_name("roles") / "examples.json").read_bytes()
    return decode(content, dict[str, dict[str, Any]])


def schema_of(role: Role) -> dict[str, Any]:
    """The JSON Schema of a role's answer: an object at its root, every field required, none besides.

    Agents answer in the order of the fields, so it is that of the example: the verdict comes before its reasons.
    """
    kind = ANSWERS[role]
    _, components = msgspec.json.schema_components([kind])
    parts = {name: _whole(part) for name, part in components.items()}
    whole = parts.pop(kind.__name__)
    properties = {name: whole["properties"][name] for name in example_of(role)}
    return {**whole, "properties": properties, "required": [*properties], "$defs": parts}


def _whole(part: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type without our own comments and without defaults."""
    kept = {key: value for key, value in part.items() if key not in ("title", "description")}
    if "properties" not in kept:
        return {"type": "string", **kept}
    properties = {
        name: {key: value for key, value in one.items() if key != "default"} for name, one in kept["properties"].items()
    }
    return {**kept, "properties": properties, "required": [*properties], "additionalProperties": False}
