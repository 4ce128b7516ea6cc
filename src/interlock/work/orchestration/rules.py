"""PURE. Checks of an answer of the right shape: it is about what was asked, and does not contradict itself.

No fault here needs work to be done again: all of them are fixed by a better answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from interlock.work.orchestration.contracts import (
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
    RoleMode,
)
from interlock.work.orchestration.planning import plan_faults
from interlock.work.orchestration.shapes import Fault
from interlock.work.orchestration.values import TASK_ID, DiscoveredTask, Plan, Question, QuestionStatus, Task, Verdict

__all__ = ["MAX_BYTES", "Context", "faults_of"]

MAX_BYTES: Final = 200 * 1024
"""The maximum bytes of an answer without the tasks of a plan: it becomes one entry of the journal."""
_MAX_QUESTIONS: Final = 100
_SHOWN: Final = 80


class Context(msgspec.Struct, frozen=True):
    """The facts of an invocation that an answer has to agree with."""

    plan: Plan | None = None
    task: Task | None = None
    """The task that an executor or a reviewer was asked about."""
    mode: str = ""
    questions: tuple[Question, ...] = ()
    """The questions that a questioner was given."""


def faults_of(answer: Answer, context: Context) -> Iterator[Fault]:
    """The reasons why an answer cannot be taken, each with its place."""
    yield from _size_faults(answer)
    if isinstance(answer, PlannerAnswer):
        yield from _planner_faults(answer, context)
    elif isinstance(answer, QuestionerAnswer):
        yield from _questioner_faults(answer, context)
    elif isinstance(answer, ExecutorAnswer):
        yield from _executor_faults(answer, context)
    elif isinstance(answer, ReviewerAnswer):
        yield from _reviewer_faults(answer, context)
    else:
        yield from _holistic_faults(answer, context)


def _size_faults(answer: Answer) -> Iterator[Fault]:
    rest = msgspec.structs.replace(answer, tasks=()) if isinstance(answer, PlannerAnswer) else answer
    size = len(msgspec.json.encode(rest))
    if size > MAX_BYTES:
        aside = ", `tasks` aside" if isinstance(answer, PlannerAnswer) else ""
        yield Fault(
            "$", f"has {size} bytes of JSON{aside}", f"It may have {MAX_BYTES}: say what matters, in fewer words"
        )


def _planner_faults(answer: PlannerAnswer, context: Context) -> Iterator[Fault]:
    yield from plan_faults(context.plan, answer)
    asks = (PlannerStatus.NEEDS_QA_CYCLE, PlannerStatus.NEEDS_CLARIFICATION)
    if answer.status in asks and not _any_word(answer.questions):
        yield Fault("$.questions", f"is empty, and the status is `{answer.status}`", "Write what you need answered")
    if answer.status is PlannerStatus.BLOCKED:
        yield from _blocked_faults(answer.blockers)


def _blocked_faults(blockers: Iterable[str]) -> Iterator[Fault]:
    if not _any_word(blockers):
        yield Fault("$.blockers", "is empty, and the status is `blocked`", "Say what blocks you, and what would help")


def _questioner_faults(answer: QuestionerAnswer, context: Context) -> Iterator[Fault]:
    if answer.status is QuestionerStatus.BLOCKED:
        yield from _blocked_faults(answer.blockers)
        return
    if len(answer.questions) > _MAX_QUESTIONS:
        wrong = f"has {len(answer.questions)} questions"
        yield Fault("$.questions", wrong, f"Keep those that the plan depends on: {_MAX_QUESTIONS} at most")
    if not answer.questions:
        yield Fault("$.questions", "is empty", "Give every question of this cycle, with its answer where you have one")
    yield from _question_faults(answer.questions)
    if context.mode == RoleMode.RESEARCH:
        given = {one.number for one in answer.questions}
        lost = [str(one.number) for one in context.questions if one.number not in given]
        if lost:
            wrong = f"lacks the questions with the numbers {', '.join(lost)}"
            yield Fault("$.questions", wrong, "Repeat each that you were given, also where you found no answer")


def _question_faults(questions: tuple[Question, ...]) -> Iterator[Fault]:
    seen: dict[int, int] = {}
    for place, one in enumerate(questions):
        path = f"$.questions[{place}]"
        if one.number in seen:
            wrong = f"is {one.number}, as `$.questions[{seen[one.number]}].number` is"
            yield Fault(f"{path}.number", wrong, "Give each question a number of its own")
        elif not 1 <= one.number <= 100_000:
            yield Fault(f"{path}.number", "is out of range", "Count from 1")
        seen.setdefault(one.number, place)
        if not one.text.strip():
            yield Fault(f"{path}.text", "is empty", "Write the question")
        for name in ("answer", "source"):
            if one.status is QuestionStatus.ANSWERED and not getattr(one, name).strip():
                wrong = f"is empty, and the status is `{QuestionStatus.ANSWERED}`"
                yield Fault(f"{path}.{name}", wrong, f"Give the {name}, or say `{QuestionStatus.RESEARCH_NEEDED}`")


def _executor_faults(answer: ExecutorAnswer, context: Context) -> Iterator[Fault]:
    yield from _task_faults(answer.task_id, context)
    yield from _found_faults("discovered_tasks", answer.discovered_tasks, context)
    if answer.status is ExecutorStatus.BLOCKED:
        yield from _blocked_faults(answer.blockers)
    if answer.status is not ExecutorStatus.COMPLETED:
        return
    either = "Continue until it is, or answer `failed` and say what is missing"
    if not answer.success_criteria_met:
        yield Fault("$.success_criteria_met", "is false, and the status is `completed`", either)
    for place, one in enumerate(answer.criteria_status):
        if not one.met:
            wrong = "is false, and the status is `completed`"
            yield Fault(f"$.criteria_status[{place}].met", wrong, either)


def _reviewer_faults(answer: ReviewerAnswer, context: Context) -> Iterator[Fault]:
    yield from _task_faults(answer.task_id, context)
    yield from _found_faults("discovered_tasks", answer.discovered_tasks, context)
    says_why = _any_word((answer.feedback, answer.reasoning, *answer.issues))
    if answer.status is ReviewerStatus.ERROR:
        if not says_why:
            yield Fault("$.reasoning", "is empty, and the status is `error`", "Say why you could not judge")
    elif answer.verdict is None:
        yield Fault("$.verdict", "is missing, and the status is `completed`", 'Give "Qualified" or "Failed"')
    elif answer.verdict is Verdict.QUALIFIED:
        yield from _qualified_faults(answer, context)
    elif not _any_word((answer.feedback, *answer.issues)):
        yield Fault("$.feedback", 'is empty, and the verdict is "Failed"', "Say what the next attempt must do")


def _qualified_faults(answer: ReviewerAnswer, context: Context) -> Iterator[Fault]:
    for place, one in enumerate(answer.criteria_results):
        path = f"$.criteria_results[{place}]"
        if not one.met:
            wrong = 'is false, and the verdict is "Qualified"'
            yield Fault(f"{path}.met", wrong, 'Every criterion must be met, or the verdict is "Failed"')
        elif not one.evidence.strip():
            yield Fault(f"{path}.evidence", "is empty", "Name what shows it: a file and a line, a test, a command")
    wanted = dict.fromkeys(context.task.criteria if context.task else ())
    judged = {_plain(one.criterion) for one in answer.criteria_results}
    if len(judged) < len(wanted):
        lost = [one for one in wanted if _plain(one) not in judged]
        shown = "; ".join(f"“{one[:_SHOWN]}”" for one in lost[:10])
        wrong = f"judges {len(judged)} of {len(wanted)} criteria"
        yield Fault("$.criteria_results", wrong, f"Judge each, in the task's own words. Not judged: {shown}")


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _holistic_faults(answer: HolisticAnswer, context: Context) -> Iterator[Fault]:
    yield from _found_faults("gaps", answer.gaps, context)
    if answer.met and answer.gaps:
        yield Fault("$.met", "is true, and there are gaps", "Say false, or leave out what the goal does not need")
    if not answer.met and not answer.gaps:
        yield Fault("$.gaps", "is empty, and the goal is not met", "Name each missing task, and why the goal needs it")
    for place, one in enumerate(answer.gaps):
        if not one.rationale.strip():
            yield Fault(f"$.gaps[{place}].rationale", "is empty", "Say which part of the goal is not met without it")


# What several of them have


def _task_faults(given: str, context: Context) -> Iterator[Fault]:
    if context.task is None or given == context.task.id:
        return
    known = {one.id for one in context.plan.tasks} if context.plan else set()
    which = "another task" if given in known else "no task of the plan"
    wrong = f"is {given[:_SHOWN]!r}, which is {which}"
    yield Fault("$.task_id", wrong, f"You were asked about {context.task.id!r}, and about nothing else")


def _found_faults(name: str, found: tuple[DiscoveredTask, ...], context: Context) -> Iterator[Fault]:
    known = {one.id.casefold() for one in context.plan.tasks} if context.plan else set()
    seen: set[str] = set()
    for place, one in enumerate(found):
        path, folded = f"$.{name}[{place}]", one.id.casefold()
        if not TASK_ID.fullmatch(one.id):
            yield Fault(f"{path}.id", f"is {one.id[:_SHOWN]!r}", "It must look like `task-7` or `task-add-login`")
        elif folded in known:
            yield Fault(f"{path}.id", f"is {one.id!r}, which the plan has", "Leave it out, or take an id that is new")
        elif folded in seen:
            yield Fault(f"{path}.id", f"is {one.id!r} a second time", "Give each task an id of its own")
        seen.add(folded)
        if not one.description.strip():
            yield Fault(f"{path}.description", "is empty", "Say in one line what is to be done")


def _any_word(texts: Iterable[str]) -> bool:
    return any(one.strip() for one in texts)
