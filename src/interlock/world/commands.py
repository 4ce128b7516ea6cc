"""One shell command, run with the care that an agent is run with: bounded, logged, and nothing of it left running.

What came of it is our own account: how it ended and its exit status, never what it printed.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from interlock.world.agents.agent import Launch, Now, Reader
from interlock.world.agents.assignment import Assignment, TimeOuts
from interlock.world.agents.command import PlainReader
from interlock.world.agents.confinement import Confinement
from interlock.world.agents.happenings import Happening
from interlock.world.agents.resources import EXCESSES
from interlock.world.agents.result import Ending, Result
from interlock.world.agents.running import Clock, StopSignal, run

__all__ = ["CommandResult", "How", "ShellCommand", "run_command"]

_SHELL = ("/bin/sh", "-c", '(eval "$1"); exit $?', "sh")
"""A shell around the command that keeps our streams open: a command that sends all of its output to a file would
otherwise look like one that closed them and does not end."""
_NOT_EXECUTABLE, _MISSING, _SIGNALS = 126, 127, 128
"""What a shell exits with where there is no such command, where it may not be run, and, with the signal added, where
it was killed."""


class How(StrEnum):
    """How a command ended."""

    PASSED = "passed"
    FAILED = "failed"
    MISSING = "missing"
    """There is no such command."""
    TIMED_OUT = "timed_out"
    KILLED = "killed"
    """A signal ended it, and it was not ours."""
    LOST = "lost"
    """It closed its output and did not end."""
    STOPPED = "stopped"


class ShellCommand(msgspec.Struct, frozen=True):
    """One command line for a shell, and where it is run."""

    command: str
    directory: Path
    log: Path
    environment: Mapping[str, str]
    """All of it: nothing is taken from our own."""
    seconds: float = 0.0
    """How long it may take; 0 is no limit."""
    marker: str = ""
    given: bytes | None = None
    """What it reads from its stdin; None is nothing at all."""
    log_limit: int = 64 * 1024 * 1024
    confinement: Confinement | None = None
    """The sandbox that it runs in; None is none."""


class CommandResult(msgspec.Struct, frozen=True):
    """What came of a command."""

    how: How
    exit: int | None
    seconds: float
    last_lines: tuple[str, ...]
    log_sha256: str
    why: str
    """What went wrong, in a few words; empty where nothing did."""


def run_command(
    call: ShellCommand, on: Callable[[Happening], None], stop: StopSignal, *, clock: Clock = time.monotonic
) -> CommandResult:
    """Run a command until nothing of it is left. Whatever goes wrong is a result; only `on` may raise."""
    assignment = Assignment(
        prompt="",
        directory=call.directory,
        log=call.log,
        environment=call.environment,
        time_outs=TimeOuts(wall=call.seconds or None),
        marker=call.marker,
        log_limit=call.log_limit,
        confinement=call.confinement,
    )
    result = run(_Shell(call.command, call.given), assignment, on, stop, clock=clock)
    how, why = _account(result, call.seconds)
    return CommandResult(how, result.exit_code, result.seconds, result.last_lines, result.log_sha256, why)


class _Shell(msgspec.Struct, frozen=True):
    """The shell as something that can be run; every line that it prints is a line that it said."""

    command: str
    given: bytes | None = None
    name: str = "shell"

    def launch(self, assignment: Assignment) -> Launch:
        return Launch((*_SHELL, self.command), self.given)

    def reader(self, assignment: Assignment, now: Now) -> Reader:
        return PlainReader("")


def _account(result: Result, seconds: float) -> tuple[How, str]:
    code = result.exit_code
    if result.failure is not None and result.failure.kind in EXCESSES:
        return How.KILLED, f"was ended. {result.failure.said}"
    match result.ending:
        case Ending.FINISHED:
            return How.PASSED, ""
        case Ending.STOPPED:
            return How.STOPPED, "was stopped"
        case Ending.TIMED_OUT_WALL:
            return How.TIMED_OUT, f"took longer than {seconds:g} s"
        case Ending.LOST:
            return How.LOST, "closed its output and did not end"
        case Ending.NOT_INSTALLED:
            return How.MISSING, "cannot be started: there is no /bin/sh"
    if code == _MISSING:
        return How.MISSING, "not found (exit 127)"
    if code == _NOT_EXECUTABLE:
        return How.FAILED, "may not be executed (exit 126)"
    number = -code if code is not None and code < 0 else (code or 0) - _SIGNALS
    if number in {int(one) for one in signal.Signals}:
        return How.KILLED, f"was killed by {signal.Signals(number).name}"
    return How.FAILED, "could not be run" if code is None else f"exit {code}"
