"""Runs of real processes: a clock that can be put forward, agents in a few lines of Python, and who is still alive."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec

from interlock.world.agents.agent import Agent
from interlock.world.agents.assignment import Assignment, TimeOuts
from interlock.world.agents.command import CommandAgent
from interlock.world.agents.happenings import Happening
from interlock.world.agents.result import Result
from interlock.world.agents.running import run
from interlock.world.agents.scripted.adapter import Scripted
from interlock.world.ancestry import started
from patience import SECONDS

__all__ = ["NOW", "Clock", "Place", "are_gone", "child"]

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=timezone(timedelta(hours=1)))


class Clock:
    """The real clock, which can be put forward, once or each time that it is read; or a slower one.

    A slow one gives a process its grace on a machine that is too busy to let it run.
    """

    def __init__(self, *, each: float = 0.0, pace: float = 1.0) -> None:
        self._ahead = 0.0
        self._each = each
        self._most = math.inf
        self._pace = pace

    def __call__(self) -> float:
        self._ahead = min(self._ahead + self._each, self._most)
        return time.monotonic() * self._pace + self._ahead

    def skip(self, seconds: float) -> None:
        self._ahead += seconds

    def rush(self, each: float, times: float = math.inf) -> None:
        """From now on, go forward each time that it is read, but for so many times."""
        self._each = each
        self._most = self._ahead + each * times


def child(code: str, *words: str) -> Agent:
    """An agent that is a few lines of Python."""
    return CommandAgent((sys.executable, "-c", code, *words))


def are_gone(pids: Path | Sequence[int]) -> bool:
    """Whether none of these processes is alive; a file has one in each line."""
    numbers = [int(line) for line in pids.read_text().split()] if isinstance(pids, Path) else pids
    assert numbers
    return all(started(pid) is None for pid in numbers)


class Place(msgspec.Struct):
    """A directory to run agents in, and what was told while they ran."""

    directory: Path
    told: list[Happening] = msgspec.field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.directory / "logs" / "run.log"

    @property
    def pids(self) -> Path:
        return self.directory / "pids"

    def script(self, *steps: Mapping[str, Any], **more: Any) -> Agent:
        """The scripted agent, with one iteration of these steps."""
        path = self.directory / "script.json"
        path.write_text(json.dumps({"iterations": [steps], **more}))
        return Scripted(path)

    def run(
        self,
        agent: Agent,
        *,
        prompt: str = "Do the ticket.",
        clock: Clock | None = None,
        on: Callable[[Happening], None] | None = None,
        stop: threading.Event | None = None,
        time_outs: TimeOuts | None = None,
        **more: Any,
    ) -> Result:
        """Run an agent to its end; a run that hangs is ended, and then is no success."""

        def told(happening: Happening) -> None:
            self.told.append(happening)
            if on is not None:
                on(happening)

        given = {"environment": {"PATH": os.environ["PATH"]}, "directory": self.directory, "log": self.log, **more}
        assignment = Assignment(prompt, time_outs=time_outs or TimeOuts(wall=SECONDS), **given)
        stop = stop or threading.Event()
        return run(agent, assignment, told, stop, clock=clock or Clock(), now=lambda: NOW)
