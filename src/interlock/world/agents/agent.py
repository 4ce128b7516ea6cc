"""The seam between the runner and the agents: a command line, and a reader of what it prints; one chosen for a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec.structs import replace

from interlock.world.agents.assignment import Assignment
from interlock.world.agents.happenings import Happening

__all__ = ["Agent", "ChosenAgent", "InteractiveAgent", "Launch", "Now", "Reader", "Reply", "lacks"]

Now = Callable[[], datetime]
"""The time of day, with its zone: agents say when a limit ends in the local time."""


class Launch(msgspec.Struct, frozen=True):
    """How a process is started."""

    argv: tuple[str, ...]
    stdin: bytes | None = None
    """What it reads first; None is nothing at all."""
    stays_open: bool = False
    """Whether its stdin stays open behind that, for replies, until it has finished."""
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What it needs besides the assignment's."""
    files: Mapping[Path, str] = msgspec.field(default_factory=dict)
    """What is written before it starts and taken away once it has ended; only its owner may read them."""
    linger: float = 30.0
    """How many silent seconds it may take to exit, once it has said that it finished."""


class Reply(msgspec.Struct, frozen=True):
    """What is written to the agent's stdin."""

    data: bytes


class Reader(Protocol):
    """Reads what one run of an agent prints. It never raises, whatever that is."""

    def read(self, line: bytes) -> Iterable[Happening | Reply]:
        """What one line of stdout says; the line has no end of line, and a very long one was cut."""

    def end(self, exit_code: int | None) -> Iterable[Happening]:
        """What is only known at the end."""


class Agent(Protocol):
    """A coding agent: how it is started, and how it is read. It has no effects."""

    @property
    def name(self) -> str: ...

    def launch(self, assignment: Assignment) -> Launch: ...

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        """A reader for one run."""


class InteractiveAgent(Protocol):
    """An agent that a person speaks with. It has no effects."""

    @property
    def name(self) -> str: ...

    def interactive(self, assignment: Assignment) -> Launch:
        """The process of an agent with its own interface; the assignment has no prompt."""


def lacks(arguments: tuple[str, ...], *flags: str) -> bool:
    """Whether a person's own flags hold none of these, so that a default of ours applies."""
    return not any(argument.partition("=")[0] in flags for argument in arguments)


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
