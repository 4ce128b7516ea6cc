"""The step of each state of a run: one function each, which asks a role or our verifiers and returns the result.

None means that nothing came of it: it was stopped or has to wait; the next pass does it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.machine import Event, Evidence
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.step import noted
from interlock.work.driver.system import NoEvent, StepFunction, StepResult
from interlock.work.formats.quoting import shown
from interlock.work.orchestration.contracts import (
    ExecutorAnswer,
    ExecutorStatus,
    HolisticAnswer,
    Input,
    PlannerAnswer,
    PlannerStatus,
    QuestionerAnswer,
    ReviewerAnswer,
    Role,
    RoleMode,
)
from interlock.work.orchestration.driver_step import RELEASED, RoleAnswer, RunStep
from interlock.work.orchestration.order import next_task, resumed, waiting
from interlock.work.orchestration.planning import MAX_TASKS, merged, pieces
from interlock.work.orchestration.prompts import Knowledge
from interlock.work.orchestration.proving import changes, rehearsed, verified
from interlock.work.orchestration.run_files.names import report_name
from interlock.work.orchestration.values import Cycle, Mark, Part2, Task, TaskReport, Verdict
from interlock.work.verification.receipt import Receipt
from interlock.work.verification.showing import text

__all__ = ["STEPS"]

_BACK_OFF = 5.0
"""Seconds until a network that failed once is tried again; doubled with each time more."""
_AGAIN = 2
"""The number of times that a role is asked again whose answer does not move the run."""


def _initializing(step: RunStep) -> StepResult:
    """Decide where a run continues: a new one plans, one on an existing directory does what its tasks say."""
    run = step.run
    try:
        step.cache.files.check()
    except InterlockError as error:
        return [step.event("error", _said(f"{error.message} {error.hint}"))]
    if run.parent is None and not rehearsed(step):  # a thread has done so in its preflight
        return NoEvent.RETRY
    found = "planning" if run.why else resumed(run.planning, run.plan.tasks)
    pending = next((one.id for one in run.plan.tasks if one.mark is Mark.PENDING), None)
    task = pending if found == "reviewing" else None
    return [Event("session_resolved", DRIVER, evidence=Evidence(facts={"session": found}, task=task))]


# Planning


def _planning(step: RunStep) -> StepResult:
    run = step.run
    if run.asks:
        return _questions(step)
    context = "\n\n".join([*run.untold, run.why]).strip()
    told, is_last = len(run.wishes), step.counted("qa_cycle") >= step.limit("qa_cycle")
    made = step.ask(
        Role.PLANNER,
        Input(step.session_path, mode=RoleMode(run.mode), user_request=run.request, context=context),
        Knowledge(
            request=run.request,
            plan=run.plan,
            cycles=tuple(run.cycles),
            reports=step.reports_for(*run.reports),
            is_last_word=is_last,
        ),
    )
    if made is None:
        return NoEvent.RETRY
    if made.answer is None:
        return _unusable(step, made, "planner_completed", "planner")
    answer = made.answer
    assert isinstance(answer, PlannerAnswer)
    return [RELEASED, *_planned(step, answer, told, is_last)]


def _planned(step: RunStep, answer: PlannerAnswer, told: int, is_last: bool) -> list[Event]:
    """The events of a planner's answer: a plan, a cycle of questions, or the end."""
    facts = {"planner": str(answer.status)}
    if answer.status is PlannerStatus.BLOCKED:
        why = f"the planner is blocked: {'; '.join(answer.blockers)}"
        return [step.event("planner_completed", why, facts)]
    plan = merged(step.run.plan, answer)
    data = {"goal": plan.goal, "text": plan.text, "told": told, "questions": list(answer.questions)}
    if answer.status is PlannerStatus.COMPLETED:
        portions = enumerate(pieces(plan.tasks))
        notes = [noted("tasks", tasks=portion, is_first=place == 0) for place, portion in portions]
        return [*notes, step.event("planner_completed", None, facts, **data)]
    asked = "; ".join(answer.questions)
    reason = f"the planner still asks, and there are no more answers: {asked}" if is_last else None
    asks = RoleMode.BRAINSTORM if _BRAINSTORM in answer.next_actions else RoleMode.RESEARCH
    return [step.event("planner_completed", reason, facts, **data, asks=asks)]


_BRAINSTORM = "qa_brainstorm"
"""The planner's word for questions that the questioner is to find as well as to answer."""


