"""Things that no agent can fix: found out before the first agent is started, so that none is paid for nothing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from interlock.errors import InterlockError
from interlock.world.agents.agent import Agent
from interlock.world.agents.assignment import Assignment
from interlock.world.git import identity

__all__ = ["missing_program", "nameless", "require_agent"]


def missing_program(agent: Agent, root: Path, environment: Mapping[str, str]) -> str | None:
    """Return the program of an agent where it cannot be found, else None."""
    program = agent.launch(Assignment("", root, root / "none.log", environment)).argv[0]
    return None if shutil.which(program, path=environment.get("PATH")) is not None else program


def require_agent(agents: Sequence[Agent], root: Path, environment: Mapping[str, str]) -> None:
    """Refuse with `agent_missing` where none of the agents is installed."""
    missing = [missing_program(agent, root, environment) for agent in agents]
    if None not in missing:
        message = f"The agent {agents[0].name} cannot be started: the program {missing[0]!r} is not there."
        raise InterlockError("agent_missing", message, "Install it, or choose another agent.")


def nameless(root: Path) -> str | None:
    """Return why nothing could be committed here: git does not know who commits. None where it does."""
    try:
        identity(root)
    except InterlockError as error:
        return f"{error.message} {error.hint}"
    return None
