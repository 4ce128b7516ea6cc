"""One run of an agent that a person speaks with, from its start until nothing of it is left.

It never has a stream of the person's. At their terminal it has a terminal of its own, of which everything is relayed:
what it types there with TIOCSTI, or reads there, is its own. Otherwise it has pipes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.world.agents import tree
from interlock.world.agents.agent import InteractiveAgent
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.happenings import Failure
from interlock.world.agents.resources import ResourceWatch
from interlock.world.agents.starting import Prepared, as_seen, prepared
from interlock.world.child_environment import child_environment
from interlock.world.sandbox import inside
from interlock.world.terminals.escapes import EscapeFilter
from interlock.world.terminals.relay import Flow, relay
from interlock.world.terminals.screen import copy_size, open_terminal, opened_again, raw

__all__ = ["InteractiveEnd", "run_interactive"]

_GRACE: Final = 2.0
_REAPING: Final = 5.0
_SIGNALS: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_BY_SIGNAL: Final = 128


class InteractiveEnd(msgspec.Struct, frozen=True):
    """How it ended."""

    status: int
    """Its exit status, as a shell has it."""
    was_asked: bool = False
    """True if we were asked to end it, by a signal or because the terminal is gone."""
    excess: Failure | None = None
    """The limit of the machine for which it was ended."""


def run_interactive(agent: InteractiveAgent, assignment: Assignment) -> InteractiveEnd:
    """Run an agent with this process's streams, relayed. Raises `OSError` if it cannot be started.

    Call it in the main thread, which ends with all that the agent started. A terminal is as it was before, afterwards.
    """
    assignment = replace(assignment, environment=child_environment(assignment.environment))
    launch = agent.interactive(as_seen(assignment))
    with prepared(agent.name, launch, assignment) as begun, _asked_to_end() as asked:
        is_terminal = os.isatty(0) and os.isatty(1)
        return (_in_terminal if is_terminal else _with_pipes)(begun, assignment, asked)


def _in_terminal(begun: Prepared, assignment: Assignment, asked: list[int]) -> InteractiveEnd:
    words, escapes = begun.words, EscapeFilter()
    if assignment.confinement is None or assignment.confinement.sandbox.name != "bubblewrap":
        words = (sys.executable, "-I", "-S", "-B", inside.__file__, inside.ON_TERMINAL, *words)
    ours, theirs = open_terminal(0)
    with ExitStack() as stack:
        stack.callback(os.close, ours)
        try:
            process = _started(begun, words, theirs)
        finally:
            os.close(theirs)
        following = stack.enter_context(_following(process, begun, assignment, asked))
        screen = stack.enter_context(opened_again(1))
        stack.enter_context(_resized(ours))
        stack.enter_context(raw(0, escapes.restoring))
        following.serve(Flow(0, ours), [Flow(ours, screen, escapes=escapes)])
    return following.end()


def _with_pipes(begun: Prepared, assignment: Assignment, asked: list[int]) -> InteractiveEnd:
    process = _started(begun, begun.words, subprocess.PIPE)
    with process, _following(process, begun, assignment, asked) as following:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        outward = []
        for source, target in ((process.stdout, 1), (process.stderr, 2)):
            escapes = EscapeFilter() if os.isatty(target) else None
            outward.append(Flow(source.fileno(), target, escapes=escapes, close=source.close))
        inward = Flow(0, process.stdin.fileno(), close=process.stdin.close)
        for number in (inward.target, *(one.source for one in outward)):
            os.set_blocking(number, False)
        following.serve(inward, outward)
    return following.end()


def _started(begun: Prepared, words: Sequence[str], streams: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        cwd=begun.directory,
        env=begun.environment,
        stdin=streams,
        stdout=streams,
        stderr=streams,
        bufsize=0,
        start_new_session=True,
    )


@contextmanager
def _asked_to_end() -> Iterator[list[int]]:
    """Give the signals that ask us to end, as they come."""
    asked: list[int] = []
    before = {one: signal.signal(one, lambda number, _: asked.append(number)) for one in _SIGNALS}
    before[signal.SIGTTOU] = signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # the terminal is restored in any case
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _resized(ours: int) -> Iterator[None]:
    """Let the agent's terminal always have the size of the person's."""
    before = signal.signal(signal.SIGWINCH, lambda *_: copy_size(0, ours))
    try:
        copy_size(0, ours)
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)


@contextmanager
def _following(
    process: subprocess.Popen[bytes], begun: Prepared, assignment: Assignment, asked: list[int]
) -> Iterator[_Following]:
    """Give a process to follow; nothing of it is left afterwards."""
    try:
        yield _Following(process, assignment, begun.watch(process.pid, assignment), asked)
    finally:
        tree.kill(process.pid, assignment.marker)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_REAPING)


@dataclass(slots=True)
class _Following:
    """A run under way."""

    process: subprocess.Popen[bytes]
    assignment: Assignment
    watch: ResourceWatch | None
    asked: list[int]
    """The signals that asked us to end it."""
    excess: Failure | None = None
    asked_at: float | None = None
    """When it was asked to end."""

    def serve(self, inward: Flow, outward: Sequence[Flow]) -> None:
        """Relay until it has ended."""
        with ExitStack() as stack:
            wakes = []
            with suppress(AttributeError, OSError):  # only Linux can wait for both
                wakes.append(os.pidfd_open(self.process.pid))
                stack.callback(os.close, wakes[0])
            relay(inward, outward, lambda: self._has_ended(inward, outward), wakes)

    def end(self) -> InteractiveEnd:
        """Return how it ended, once it has."""
        code = -signal.SIGKILL if self.process.returncode is None else self.process.returncode
        if self.asked:
            code = -self.asked[0]
        return InteractiveEnd(code if code >= 0 else _BY_SIGNAL - code, bool(self.asked), self.excess)

    def _has_ended(self, inward: Flow, outward: Sequence[Flow]) -> bool:
        root, marker = self.process.pid, self.assignment.marker
        if tree.has_exited(self.process):
            tree.kill(root, marker)  # what it left could hold its streams open
            if self.asked:
                for one in outward:
                    one.waiting = b""  # whoever asked waits for the end, and perhaps nobody reads this
            return True
        present = time.monotonic()
        if self.asked_at is None and self._must_end(inward, present):
            self.asked_at = present
            # Asked to end, the process of a sandbox would end all in it at once.
            tree.terminate(root, marker, root if self.assignment.confinement is not None else None)
        elif self.asked_at is not None and present - self.asked_at > _GRACE:
            tree.kill(root, marker)
        return False

    def _must_end(self, inward: Flow, present: float) -> bool:
        if inward.close is None and not inward.reads and not self.asked:  # the person's terminal is gone
            self.asked.append(signal.SIGHUP)
        if self.watch is not None:
            self.excess = self.watch.look(present)
        return bool(self.asked) or self.excess is not None
