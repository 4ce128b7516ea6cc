"""One run of one agent for the loop: watched, counted, paid for, and its own session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from interlock.errors import Refusal
from interlock.journal import Transaction
from interlock.work.errands import Errand, Heard, run_errand
from interlock.work.hindrances import clock, unavailable, unusable
from interlock.work.stories.files import guard, put_back
from interlock.work.stories.plan import task_name
from interlock.work.stories.record import Ran
from interlock.work.stories.remembering import remember
from interlock.work.stories.testing import log_path
from interlock.work.stories.visit import Visit
from interlock.work.stories.yard import noted
from interlock.world.agents.agent import Agent
from interlock.world.agents.assignment import TimeOuts
from interlock.world.agents.result import UNUSABLE, Ending
from interlock.world.memory import EventType

__all__ = ["free_agent", "pause", "ran"]


def free_agent(visit: Visit, agents: Sequence[Agent]) -> Agent | None:
    """The first of them that has reached no limit. Where all have, the first reset is waited for, and it is none."""
    now = visit.yard.journal.now()
    waits = {agent.name: visit.loop.limited.get(agent.name, 0.0) - now for agent in agents}
    for agent in agents:
        if waits[agent.name] <= 0:
            return agent
    seconds = min(waits.values())
    visit.yard.tell(f"{' and '.join(waits)} reached a limit; waiting until {clock(now + seconds)}")
    visit.yard.desk.shut()
    visit.yard.wait(seconds)
    return None


def pause(visit: Visit, why: str, **more: str) -> None:
    """Let the loop rest, for a reason that a person is to look at."""
    visit.note("paused", reason=why, halted=True, **more)
    visit.yard.tell(f"paused: {why}")


def ran(visit: Visit, agent: Agent, role: str, prompt: str) -> Ran | None:
    """Run an agent once; None where it was stopped, reached a limit or may use no more, which is no attempt."""
    yard, loop = visit.yard, visit.loop
    number = loop.next_iteration if role == "implementer" else loop.iteration
    guard(yard, loop, visit.lease)
    errand = Errand(
        agent=agent,
        role=role,
        prompt=prompt,
        parent=loop.id,
        root=yard.root,
        directory=yard.root,
        log=log_path(visit, role),
        environment=yard.environment,
        time_outs=TimeOuts(wall=yard.limits.agent_seconds or None, idle=yard.limits.idle_seconds or None),
        state_directory=yard.state_directory,
        settings=yard.settings,
        budget=yard.budget,
        model=yard.model,
        reports=role == "implementer",
        wait_seconds=yard.limits.wait_seconds,
        keeps_words=yard.keeps_words,
    )
    yard.desk.shut()
    try:
        heard = run_errand(
            yard.journal,
            errand,
            yard.tell,
            yard.stop,
            visit.repository,
            lambda work: _begun(visit, agent, role, number, work),
        )
    except Refusal as error:
        if error.code != "budget_exhausted":
            raise
        put_back(yard, loop, visit.lease)
        pause(visit, f"{error.message} {error.hint}", cause="budget")
        return None
    put_back(yard, loop, visit.lease)
    return _account(visit, agent, role, number, heard)


def _begun(visit: Visit, agent: Agent, role: str, number: int, work: Callable[[Transaction], str]) -> str:
    """The run's session and what the loop keeps of it, as one; then the memory is told of it."""
    yard, loop = visit.yard, visit.loop
    begun: dict[str, Any] = {
        "iteration": number,
        "role": role,
        "agent": agent.name,
        "at": loop.updated,
        "task": _task(visit),
    }
    event = noted("begun", **begun, reserved=loop.books.likely().data)

    def both(transaction: Transaction) -> str:
        session = work(transaction)
        transaction.append(loop.id, event, lease=visit.lease)
        return session

    session = yard.journal.transact(both)
    if role == "implementer":
        event_id = f"{loop.id}-{loop.entered}-attempt"
        remember(yard, loop, visit.lease, EventType.TASK_ATTEMPT, event_id, retry_count=visit.retries)
    return session


def _task(visit: Visit) -> str:
    return visit.snapshot.task or task_name(visit.loop.story or "", visit.loop.task or "")


def _account(visit: Visit, agent: Agent, role: str, number: int, heard: Heard) -> Ran | None:
    """Write down what a run cost and how it ended, before anything is concluded of it."""
    result, said = heard.result, heard.said
    told: dict[str, Any] = {
        "iteration": number,
        "task": _task(visit),
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
        "told_to": visit.loop.let_go + (len(visit.loop.context) if role == "implementer" else 0),
        "log_sha256": result.log_sha256,
    }
    visit.note("iteration", **told)
    if result.ending in UNUSABLE:
        raise unusable(agent.name, heard.ran, "" if role == "implementer" else role)
    if result.ending is Ending.LIMITED:
        if heard.wait is None:
            raise unavailable(agent.name, heard.ran)
        visit.note("limited", until=heard.wait.until, agent=agent.name, said=heard.ran.why)
        return None
    if result.ending is Ending.STOPPED:
        return None
    return Ran(str(result.ending), result.exit_code, result.context_percent or 0.0, said, result.promise)
