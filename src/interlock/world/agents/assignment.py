"""What one run of one agent is given: the prompt, the place, how long it may take, and what of ours it gets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from interlock.world.agents.confinement import Confinement
from interlock.world.agents.lines import LONGEST
from interlock.world.sandbox.policy import Limits

__all__ = ["AgentTools", "Assignment", "TimeOuts"]


class TimeOuts(msgspec.Struct, frozen=True):
    """How many seconds a run may take, be silent, and be silent at its beginning; None is for ever."""

    wall: float | None = None
    idle: float | None = None
    first_output: float | None = None


class AgentTools(msgspec.Struct, frozen=True):
    """What of ours an agent works with. A part that it has already, by the files of its repository, is empty here."""

    server: tuple[str, ...] = ()
    """The command of our MCP server, which the agent starts."""
    hook: str = ""
    """The program that its hooks call."""
    instead: tuple[str, ...] = ()
    """The hooks of ours in its files that the run leaves out, because they count only where a person trusts them."""


class Assignment(msgspec.Struct, frozen=True):
    """One iteration of one agent."""

    prompt: str
    directory: Path
    log: Path
    """Where everything it prints is written as it comes, without secrets."""
    environment: Mapping[str, str]
    """All of it: nothing is taken from our own. `RALPH_SESSION_ID` and `RALPH_ROOT` are in it."""
    time_outs: TimeOuts = msgspec.field(default_factory=TimeOuts)
    model: str | None = None
    arguments: tuple[str, ...] = ()
    """A person's own flags, behind ours."""
    marker: str = ""
    """What every process of the run carries as `RALPH_RUN`, so that those of a dead run are found and ended."""
    log_limit: int = 64 * 1024 * 1024
    """How many bytes of the log are kept; what comes after is counted, and noted once."""
    line_limit: int = LONGEST
    """How many bytes of a line are read; an answer may be one line."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema of its last message, for an agent with an option for that; the prompt has to ask for it as well.

    The strictest vendor's rules hold: an object at its root, every field required and none besides, no `$schema`.
    """
    outfit: AgentTools | None = None
    """What it reports with; None is an agent that reports nothing."""
    confinement: Confinement | None = None
    """The sandbox that it runs in; None is none."""
    limits: Limits | None = None
    """What it may use of the machine if it runs in no sandbox; None is no limit."""
    is_confined: bool = False
    """True for an agent that is in one, and cannot use a sandbox of its own there."""
