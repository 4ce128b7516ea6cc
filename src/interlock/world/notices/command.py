"""Any command: a shell runs it, and it reads the notice as JSON from its stdin."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from interlock.world.agents.running import Clock
from interlock.world.commands import ShellCommand, run_command
from interlock.world.notices.notice import DeliveryFailure, Notice

__all__ = ["CommandChannel"]

_SECONDS: Final = 30.0
_LOG: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class CommandChannel:
    """A command line of a person's own."""

    command: str
    directory: Path
    environment: Mapping[str, str] = field(repr=False)
    seconds: float = _SECONDS
    name: str = "command"
    clock: Clock = field(default=time.monotonic, repr=False)

    @property
    def is_here(self) -> bool:
        return True

    def send(self, notice: Notice) -> DeliveryFailure | None:
        with TemporaryDirectory(prefix="ralph-notice-") as place:
            call = ShellCommand(
                command=self.command,
                directory=self.directory,
                log=Path(place) / "output.log",
                environment={**self.environment, "RALPH_NOTICE": notice.id},
                seconds=self.seconds,
                marker=f"notice-{notice.id}",
                given=msgspec.json.encode(notice) + b"\n",
                log_limit=_LOG,
            )
            done = run_command(call, lambda happening: None, threading.Event(), clock=self.clock)
        return DeliveryFailure(f"the command {done.why}") if done.why else None
