"""How one run of one agent ended, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from interlock.world.agents.happenings import LimitReached, Usage

__all__ = ["Ending", "Result"]


class Ending(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    FAILED = "failed"
    LIMITED = "limited"
    STOPPED = "stopped"
    TIMED_OUT_WALL = "timed_out_wall"
    TIMED_OUT_IDLE = "timed_out_idle"
    TIMED_OUT_START = "timed_out_start"
    NOT_INSTALLED = "not_installed"
    LOST = "lost"
    """It closed its output and did not end."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a run. A promise is what the agent said, whatever the ending; believing it is not done here."""

    ending: Ending
    exit_code: int | None
    """The process's own status, negative for a signal; None where it never ran or could not be reaped."""
    seconds: float
    usage: Usage
    cost_usd: float | None
    context_percent: float | None
    limit: LimitReached | None
    """The limit that stopped it, or that it was last waiting for when it was ended."""
    last_lines: tuple[str, ...]
    output_bytes: int
    log_sha256: str
    promise: str | None
