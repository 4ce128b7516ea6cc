"""An agent that was chosen for a run, with the model and the flags that it is to have."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from interlock.world.agents.agent import Agent, Launch, Now, Reader
from interlock.world.agents.assignment import Assignment

__all__ = ["ChosenAgent"]


class ChosenAgent(msgspec.Struct, frozen=True):
    """An agent with a model and flags of its own."""

    agent: Agent
    model: str | None = None
    arguments: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def title(self) -> str:
        """As people write it: `codex`, or `codex:gpt-5` with a model."""
        return f"{self.name}:{self.model}" if self.model else self.name

    def launch(self, assignment: Assignment) -> Launch:
        return self.agent.launch(self._own(assignment))

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        return self.agent.reader(self._own(assignment), now)

    def _own(self, assignment: Assignment) -> Assignment:
        return replace(assignment, model=self.model, arguments=self.arguments)
