"""Things that no agent can fix, found out before the first agent is started; and what only a thread may drive."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.errors import InterlockError, Refusal
from interlock.work.driver.context import DriverContext
from interlock.world.agents.agent import Agent
from interlock.world.agents.assignment import Assignment

__all__ = ["driven_by", "missing_program", "nameless", "refuse_on_a_threads_branch", "require_agent"]

_BRANCHES = "ralf/"
"""What the names of the threads' branches begin with."""


def missing_program(context: DriverContext, agent: Agent) -> str | None:
    """Return the program of an agent where it cannot be found, else None."""
    root, environment = context.root, context.environment
    program = agent.launch(Assignment("", root, root / "none.log", environment)).argv[0]
    return None if context.ports.find_program(program, environment.get("PATH")) is not None else program


def require_agent(context: DriverContext, agents: Sequence[Agent]) -> None:
    """Refuse with `agent_missing` where none of the agents is installed."""
    missing = [missing_program(context, agent) for agent in agents]
    if None not in missing:
        message = f"The agent {agents[0].name} cannot be started: the program {missing[0]!r} is not there."
        raise InterlockError("agent_missing", message, "Install it, or choose another agent.")


def nameless(context: DriverContext) -> str | None:
    """Return why nothing could be committed here: git does not know who commits. None where it does."""
    try:
        context.git.identity(context.root)
    except InterlockError as error:
        return f"{error.message} {error.hint}"
    return None


def driven_by(what: str, thread: str) -> Refusal:
    """Why a verb of a loop or run is not for whoever said it, and which ones are."""
    hint = "`ralph thread` steers it: pause, resume, context, configure."
    return Refusal("driven_by_thread", f"{what} is driven by the thread {thread}.", hint)


def refuse_on_a_threads_branch(context: DriverContext) -> None:
    """What runs alone works on its user's branch: what is done on a thread's own is steered by the thread."""
    branch = context.git.state(context.root).branch
    if branch is not None and branch.startswith(_BRANCHES):
        message = f"{branch} is checked out, the branch of a thread: what runs on it is driven by the thread alone."
        raise Refusal("driven_by_thread", message, "`ralph thread` shows where it stands and what to do next.")
