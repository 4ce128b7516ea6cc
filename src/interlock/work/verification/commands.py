"""The commands of a verification, run by us: prepare, the verifiers, and the criteria that a command decides."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from interlock.work.formats.quoting import shown
from interlock.work.verification.receipt import COMMAND, CommandRun, Judged
from interlock.work.verification.request import Criterion, Request
from interlock.world.agents.happenings import Happening, Said
from interlock.world.agents.running import StopSignal
from interlock.world.commands import CommandResult, How, ShellCommand, run_command

__all__ = ["Runner"]

_SHOWN = 2000
_LOG = 16 * 1024 * 1024
_NOT_OURS = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "RALPH_SESSION_ID")
"""What must not reach a verifier: it would work on another repository, or speak for an agent."""


class Runner(msgspec.Struct):
    """Runs commands in one place, and numbers their logs."""

    request: Request
    place: Path
    tell: Callable[[object], None]
    stop: StopSignal
    number: int = 0

    def run(self, name: str, command: str, seconds: float) -> CommandRun | None:
        """Run one command; None where it was stopped."""
        if self.stop.is_set():  # a quick command would end before anybody looks
            return None
        self.number += 1
        self.tell(f"verify: {name}: {command}" if name != command else f"verify: {command}")
        log = self.request.logs / f"{self.number:02d}-{re.sub(r'[^A-Za-z0-9.-]+', '-', name)}.log"
        environment = {key: value for key, value in self.request.environment.items() if key not in _NOT_OURS}
        call = ShellCommand(
            command=command,
            directory=self.place,
            log=log,
            environment={"PYTHONDONTWRITEBYTECODE": "1", **environment},
            seconds=seconds,
            marker=self.request.marker,
            log_limit=_LOG,
            confinement=self.request.confine(self.place),
        )
        done = run_command(call, self._hear, self.stop)
        if done.how is How.STOPPED:
            return None
        ran = _account(name, command, done, log.name)
        self.tell(f"{name}: {ran.why or 'passed'} ({ran.seconds:.1f} s)")
        return ran

    def decide(self, criterion: Criterion, command: str) -> Judged | None:
        """Whether a criterion is met, by its command: exit 0 is; None where it was stopped."""
        ran = self.run(f"criterion {criterion.number}", command, self.request.plan.seconds)
        if ran is None:
            return None
        last = next((line for line in reversed(ran.output.splitlines()) if line.strip()), "")
        why = "" if ran.passed else f"`{command}`: {ran.why}" + (f": {last[:200]}" if last else "")
        return Judged(criterion.number, criterion.text, ran.passed, why, COMMAND, ran)

    def _hear(self, happening: Happening) -> None:
        if isinstance(happening, Said):
            self.tell(happening)


def _account(name: str, command: str, done: CommandResult, log: str) -> CommandRun:
    output = "\n".join(shown(line, _SHOWN) for line in done.last_lines)[-_SHOWN:]
    return CommandRun(
        name=name,
        command=command,
        how=done.how.value,  # type: ignore[arg-type] # it is none of the others
        exit=done.exit,
        seconds=round(done.seconds, 3),
        log=log,
        log_sha256=done.log_sha256,
        output=output,
        why=done.why,
    )
