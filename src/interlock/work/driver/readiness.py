"""Things that no agent can fix: found out before the first agent is started, so that none is paid for nothing."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.errors import InterlockError
from interlock.work.driver.context import DriverContext
from interlock.world.agents.agent import Agent
from interlock.world.agents.assignment import Assignment

__all__ = ["missing_program", "nameless", "require_agent"]


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
