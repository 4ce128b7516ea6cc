"""Answers of every role, made for the tests: valid ones by Hypothesis, and the plain JSON of any."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from interlock.work.orchestration.contracts import (
    ANSWERS,
    Answer,
    ExecutorAnswer,
    ExecutorStatus,
    HolisticAnswer,
    PlannerAnswer,
    PlannerStatus,
    QuestionerAnswer,
    QuestionerStatus,
    ReviewerAnswer,
    ReviewerStatus,
    Role,
)
from interlock.work.orchestration.rules import Context
from interlock.work.orchestration.values import (
    Category,
    Confidence,
    CriterionResult,
    DiscoveredTask,
    Plan,
    PlannedTask,
    Priority,
    Question,
    QuestionStatus,
    Task,
    Verdict,
)

TASK = Task("task-1", "Greet by name", criteria=("`greet Ann` prints it", "the tests pass"))
PLAN = Plan("Greet by name", "## Approach\n\nA parameter.", (TASK, Task("task-2", "Help", criteria=("it helps",))))
CONTEXTS = {
    Role.PLANNER: Context(),
    Role.QUESTIONER: Context(plan=PLAN, mode="BRAINSTORM"),
    Role.EXECUTOR: Context(plan=PLAN, task=TASK),
    Role.REVIEWER: Context(plan=PLAN, task=TASK),
    Role.HOLISTIC: Context(plan=PLAN),
}

# Line breaks and tabs, quotes, braces and backslashes, letters of every script; what no text may hold is cleaned.
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t{}[]\"'\\`"), max_size=40).map(
    lambda text: "".join(
        "?" if one in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" else one for one in text
    )
)
WORDS = TEXTS.map(lambda text: f"x{text}")


def texts(most: int = 3) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(TEXTS, max_size=most).map(tuple)


def words(least: int = 1) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(WORDS, min_size=least, max_size=3).map(tuple)


@st.composite
def planners(draw: st.DrawFn) -> PlannerAnswer:
    status = draw(st.sampled_from(PlannerStatus))
    ids = [f"task-{number}" for number in range(1, draw(st.integers(1, 6)) + 1)]
    tasks = [
        PlannedTask(
            id_,
            draw(WORDS),
            draw(TEXTS),
            draw(words()),
            draw(texts()),
            # Only tasks before it: no circles.
            *(tuple(draw(st.lists(st.sampled_from(ids[:place]), max_size=3))) if place else () for _ in range(2)),
        )
        for place, id_ in enumerate(ids)
    ]
    is_complete = status is PlannerStatus.COMPLETED
    return PlannerAnswer(
        status,
        draw(WORDS),
        draw(WORDS),
        tuple(tasks) if is_complete else (),
        (),
        () if is_complete else draw(words()),
        draw(words()),
        draw(texts()),
    )


@st.composite
def questions(draw: st.DrawFn, number: int) -> Question:
    return Question(
        number,
        draw(WORDS),
        draw(st.sampled_from(Category)),
        draw(st.sampled_from(Priority)),
        draw(st.sampled_from(QuestionStatus)),
        draw(TEXTS),
        draw(WORDS),
        draw(WORDS),
        draw(st.sampled_from(Confidence)),
    )


@st.composite
def questioners(draw: st.DrawFn) -> QuestionerAnswer:
    asked = tuple(draw(questions(number)) for number in range(1, draw(st.integers(1, 4)) + 1))
    return QuestionerAnswer(
        draw(st.sampled_from(QuestionerStatus)),
        asked,
        draw(TEXTS),
        draw(texts()),
        draw(texts()),
        draw(texts()),
        draw(texts()),
        draw(texts()),
        draw(words()),
    )


FOUND = st.lists(
    st.builds(DiscoveredTask, st.integers(10, 99).map(lambda number: f"task-{number}"), WORDS, WORDS),
    max_size=3,
    unique_by=lambda one: one.id,
).map(tuple)


@st.composite
def executors(draw: st.DrawFn) -> ExecutorAnswer:
    status = draw(st.sampled_from(ExecutorStatus))
    met = status is ExecutorStatus.COMPLETED
    results = tuple(CriterionResult(one, met or draw(st.booleans()), draw(TEXTS), draw(TEXTS)) for one in TASK.criteria)
    return ExecutorAnswer(
        status=status,
        task_id=TASK.id,
        success_criteria_met=met or draw(st.booleans()),
        objective_recap=draw(TEXTS),
        rework_context=draw(TEXTS),
        criteria_status=results,
        summary_of_changes=draw(TEXTS),
        verification_results=draw(TEXTS),
        discovered_tasks=draw(FOUND),
        blockers=draw(words()),
    )


@st.composite
def reviewers(draw: st.DrawFn) -> ReviewerAnswer:
    status = draw(st.sampled_from(ReviewerStatus))
    verdict = draw(st.sampled_from(Verdict)) if status is ReviewerStatus.COMPLETED else None
    is_met = verdict is Verdict.QUALIFIED
    results = tuple(
        CriterionResult(one, is_met or draw(st.booleans()), draw(WORDS), draw(TEXTS)) for one in TASK.criteria
    )
    return ReviewerAnswer(
        status=status,
        task_id=TASK.id,
        verdict=verdict,
        review_summary=draw(TEXTS),
        criteria_results=results,
        quality_assessment=draw(TEXTS),
        issues=draw(words()),
        validation_actions=draw(texts()),
        feedback=draw(WORDS),
        reasoning=draw(TEXTS),
        discovered_tasks=draw(FOUND),
    )


@st.composite
def holistics(draw: st.DrawFn) -> HolisticAnswer:
    gaps = draw(FOUND)
    return HolisticAnswer(not gaps, draw(TEXTS), gaps)


ANSWERING: dict[Role, st.SearchStrategy[Any]] = {
    Role.PLANNER: planners(),
    Role.QUESTIONER: questioners(),
    Role.EXECUTOR: executors(),
    Role.REVIEWER: reviewers(),
    Role.HOLISTIC: holistics(),
}


@st.composite
def answered(draw: st.DrawFn) -> tuple[Role, Answer]:
    """A role, and a valid answer of it."""
    role = draw(st.sampled_from(Role))
    return role, draw(ANSWERING[role])


def plain(answer: Answer | msgspec.Struct) -> dict[str, Any]:
    """An answer as JSON has it, with every field."""
    made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(_full(answer)))
    return made


def _full(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return {name: _full(getattr(value, name)) for name in value.__struct_fields__}
    return [_full(one) for one in value] if isinstance(value, tuple) else value


assert ANSWERING.keys() == ANSWERS.keys()
