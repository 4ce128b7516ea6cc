"""One run of one agent, from its start until nothing of it is left.

    start → serve its streams, look at the clock and at `stop` → ask it to end → end it → account for it

It is done in the caller's thread; when it returns or raises, no process and no open file of the run is left.
"""

from __future__ import annotations

import errno
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from msgspec.structs import replace

from interlock.world.agents import tree
from interlock.world.agents.account import Account
from interlock.world.agents.agent import Agent, Launch, Now
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.happenings import Failure, Happening
from interlock.world.agents.hearing import Hearing
from interlock.world.agents.pipes import Pipes
from interlock.world.agents.resources import ResourceWatch
from interlock.world.agents.result import Ending, Result
from interlock.world.agents.starting import Prepared, as_seen, prepared
from interlock.world.agents.transcript import Transcript
from interlock.world.child_environment import child_environment

__all__ = ["Clock", "StopSignal", "run"]

Clock = Callable[[], float]
"""Seconds that only go forward; all time-outs and graces of a run are measured with it."""

_POLL = 0.05
"""How many seconds pass at the most until `stop`, the clock and the process are looked at again."""
_GRACE = 2.0
"""How long a run may take to end by itself, when it is asked to."""
_DRAIN = 1.0
_DRAIN_MOST = 10.0
"""How long the streams are read on after the agent has exited, where they are silent and where they are not: somebody
whom it started may hold them open, and what it said itself must be heard first."""
_LOST = 10.0
"""How long an agent may live on that has closed its output."""
_REAPING = 2.0
_NO_PROGRAM = "cannot be started in the sandbox"
_MISSING = (errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ENOEXEC)


class StopSignal(Protocol):
    """Set by another thread or a signal handler, to end the run; a `threading.Event` is one."""

    def is_set(self) -> bool: ...


def run(
    agent: Agent,
    assignment: Assignment,
    on: Callable[[Happening], None],
    stop: StopSignal,
    *,
    clock: Clock = time.monotonic,
    now: Now = lambda: datetime.now().astimezone(),
) -> Result:
    """Run an agent once, and tell what happens as it happens. Whatever goes wrong is a result; only `on` may raise."""
    assignment = replace(assignment, environment=child_environment(assignment.environment))
    shown = as_seen(assignment)
    launch = agent.launch(shown)
    account = Account(now)
    began = clock()
    with (
        Transcript(assignment.log, assignment.log_limit) as transcript,
        ExitStack() as stack,
    ):

        def result(ending: Ending, code: int | None = None, size: int = 0) -> Result:
            return Result(
                ending=ending,
                exit_code=code,
                seconds=clock() - began,
                usage=account.usage,
                cost_usd=account.cost,
                context_percent=account.context,
                failure=account.failure,
                last_lines=account.last_lines,
                output_bytes=size,
                log_sha256=transcript.sha256,
                promise=account.promise,
            )

        try:
            begun = stack.enter_context(prepared(agent.name, launch, assignment))
            process = _start(launch, begun)
            if assignment.confinement is not None:
                assignment.confinement.on_start(process.pid)
        except (OSError, ValueError) as error:  # a value is wrong that holds a NUL
            said = f"{launch.argv[0]} cannot be started: {error}"
            account.complained(said.encode("utf-8", "replace"))
            transcript.write(f"{said}\n")
            is_missing = getattr(error, "errno", 0) in _MISSING and assignment.directory.is_dir()
            return result(Ending.NOT_INSTALLED if is_missing else Ending.FAILED)
        with Pipes(process, stays_open=launch.stays_open) as pipes:
            reader = agent.reader(shown, now)
            hearing = Hearing(reader, account, transcript, pipes, on, assignment.line_limit)
            watch = begun.watch(process.pid, assignment)
            following = _Following(process, pipes, hearing, account, launch, assignment, watch, clock, began)
            try:
                ending = following.follow(stop)
            finally:
                tree.kill(process.pid, assignment.marker)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_REAPING)
            hearing.end(process.returncode)
            excess = following.excess
            if excess is None and watch is not None and (excess := watch.look_at_end()) is not None:
                ending = Ending.FAILED
            if excess is not None:
                account.failure = excess
                account.complained(excess.said.encode())
                transcript.write(f"{excess.said}\n")
        code = process.returncode
        if assignment.confinement is not None and any(_NO_PROGRAM in line for line in account.last_lines):
            return result(Ending.NOT_INSTALLED, code, hearing.size)
        return result(ending or account.conclude(0 if following.has_lingered else code), code, hearing.size)


