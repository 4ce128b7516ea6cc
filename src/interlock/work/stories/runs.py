"""One run of one agent for the loop: watched, counted, paid for, and its own session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from interlock.errors import Refusal
from interlock.machine import Event
from interlock.work.driver.agent_run import AgentRequest, AgentRun, run_agent
from interlock.work.driver.agent_turn import NoAgent, account, choose, resting
from interlock.work.driver.record import PAUSED, OpenRun
from interlock.work.driver.step import noted
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.files import guard, put_back
from interlock.work.stories.plan import task_name
from interlock.work.stories.remembering import remember
from interlock.work.stories.testing import log_path
from interlock.world.agents.agent import ChosenAgent
from interlock.world.agents.result import NO_ATTEMPTS
from interlock.world.memory import EventType

__all__ = ["pause", "ran"]

Prompt: TypeAlias = Callable[[ChosenAgent], str]
"""The prompt for an agent, once the agent is chosen."""


def pause(step: StoryStep, why: str, cause: str) -> None:
    """Pause the loop, for a reason that a person has to look at."""
    step.note(PAUSED, reason=why, cause=cause)
    step.context.report(f"paused: {why}")


def ran(step: StoryStep, agents: Sequence[ChosenAgent], role: str, prompt: Prompt) -> OpenRun | None:
    """Run the agent whose turn it is, once. Return None if it made no attempt, or none can work yet."""
    context, loop = step.context, step.loop
    context.cache.shut()
    chosen = choose(context, loop, agents, context.settings.text("agent.selection"), loop.worked[0])
    if chosen is None:
        return None
    is_worker = role == "implementer"
    if isinstance(chosen, NoAgent):
        raise chosen.error("" if is_worker else role)
    number = loop.next_iteration if is_worker else loop.iteration
    told: dict[str, Any] = {"iteration": number, "task": _task(step), "role": role, "agent": chosen.name}
    told_to = loop.let_go + (len(loop.context) if is_worker else 0)  # what a person adds from now on is for the next
    begun = noted("begun", **told, at=loop.updated, reserved=loop.books.likely().data)
    request = AgentRequest(
        agent=chosen,
        role=role,
        prompt=prompt(chosen),
        parent=loop.id,
        log=log_path(step, role),
        is_read_only=not is_worker,
        reports=is_worker,
        lease=step.lease,
        started=(begun,),
        settled=lambda heard: [_account(told, told_to, heard), *resting(context, chosen, heard)],
        on_start=lambda: _remember(step) if is_worker else None,
        repository=step.repository,
        changed=lambda: step.look().changed,
    )
    guard(step)
    try:
        heard = run_agent(context, request)
    except Refusal:  # no agent was started; after a lost lease the files are the next driver's to put back
        put_back(step)
        raise
    put_back(step)
    result = heard.result
    if result.ending in NO_ATTEMPTS:
        return None
    percent = result.context_percent or 0.0
    return OpenRun(str(result.ending), result.exit_code, result.promise, heard.said, chosen.name, percent)


def _remember(step: StoryStep) -> None:
    """Tell the memory that an attempt begins."""
    event_id = f"{step.loop.id}-{step.loop.entered}-attempt"
    remember(step, EventType.TASK_ATTEMPT, event_id, retry_count=step.retries)


def _task(step: StoryStep) -> str:
    return step.snapshot.task or task_name(step.loop.story or "", step.loop.task or "")


def _account(told: Mapping[str, Any], told_to: int, heard: AgentRun) -> Event:
    """The cost of a run and how it ended, before anything is concluded."""
    more = {
        "context_percent": heard.result.context_percent,
        "said": heard.said,
        "told_to": told_to,
    }
    return noted("iteration", **told, **account(heard), **more)
