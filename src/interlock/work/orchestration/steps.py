"""What a run does in each state: one function a state. It asks a role, or our verifiers, and says what came of it.

None means that nothing came of it: it was stopped or has to wait; the next pass does it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from interlock.machine import Event, Evidence
from interlock.work.errands import DRIVER
from interlock.work.orchestration.contracts import (
    ExecutorAnswer,
    ExecutorInput,
    HolisticAnswer,
    HolisticInput,
    PlannerAnswer,
    PlannerInput,
    PlannerMode,
    QuestionerAnswer,
    QuestionerInput,
    QuestionerMode,
    ReviewerAnswer,
    ReviewerInput,
    Role,
)
from interlock.work.orchestration.order import next_task, resumed, waiting
from interlock.work.orchestration.papers.reports import report_name
from interlock.work.orchestration.planning import merged, pieces
from interlock.work.orchestration.prompts import Knowledge
from interlock.work.orchestration.proving import passed, receipt_text, refusal, verified
from interlock.work.orchestration.rules import Context
from interlock.work.orchestration.values import Mark, Part2, Verdict
from interlock.work.orchestration.visit import Answered, Visit

__all__ = ["STEPS", "Step"]

Step = Callable[[Visit], list[Event] | None]
"""Moves and notes that are written as one; None where nothing came of it."""

_BACK_OFF = 5.0


def _initializing(visit: Visit) -> list[Event] | None:
    """Where a run goes on: a new one plans, a resumed one does what its tasks say."""
    run = visit.run
    found = resumed({}, run.plan.tasks)
    pending = next((one.id for one in run.plan.tasks if one.mark is Mark.PENDING), None)
    task = pending if found == "reviewing" else None
    event = Event("session_resolved", DRIVER, evidence=Evidence(facts={"session": found}, task=task))
    return [event]


# Planning


def _planning(visit: Visit) -> list[Event] | None:
    run = visit.run
    if run.asks:
        return _questions(visit)
    made = visit.ask(
        Role.PLANNER,
        PlannerInput(visit.session_path, PlannerMode(run.mode), run.goal, "\n\n".join([*run.wishes, run.why]).strip()),
        Knowledge(
            request="\n\n".join([run.goal, *run.wishes]),
            plan=run.plan,
            cycles=tuple(run.cycles),
            reports=visit.reports_for(*run.reports),
            is_last_word=visit.snapshot.counters.get("qa_cycle", 0) >= visit.machine.form.counters["qa_cycle"].limit,
        ),
        Context(plan=run.plan, mode=run.mode),
        run.mode,
    )
    if made is None:
        return None
    if made.answer is None:
        return _unusable(visit, made, "planner_completed", "planner")
    answer = made.answer
    assert isinstance(answer, PlannerAnswer)
    facts = {"planner": str(answer.status)}
    if answer.status == "blocked":
        return [
            made.invoked,
            visit.event("planner_completed", f"the planner is blocked: {'; '.join(answer.blockers)}", facts),
        ]
    plan = merged(run.plan, answer)
    told = {"goal": plan.goal, "text": plan.text, "told": len(run.wishes), "questions": list(answer.questions)}
    notes = [
        visit.noted("tasks", tasks=portion, is_first=place == 0) for place, portion in enumerate(pieces(plan.tasks))
    ]
    reason = None
    if answer.status != "completed" and visit.snapshot.counters.get("qa_cycle", 0) >= 3:
        reason = "the planner still asks, and there are no more answers"
    kept = notes if answer.status == "completed" else []
    return [made.invoked, *kept, visit.event("planner_completed", reason, facts, **told)]


def _questions(visit: Visit) -> list[Event] | None:
    """One cycle: somebody else finds out what the planner wants to know; without answers it is empty, not a stop."""
    run = visit.run
    number = len(run.cycles) + 1
    made = visit.ask(
        Role.QUESTIONER,
        QuestionerInput(visit.session_path, QuestionerMode.RESEARCH, number),
        Knowledge(request=run.goal, plan=run.plan, cycles=tuple(run.cycles), asked=run.asked),
        Context(plan=run.plan, mode="RESEARCH"),
        "RESEARCH",
    )
    if made is None:
        return None
    if made.answer is None:
        return _unusable(visit, made, "planner_completed", "planner")
    assert isinstance(made.answer, QuestionerAnswer)
    return [made.invoked, visit.noted("cycle", cycle=made.answer.cycle(number))]


# Executing


def _executing(visit: Visit) -> list[Event] | None:
    run = visit.run
    if run.task is None:
        return _select(visit)
    task = run.find(run.task)
    assert task is not None
    made = visit.ask(
        Role.EXECUTOR,
        ExecutorInput(visit.session_path, task.id, visit.attempt),
        Knowledge(request=run.goal, plan=run.plan, task=task, reports=visit.reports_for(*task.inherits, task.id)),
        Context(plan=run.plan, task=task),
    )
    if made is None:
        return None
    if made.answer is None:
        return _unusable(visit, made, "executor_completed", "executor", task=task.id, attempt=visit.attempt)
    answer = made.answer
    assert isinstance(answer, ExecutorAnswer)
    why = "; ".join(answer.blockers) or answer.summary_of_changes
    told = {"task": task.id, "attempt": visit.attempt, "part1": answer.part1(), "why": why}
    reason = f"{task.id}, attempt {visit.attempt}: {why}"[:5000] if answer.status != "completed" else None
    return [made.invoked, visit.event("executor_completed", reason, {"executor": str(answer.status)}, **told)]


def _select(visit: Visit) -> list[Event] | None:
    """The next task in the order of dependencies; one that waits for its review comes first."""
    tasks = visit.run.plan.tasks
    pending = next((one for one in tasks if one.mark is Mark.PENDING), None)
    if pending is not None:
        return [visit.selects("review_pending", pending.id)]
    following = next_task(tasks)
    if following is not None:
        return [visit.selects("task_selected", following.id)]
    waits = waiting(tasks)
    if waits:
        named = "; ".join(f"{task} waits for {', '.join(others)}" for task, others in list(waits.items())[:5])
        return [visit.event("requirements_discovered", f"no task can be begun: {named}")]
    return [visit.event("no_tasks_remaining")]


# Reviewing


def _reviewing(visit: Visit) -> list[Event] | None:
    """Our verifiers first: what they refuse, no reviewer can qualify."""
    run = visit.run
    task = run.find(run.task or "")
    assert task is not None
    receipt = run.receipt or verified(visit)
    if receipt is None:
        return None
    reports = visit.reports_for(task.id)
    told = {"task": task.id, "attempt": visit.attempt}
    if not passed(receipt):
        why = refusal(receipt)
        part2 = Part2(Verdict.FAILED, "our verifiers do not pass", reasoning=why, feedback=why)
        return [visit.event("reviewer_completed", _first(why), {"verdict": "Failed"}, part2=part2, **told)]
    path = f"{visit.session_path}/{report_name(task.id, reports[-1].attempt)}" if reports else visit.session_path
    made = visit.ask(
        Role.REVIEWER,
        ReviewerInput(visit.session_path, task.id, path),
        Knowledge(request=run.goal, plan=run.plan, task=task, reports=reports, receipt=receipt_text(receipt)),
        Context(plan=run.plan, task=task),
    )
    if made is None:
        return None
    if made.answer is None:
        return _unusable(visit, made, "reviewer_completed", "verdict", **told)
    answer = made.answer
    assert isinstance(answer, ReviewerAnswer)
    if answer.verdict is None:
        undecided = replace(made, complaint=answer.reasoning or "it gave no verdict")
        return _unusable(visit, undecided, "reviewer_completed", "verdict", **told)
    verdict = answer.verdict
    reason = None if verdict is Verdict.QUALIFIED else _first(f"{task.id}: {answer.feedback or answer.reasoning}")
    return [
        made.invoked,
        visit.event("reviewer_completed", reason, {"verdict": str(verdict)}, part2=answer.part2(), **told),
    ]


def _first(text: str) -> str:
    return text[:5000] or "no reason was given"


# Complete


def _complete(visit: Visit) -> list[Event] | None:
    """The holistic check: is the goal met, and do our verifiers pass on the whole?"""
    run = visit.run
    receipt = run.receipt or verified(visit)
    if receipt is None:
        return None
    if not passed(receipt):
        return [visit.event("holistic_check_failed", _first(refusal(receipt)))]
    made = visit.ask(
        Role.HOLISTIC,
        HolisticInput(visit.session_path),
        Knowledge(
            request="\n\n".join([run.goal, *run.wishes]),
            plan=run.plan,
            reports=visit.reports_for(*run.reports),
            cycles=tuple(run.cycles),
            receipt=receipt_text(receipt),
        ),
        Context(plan=run.plan),
        "SESSION_REVIEW",
    )
    if made is None:
        return None
    if made.answer is None:
        return _unusable(visit, made, "holistic_check_failed", None)
    answer = made.answer
    assert isinstance(answer, HolisticAnswer)
    if answer.met:
        return [made.invoked, visit.event("holistic_check_passed", answer.summary[:5000] or None)]
    gaps = "; ".join(f"{one.description} ({one.rationale})" for one in answer.gaps)
    return [made.invoked, visit.event("holistic_check_failed", _first(f"{answer.summary} Missing: {gaps}"))]


# What cannot be used


def _unusable(visit: Visit, made: Answered, event: str, fact: str | None, **told: object) -> list[Event]:
    """An answer that is none: the network is waited out, anything else is asked for again with the complaint."""
    if made.is_network:
        tried = visit.snapshot.counters.get("network", 0)
        visit.workshop.wait(_BACK_OFF * 2**tried)
        return [
            made.invoked,
            visit.event("network_failed", f"the {made.role} could not be reached: {made.complaint}"[:5000]),
        ]
    reason = f"the {made.role}'s answer cannot be used:\n{made.complaint}"[:5000]
    if fact is None:
        return [made.invoked, visit.event(event, reason)]
    return [made.invoked, visit.event(event, reason, {fact: "invalid"}, complaint=made.complaint, **told)]


STEPS: Mapping[str, Step] = {
    "Initializing": _initializing,
    "Planning": _planning,
    "Executing": _executing,
    "Reviewing": _reviewing,
    "Complete": _complete,
}
"""What is done in each state that goes on."""
