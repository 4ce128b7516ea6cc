"""A run of planner, questioner, executor and reviewer as the driver of a thread: the spec is its goal.

What failed, or why a person sent the work back, is told to the planner of a new run on the same directory.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.journal import Journal, Transaction
from interlock.work.driver.context import DriverContext
from interlock.work.driver.step import noted
from interlock.work.driver.system import NoEvent, StepResult
from interlock.work.orchestration.beginning import begin, role_hashes, roles_of, session_name, with_edits
from interlock.work.orchestration.contracts import Role
from interlock.work.orchestration.loop import drive
from interlock.work.orchestration.reading import MACHINE
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.threads.child_spending import ChildSpending
from interlock.work.threads.children import Child, ChildPart
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.iterating import keep_iteration, spec_of

__all__ = ["ORCHESTRATOR", "roles_for"]


def roles_for(step: ThreadStep) -> dict[str, str]:
    """Who plays which role: what the settings or its file say of it, else the thread's first agent, and its judge."""
    config = step.config
    return roles_of(step.context, {"agent": config.agents[0], "judge": config.judge}, step.root)


def _run(step: ThreadStep, id_: str) -> Run:
    return run_of(step.context.journal.history(id_))


def _before(step: ThreadStep) -> Run | None:
    """The run that the thread drives, or drove last."""
    child = step.thread.child
    is_run = child is not None and step.context.journal.instance(child).machine == MACHINE
    return _run(step, child) if is_run and child is not None else None


def _news(step: ThreadStep) -> list[str]:
    """What no planner was told yet: what failed, why a person sent it back, what they added."""
    thread = step.thread
    return [*([thread.feedback] if thread.feedback and not thread.is_heard else []), *thread.context]


def _begin(step: ThreadStep) -> str:
    """A run for the spec; where one ran before, on its directory, with its plan and what people edited in it since."""
    thread, context = step.thread, _context(step)
    before = _before(step)
    if before is not None:
        before, found = with_edits(context, before)
        for one in found.refused if found is not None else ():
            context.report(one.sentence)
        why = "\n\n".join(one for one in (before.why, *_news(step)) if one)
        id_ = begin(context, before.goal, before.session, roles_for(step), thread.id, carries=before, why=why)
    else:
        id_ = begin(context, _goal(step), session_name(context), roles_for(step), thread.id)
    step.note("child", id=id_, told=len(thread.context))
    return id_


def _goal(step: ThreadStep) -> str:
    """The spec, what must hold, and what else a person said."""
    spec, revision = spec_of(step), step.thread.revision
    assert revision is not None  # `spec_of` has read it
    criteria = "\n".join(f"{one.number}. {one.text}" for one in spec.criteria)
    parts = (step.thread.title, "It is done when all of this holds:", criteria, *_news(step), "The spec:")
    return "\n\n".join((*parts, revision.text))


def _hindrance(step: ThreadStep) -> str | None:
    """Whether somebody changed who the roles are since a person last decided: it may have been an agent."""
    before = _before(step)
    if before is None or step.thread.run != step.thread.child_run:
        return None
    try:
        now = role_hashes(_context(step))
    except InterlockError as error:
        return f"who the roles are cannot be read any more: {error.message}"
    changed = [role for role, sha256 in now.items() if before.files.get(role, sha256) != sha256]
    if not changed:
        return None
    return f"the file that says who the {changed[0]} is was changed while the loop ran; look at it, then go on"


def _fits(step: ThreadStep, id_: str) -> bool:
    """Whether the roles are still played by whom the thread wants, and there is nothing new to plan."""
    run = _run(step, id_)
    is_same = run.roles == roles_for(step) and run.files == role_hashes(_context(step))
    return is_same and not _news(step)


def _wake(step: ThreadStep, id_: str) -> None:
    if _run(step, id_).paused is not None:
        step.context.journal.append(id_, noted("resumed", files=role_hashes(_context(step))))
    step.note("child", id=id_)


def _drive(step: ThreadStep, id_: str) -> StepResult:
    spending = ChildSpending(step)
    run = drive(step.context.child(step.root, spending, spending.report), id_)
    return _concluded(step, run, spending)


def _context(step: ThreadStep) -> DriverContext:
    """The context with the root where the thread works, which may be a work tree of its own."""
    return replace(step.context, root=step.root)


def _concluded(step: ThreadStep, run: Run, spending: ChildSpending) -> StepResult:
    told: dict[str, Any] = {"child": run.id, "spent": list(run.spent)}
    match run.outcome:
        case "success":
            keep_iteration(step)
            if _found_nothing(step, run):
                why = "the run found nothing to do, and that alone proves nothing"
                return step.event("driver_failed", why, **told)
            return step.event("claims_done", **told)
        case "failure":
            keep_iteration(step)
            return step.event("driver_failed", f"the run failed: {run.reason or 'it gave no reason'}", **told)
        case None if step.context.pausing.is_set():
            return NoEvent.RETRY
        case None if (over := spending.overdrawn()) is not None:
            return step.event("budget_exhausted", over, **told)
        case None if run.paused is not None:
            name = "budget_exhausted" if run.paused.cause == "budget" else "driver_failed"
            return step.event(name, f"the run rests: {run.paused.reason}", **told)
    return NoEvent.RETRY


def _found_nothing(step: ThreadStep, run: Run) -> bool:
    """Whether nobody worked on anything, and the files are still those that were not enough before."""
    if any(one.role == Role.EXECUTOR for one in run.invocations):
        return False
    thread = step.thread
    assert thread.baseline is not None
    before = thread.receipt["tree"] if thread.receipt is not None else thread.baseline.commit
    git = step.context.git
    return not git.changed_between(step.root, before, git.tree_hash(step.root))


def _parts(journal: Journal, id_: str) -> tuple[str, tuple[ChildPart, ...]]:
    run = run_of(journal.history(id_))
    return run.state, tuple(ChildPart(one.id, f"[{one.mark}]", one.description) for one in run.plan.tasks)


def _spent(reader: Journal | Transaction, id_: str) -> tuple[float, float, int]:
    return run_of(reader.history(id_)).spent


ORCHESTRATOR = Child(MACHINE, _begin, _hindrance, _fits, _wake, _drive, _parts, _spent)
