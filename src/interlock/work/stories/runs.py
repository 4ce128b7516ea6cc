"""One run of one agent for the loop: watched, counted, paid for, and its own session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from interlock.errors import Refusal
from interlock.journal import Transaction
from interlock.work.driver.agent_failures import clock, unavailable, unusable
from interlock.work.driver.agent_run import AgentRequest, AgentRun, run_agent
from interlock.work.driver.notes import noted
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.files import guard, put_back
from interlock.work.stories.plan import task_name
from interlock.work.stories.record import StoryRunResult
from interlock.work.stories.remembering import remember
from interlock.work.stories.testing import log_path
from interlock.world.agents.agent import Agent
from interlock.world.agents.assignment import TimeOuts
from interlock.world.agents.result import UNUSABLE, Ending
from interlock.world.memory import EventType

__all__ = ["free_agent", "pause", "ran"]


def free_agent(step: StoryStep, agents: Sequence[Agent]) -> Agent | None:
    """The first of them that has reached no limit. Where all have, the first reset is waited for, and it is none."""
    now = step.context.journal.now()
    waits = {agent.name: step.loop.limited.get(agent.name, 0.0) - now for agent in agents}
    for agent in agents:
        if waits[agent.name] <= 0:
            return agent
    seconds = min(waits.values())
    step.context.tell(f"{' and '.join(waits)} reached a limit; waiting until {clock(now + seconds)}")
    step.context.cache.shut()
    step.context.wait(seconds)
    return None


def pause(step: StoryStep, why: str, **more: str) -> None:
    """Let the loop rest, for a reason that a person is to look at."""
    step.note("paused", reason=why, halted=True, **more)
    step.context.tell(f"paused: {why}")


def ran(step: StoryStep, agent: Agent, role: str, prompt: str) -> StoryRunResult | None:
    """Run an agent once; None where it was stopped, reached a limit or may use no more, which is no attempt."""
    context, loop = step.context, step.loop
    number = loop.next_iteration if role == "implementer" else loop.iteration
    guard(context, loop, step.lease)
    request = AgentRequest(
        agent=agent,
        role=role,
        prompt=prompt,
        parent=loop.id,
        root=context.root,
        directory=context.root,
        log=log_path(step, role),
        environment=context.environment,
        time_outs=TimeOuts(wall=context.limits.agent_seconds or None, idle=context.limits.idle_seconds or None),
        state_directory=context.state_directory,
        settings=context.settings,
        budget=context.budget,
        model=context.model,
        reports=role == "implementer",
        wait_seconds=context.limits.wait_seconds,
        keeps_words=context.keeps_words,
    )
    context.cache.shut()
    try:
        heard = run_agent(
            context.journal,
            request,
            context.tell,
            context.stop,
            step.repository,
            lambda work: _begun(step, agent, role, number, work),
        )
    except Refusal as error:
        if error.code != "budget_exhausted":
            raise
        put_back(context, loop, step.lease)
        pause(step, f"{error.message} {error.hint}", cause="budget")
        return None
    put_back(context, loop, step.lease)
    return _account(step, agent, role, number, heard)


def _begun(step: StoryStep, agent: Agent, role: str, number: int, work: Callable[[Transaction], str]) -> str:
    """The run's session and what the loop keeps of it, as one; then the memory is told of it."""
    context, loop = step.context, step.loop
    begun: dict[str, Any] = {
        "iteration": number,
        "role": role,
        "agent": agent.name,
        "at": loop.updated,
        "task": _task(step),
    }
    event = noted("begun", **begun, reserved=loop.books.likely().data)

    def both(transaction: Transaction) -> str:
        session = work(transaction)
        transaction.append(loop.id, event, lease=step.lease)
        return session

    session = context.journal.transact(both)
    if role == "implementer":
        event_id = f"{loop.id}-{loop.entered}-attempt"
        remember(context, loop, step.lease, EventType.TASK_ATTEMPT, event_id, retry_count=step.retries)
    return session


def _task(step: StoryStep) -> str:
    return step.snapshot.task or task_name(step.loop.story or "", step.loop.task or "")


def _account(step: StoryStep, agent: Agent, role: str, number: int, heard: AgentRun) -> StoryRunResult | None:
    """Write down what a run cost and how it ended, before anything is concluded of it."""
    result, said = heard.result, heard.said
    told: dict[str, Any] = {
        "iteration": number,
        "task": _task(step),
        "role": role,
        "agent": agent.name,
        "ending": str(result.ending),
        "exit": result.exit_code,
        "seconds": round(result.seconds, 3),
        "cost_usd": result.cost_usd,
        "tokens": result.usage.input + result.usage.output,
        "context_percent": result.context_percent,
        "said": said,
        "promise": result.promise,
        "told_to": step.loop.let_go + (len(step.loop.context) if role == "implementer" else 0),
        "log_sha256": result.log_sha256,
    }
    step.note("iteration", **told)
    if result.ending in UNUSABLE:
        raise unusable(agent.name, heard.ran, "" if role == "implementer" else role)
    if result.ending is Ending.LIMITED:
        if heard.wait is None:
            raise unavailable(agent.name, heard.ran)
        step.note("limited", until=heard.wait.until, agent=agent.name, said=heard.ran.why)
        return None
    if result.ending is Ending.STOPPED:
        return None
    return StoryRunResult(str(result.ending), result.exit_code, result.context_percent or 0.0, said, result.promise)