def _questions(step: RunStep) -> StepResult:
    """Ask the questioner what the planner wants to know; without answers the cycle is empty, and the run continues."""
    run, mode = step.run, RoleMode(step.run.asks)
    number = run.cycle
    begun = next((one for one in run.cycles if one.number == number), None)
    made = step.ask(
        Role.QUESTIONER,
        Input(step.session_path, mode=mode, cycle_number=number),
        Knowledge(request=run.request, plan=run.plan, cycles=tuple(run.cycles), asked=run.asked),
    )
    if made is None:
        return NoEvent.RETRY
    if made.answer is None and (made.is_network or run.unusable < _AGAIN):
        return _unusable(step, made)
    answer = made.answer
    assert answer is None or isinstance(answer, QuestionerAnswer)
    cycle = answer.cycle(number) if answer is not None else begun or Cycle(number, summary=_NO_ANSWER)
    return [RELEASED, noted("cycle", cycle=cycle)]


_NO_ANSWER = "The questioner gave no answer that could be used."


# Executing


def _executing(step: RunStep) -> StepResult:
    run = step.run
    if run.task is None:
        return _select(step)
    task, attempt = run.find(run.task), step.attempt
    assert task is not None
    made = step.ask(
        Role.EXECUTOR,
        Input(step.session_path, task.id, attempt_number=attempt),
        Knowledge(request=run.request, plan=run.plan, task=task, reports=step.reports_for(*task.inherits, task.id)),
    )
    if made is None:
        return NoEvent.RETRY
    told = {"task": task.id, "attempt": attempt}
    if made.answer is None:
        is_over = step.counted("invalid") >= step.limit("invalid")
        return _unusable(step, made, "executor_completed", "executor", **told, is_over=is_over)
    answer = made.answer
    assert isinstance(answer, ExecutorAnswer)
    return [RELEASED, *_executed(step, answer, told)]


def _executed(step: RunStep, answer: ExecutorAnswer, told: dict[str, object]) -> list[Event]:
    """The events of an attempt. One that failed because something was not planned is planned again."""
    found = "; ".join(f"{one.id}: {one.description} ({one.rationale})" for one in answer.discovered_tasks)
    why = "; ".join(answer.blockers) or answer.summary_of_changes or "it gave no reason"
    why = _said(f"{why} It found missing: {found}" if found else why)
    has_failed = answer.status is ExecutorStatus.FAILED
    reason = f"{told['task']}, attempt {told['attempt']}: {why}" if answer.status != "completed" else None
    facts = {"executor": str(answer.status)}
    data = {**told, "part1": answer.part1(), "why": why, "is_over": has_failed}
    ended = step.event("executor_completed", reason, facts, **data)
    may_plan = step.counted("planning_retry") < step.limit("planning_retry")
    if not (has_failed and found and may_plan and step.attempt < step.limit("attempt")):
        return [ended]
    return [ended, step.event("requirements_discovered", f"{told['task']} needs what is not planned. {found}")]


def _select(step: RunStep) -> StepResult:
    """The next task in the order of dependencies; one that waits for its review comes first."""
    run, tasks = step.run, step.run.plan.tasks
    pending = next((one for one in tasks if one.mark is Mark.PENDING), None)
    if pending is not None:
        return [step.selects("review_pending", pending.id)]
    following = next_task(tasks)
    if following is not None:
        step.take_commits()
        tree = {} if following.id in run.before else {"tree": step.cache.tree}
        return [step.selects("task_selected", following.id, **tree)]
    waits = waiting(tasks)
    if waits:
        named = "; ".join(f"{task} waits for {', '.join(others)}" for task, others in list(waits.items())[:5])
        return [step.event("requirements_discovered", f"no task can be begun: {named}")]
    return [step.event("no_tasks_remaining")]


# Reviewing


def _reviewing(step: RunStep) -> StepResult:
    """Our verifiers first: what they refuse, no reviewer can qualify. The verdict is on that very tree."""
    run = step.run
    task = run.find(run.task or "")
    assert task is not None
    receipt = verified(step)
    if receipt is None:
        return NoEvent.RETRY
    told = {"task": task.id, "attempt": step.attempt}
    if not receipt.passed:
        why = receipt.reason
        part2 = Part2(Verdict.FAILED, "our verifiers do not pass", reasoning=why, feedback=why)
        return [step.event("reviewer_completed", _said(why), {"verdict": "Failed"}, part2=part2, **told)]
    reports = step.reports_for(task.id)
    path = f"{step.session_path}/{report_name(task.id, reports[-1].attempt)}" if reports else step.session_path
    made = step.ask(
        Role.REVIEWER,
        Input(step.session_path, task.id, report_path=path, mode=RoleMode.TASK_REVIEW),
        Knowledge(
            request=run.request,
            plan=run.plan,
            task=task,
            reports=reports,
            receipt=text(receipt),
            changes=changes(step, run.before.get(task.id, run.base), receipt.tree),
        ),
    )
    if made is None:
        return NoEvent.RETRY
    made = _looked_only(step, made, receipt)
    answer = made.answer
    assert answer is None or isinstance(answer, ReviewerAnswer)
    if answer is None or answer.verdict is None:
        undecided = made if answer is None else replace(made, complaint=answer.reasoning or "it gave no verdict")
        return _unusable(step, undecided, "reviewer_completed", "verdict", **told)
    verdict = answer.verdict
    reason = None if verdict is Verdict.QUALIFIED else _said(f"{task.id}: {answer.feedback or answer.reasoning}")
    judged = step.event("reviewer_completed", reason, {"verdict": str(verdict)}, part2=answer.part2(), **told)
    found = _found(step, reports, answer) if verdict is Verdict.QUALIFIED else []
    if not found:
        return [RELEASED, judged]
    added = step.event("tasks_discovered", None, None, tasks=found)
    return [RELEASED, added, step.selects("review_pending", task.id), judged]