def _start(launch: Launch, begun: Prepared) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        begun.words,
        cwd=begun.directory,
        env=begun.environment,
        stdin=subprocess.PIPE if launch.stdin is not None or launch.stays_open else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,  # a group of its own, and no terminal that it could ask
    )


@dataclass(slots=True)
class _Following:
    """A run under way."""

    process: subprocess.Popen[bytes]
    pipes: Pipes
    hearing: Hearing
    account: Account
    launch: Launch
    assignment: Assignment
    watch: ResourceWatch | None
    clock: Clock
    began: float
    heard: float | None = field(default=None, init=False)
    """When it was last heard."""
    closed: float | None = field(default=None, init=False)
    """When it had closed its output."""
    has_lingered: bool = field(default=False, init=False)
    """Whether it had finished and did not exit, so that its exit status is our doing."""
    excess: Failure | None = field(default=None, init=False)
    """The limit of the machine for which it was ended."""

    def follow(self, stop: StopSignal) -> Ending | None:
        """Serve the run until it has ended; why it was ended, or None where it ended by itself."""
        self.pipes.send(self.launch.stdin or b"")
        if not self.launch.stays_open and not self.launch.stdin:
            self.pipes.close_input()
        ending: Ending | None = None
        asked: float | None = None
        exited: float | None = None
        while True:
            has_exited = tree.has_exited(self.process)
            if has_exited and not self.pipes.are_open:
                return ending
            is_silent = self._listen()
            present = self.clock()
            if self.watch is not None and not has_exited and (excess := self.watch.look(present)) is not None:
                self.excess = excess
                return Ending.FAILED
            if has_exited:
                exited = present if exited is None else exited
                if not self.pipes.are_open or present - exited > (_DRAIN if is_silent else _DRAIN_MOST):
                    return ending
            elif asked is None:
                ending = self._reason(stop, present)
                if ending is not None or self.has_lingered:
                    asked = present
                    # Asked to end, the process of a sandbox would end all in it at once.
                    spared = self.process.pid if self.assignment.confinement is not None else None
                    tree.terminate(self.process.pid, self.assignment.marker, spared)
            elif present - asked > _GRACE:
                return ending

    def _listen(self) -> bool:
        """Take in what comes now; whether nothing did."""
        is_silent = True
        for stream, data in self.pipes.turn(_POLL):
            self.hearing.take(stream, data)
            if data:
                self.heard = self.clock()  # once it is taken in: however long that takes, it was not silence
                is_silent = False
        return is_silent

    def _reason(self, stop: StopSignal, present: float) -> Ending | None:
        """Why the run is to be ended now, if it is."""
        if stop.is_set():
            return Ending.STOPPED
        allowed = self.assignment.time_outs
        silent = present - (self.began if self.heard is None else self.heard)
        is_late = allowed.wall is not None and present - self.began > allowed.wall
        if self.account.finished is not None:
            self.has_lingered = is_late or silent > self.launch.linger
            return None
        if is_late:
            return Ending.TIMED_OUT_WALL
        if not self.pipes.are_open:
            self.closed = present if self.closed is None else self.closed
            return Ending.LOST if present - self.closed > _LOST else None
        if self.heard is None and allowed.first_output is not None and silent > allowed.first_output:
            return Ending.TIMED_OUT_START
        return Ending.TIMED_OUT_IDLE if allowed.idle is not None and silent > allowed.idle else None
