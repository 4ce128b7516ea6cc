"""One run of one agent for the loop: watched, counted, paid for, and its own session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlock.errors import InterlockError
from interlock.journal import Journal
from interlock.work.sessions.prompt import progress_reporting
from interlock.work.sessions.upkeep import written_since
from interlock.work.sessions.verbs import Caller, complete, create
from interlock.work.stories.files import guard, put_back
from interlock.work.stories.plan import task_name
from interlock.work.stories.record import Ran
from interlock.work.stories.remembering import remember
from interlock.work.stories.testing import log_path
from interlock.work.stories.visit import Visit
from interlock.work.stories.yard import DRIVER
from interlock.world.agents.agent import Agent
from interlock.world.agents.assignment import Assignment, TimeOuts
from interlock.world.agents.happenings import Happening, Said
from interlock.world.agents.result import Ending, Result
from interlock.world.agents.running import run
from interlock.world.agents.tree import end_marked
from interlock.world.memory import EventType

__all__ = ["end_left_runs", "free_agent", "ran"]

_BLIND_WAIT = 300.0
"""How long a limit is waited for that does not say when it ends."""
_HEARD = 32_000
"""How many characters of what an agent said last are kept in the journal."""


def free_agent(visit: Visit, agents: Sequence[Agent]) -> Agent | None:
    """The first of them that has reached no limit. Where all have, the first reset is waited for, and it is none."""
    now = visit.yard.journal.now()
    waits = {agent.name: visit.loop.limited.get(agent.name, 0.0) - now for agent in agents}
    for agent in agents:
        if waits[agent.name] <= 0:
            return agent
    seconds = min(waits.values())
    visit.yard.tell(f"{' and '.join(waits)} reached a limit; waiting {seconds:.0f} s")
    visit.yard.wait(seconds)
    return None


def ran(visit: Visit, agent: Agent, role: str, prompt: str) -> Ran | None:
    """Run an agent once; None where it was stopped or reached a limit, which is no attempt."""
    yard, loop = visit.yard, visit.loop
    number = loop.next_iteration if role == "implementer" else loop.iteration
    guard(yard, loop, visit.lease)
    visit.note("begun", iteration=number, role=role, agent=agent.name, at=loop.updated)
    if role == "implementer":
        event_id = f"{loop.id}-{loop.entered}-attempt"
        remember(yard, loop, visit.lease, EventType.TASK_ATTEMPT, event_id, retry_count=visit.retries)
    caller = Caller(DRIVER, agent.name, None, str(yard.root))
    session = yard.journal.transact(create(caller, parent=loop.id, role=role)).session_id
    said = _Ear(visit)
    assignment = Assignment(
        prompt=_with_reporting(visit, prompt, session) if role == "implementer" else prompt,
        directory=yard.root,
        log=log_path(visit, role),
        environment={**yard.environment, "RALPH_SESSION_ID": session, "RALPH_ROOT": str(yard.root)},
        time_outs=TimeOuts(wall=yard.limits.agent_seconds or None, idle=yard.limits.idle_seconds or None),
        model=yard.model,
        arguments=yard.arguments,
        marker=loop.id,
    )
    result = run(agent, assignment, said.hear, yard.stop)
    _close(visit, session, result)
    put_back(yard, loop, visit.lease)
    return _account(visit, agent, role, number, result, said.text)


def _with_reporting(visit: Visit, prompt: str, session: str) -> str:
    """The prompt with how to report, where `ralph init` gave the agents of this repository our server and hooks."""
    if not (visit.yard.state_directory / "init.json").is_file():
        return prompt
    machine = visit.yard.journal.machine_of(visit.yard.journal.instance(session))
    return f"{prompt}\n{progress_reporting(machine, session)}"


class _Ear:
    """Hears what an agent says: all of it is told on, its end is kept."""

    def __init__(self, visit: Visit) -> None:
        self._tell = visit.yard.tell
        self.text = ""

    def hear(self, happening: Happening) -> None:
        if isinstance(happening, Said):
            self.text = f"{self.text}\n{happening.text}"[-_HEARD:].lstrip("\n")
        self._tell(happening)


def end_left_runs(journal: Journal, loop: str) -> None:
    """End what a driver that died left of its runs: their processes, and their sessions."""
    end_marked(loop)
    for session in journal.open_instances("session"):
        if session.parent == loop:
            _end(journal, session.id, "cancelled", "the driver of the run died")


def _close(visit: Visit, session: str, result: Result) -> None:
    """End the session of a run that did not end it itself."""
    ended = {Ending.FINISHED: "success", Ending.STOPPED: "cancelled", Ending.LIMITED: "cancelled"}
    _end(visit.yard.journal, session, ended.get(result.ending, "failure"))


def _end(journal: Journal, session: str, outcome: str, why: str | None = None) -> None:
    try:
        journal.transact(complete(session, outcome, DRIVER, why, written=written_since(journal, session)))
    except InterlockError as error:
        if error.code != "session_completed":
            raise


def _account(visit: Visit, agent: Agent, role: str, number: int, result: Result, said: str) -> Ran | None:
    """Write down what a run cost and how it ended, before anything is concluded of it."""
    told: dict[str, Any] = {
        "iteration": number,
        "task": visit.snapshot.task or task_name(visit.loop.story or "", visit.loop.task or ""),
        "role": role,
        "agent": agent.name,
        "ending": str(result.ending),
        "exit": result.exit_code,
        "seconds": round(result.seconds, 3),
        "cost_usd": result.cost_usd,
        "tokens": result.usage.input + result.usage.output,
        "context_percent": result.context_percent,
        "said": said,
        "told": len(visit.loop.context) if role == "implementer" else 0,
        "log_sha256": result.log_sha256,
    }
    visit.note("iteration", **told)
    if result.ending is Ending.NOT_INSTALLED:
        message = f"The agent {agent.name} cannot be started: {' '.join(result.last_lines)[:200]}"
        raise InterlockError("agent_missing", message, "Install it, or choose another with --agent.")
    if result.ending is Ending.LIMITED:
        limit = result.limit
        until = limit.until if limit and limit.until else visit.yard.journal.now() + _BLIND_WAIT
        visit.note("limited", until=until, agent=agent.name, said=limit.said[:300] if limit else "")
        return None
    if result.ending is Ending.STOPPED:
        return None
    return Ran(str(result.ending), result.exit_code, result.context_percent or 0.0, said)