def _looked_only(step: RunStep, made: RoleAnswer, receipt: Receipt) -> RoleAnswer:
    """The answer, which counts only if the reviewer left the verified tree as it was."""
    now = step.cache.tree
    if made.answer is None or now == receipt.tree:
        return made
    changes = step.context.git.changed_between(step.cache.repository, receipt.tree, now)
    paths = [shown(one.path, 200) for one in changes]
    complaint = f"- You changed files, and a reviewer changes none: {', '.join(paths[:10])}"
    return replace(made, answer=None, complaint=complaint)


def _found(step: RunStep, reports: Sequence[TaskReport], answer: ReviewerAnswer) -> list[Task]:
    """The tasks that executors and reviewers found to be missing, as far as there is room for them.

    Attempts that failed count, too: what they found is missing all the same.
    """
    known = {one.id.casefold() for one in step.run.plan.tasks}
    told = [(*one.part1.discovered_tasks, *(one.part2.discovered_tasks if one.part2 else ())) for one in reports]
    found: dict[str, Task] = {}
    for one in (*chain.from_iterable(told), *answer.discovered_tasks):
        if one.id.casefold() not in known:
            task = Task(one.id, one.description, one.rationale, criteria=(one.description,))
            found.setdefault(one.id.casefold(), task)
    room = step.context.settings.number("orchestrate.discoveries") - step.run.discovered
    return [*found.values()][: max(0, min(room, MAX_TASKS - len(known)))]


def _said(words: str) -> str:
    return words[:5000] or "no reason was given"


# Complete


def _complete(step: RunStep) -> StepResult:
    """The holistic check: is the goal met, and do our verifiers pass on the whole?"""
    run = step.run
    receipt = verified(step)
    if receipt is None:
        return NoEvent.RETRY
    if not receipt.passed:
        return [step.event("holistic_check_failed", _said(receipt.reason))]
    made = step.ask(
        Role.HOLISTIC,
        Input(step.session_path, mode=RoleMode.SESSION_REVIEW),
        Knowledge(
            request=run.request,
            plan=run.plan,
            reports=step.reports_for(*run.reports),
            cycles=tuple(run.cycles),
            receipt=text(receipt),
            changes=changes(step, run.base, receipt.tree),
        ),
    )
    if made is None:
        return NoEvent.RETRY
    made = _looked_only(step, made, receipt)
    if made.answer is None and (made.is_network or run.unusable < _AGAIN):
        return _unusable(step, made)
    answer = made.answer
    assert answer is None or isinstance(answer, HolisticAnswer)
    if answer is None:
        why = f"nobody could say whether the goal is met: {made.complaint}"
        return [RELEASED, step.event("holistic_check_failed", _said(why))]
    if answer.met:
        return [RELEASED, step.event("holistic_check_passed", answer.summary[:5000] or None)]
    gaps = "; ".join(f"{one.description} ({one.rationale})" for one in answer.gaps)
    return [RELEASED, step.event("holistic_check_failed", _said(f"{answer.summary} Missing: {gaps}"))]


# What cannot be used


def _unusable(step: RunStep, made: RoleAnswer, event: str = "", fact: str = "", **told: object) -> list[Event]:
    """An answer that is none: the network is waited out, anything else is asked for again with the complaint.

    Without an event, the answer does not move the run: that the role is asked again is only noted.
    """
    if made.is_network:
        until = step.context.journal.now() + _BACK_OFF * 2 ** step.counted("network")
        why = f"the {made.role} could not be reached: {made.complaint}"
        return [RELEASED, step.event("network_failed", _said(why), until=until)]
    reason = _said(f"the {made.role}'s answer cannot be used:\n{made.complaint}")
    step.context.report(reason)
    if not event:
        return [RELEASED, noted("unusable", role=made.role, complaint=made.complaint)]
    return [RELEASED, step.event(event, reason, {fact: "invalid"}, complaint=made.complaint, **told)]


STEPS: Mapping[str, StepFunction[RunStep]] = {
    "Initializing": _initializing,
    "Planning": _planning,
    "Executing": _executing,
    "Reviewing": _reviewing,
    "Complete": _complete,
}
"""The step of each state that continues without a person."""
