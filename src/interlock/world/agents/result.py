"""How one run of one agent ended, and what is known of it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from interlock.world.agents.happenings import Failure, Usage

__all__ = ["NO_ATTEMPTS", "UNUSABLE", "Ending", "FailedAgent", "Result"]


class Ending(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    FAILED = "failed"
    LIMITED = "limited"
    """It failed temporarily: a limit, an overloaded server, the network."""
    NEEDS_PERSON = "needs_person"
    """It failed in a way that only a person can fix: login, credit, model, setup."""
    STOPPED = "stopped"
    TIMED_OUT_WALL = "timed_out_wall"
    TIMED_OUT_IDLE = "timed_out_idle"
    TIMED_OUT_START = "timed_out_start"
    NOT_INSTALLED = "not_installed"
    LOST = "lost"
    """It closed its output and did not end."""


UNUSABLE: Final = frozenset({Ending.NEEDS_PERSON, Ending.NOT_INSTALLED})
"""Endings after which no agent and no waiting helps."""
NO_ATTEMPTS: Final = UNUSABLE | {Ending.LIMITED, Ending.STOPPED}
"""Endings that say nothing of the work, and cost no iteration and no attempt."""


class Result(msgspec.Struct, frozen=True):
    """What came of a run. A promise is what the agent said, whatever the ending; believing it is not done here."""

    ending: Ending
    exit_code: int | None
    """The process's own status, negative for a signal; None where it never ran or could not be reaped."""
    seconds: float
    usage: Usage
    cost_usd: float | None
    context_percent: float | None
    failure: Failure | None
    """Why it stopped, or what it was last waiting for when it was ended."""
    last_lines: tuple[str, ...]
    output_bytes: int
    log_sha256: str
    promise: str | None


class FailedAgent(msgspec.Struct, frozen=True):
    """An agent that only a person can bring back, or that was waited for as long as the settings say."""

    ending: str
    failure: str = ""
    why: str = ""
