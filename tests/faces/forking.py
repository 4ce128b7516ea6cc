"""`ralph` and `ralph-hook` as processes of their own without the imports: a server that has made them forks for each.

Three quarters of what a short command costs is its imports. The child is a process like any other: its own pid, place,
environment, streams, session and terminal, and the exit status of the real entry point; it is called `ralph`. What
differs: its parent is the server, `/proc/PID/cmdline` and `/proc/PID/environ` are the server's, the seed of `hash` is
that of all the server's children, and at its end it frees nothing. Where that or the start itself would matter,
`started` gives None, and the caller starts the program. Tests of who is at a terminal, and of what others see of a
process, use the fixture `real_starts`; `RALPH_TEST_REAL_STARTS=1` has everything started. `run_module` does the same
for programs of the tests.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import IO

import pytest

from faces import fork_server
from faces.fork_server import MOST
from patience import SECONDS

__all__ = ["HOOK", "RALPH", "Forked", "real_starts", "run_module", "started"]

RALPH = Path(sys.executable).parent / "ralph"
HOOK = Path(sys.executable).parent / "ralph-hook"
_STARTS = {"are real": os.environ.get("RALPH_TEST_REAL_STARTS") == "1"}
_LOCALE = {"LANG": "C.UTF-8"}
_OF_THE_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "RALPH_RUN")
"""What names begin with that count at the start of a program, or are read from outside, of what it began with."""
_SERVING: tuple[str, ...] = ()
_OTHERWISE = ("interlock.faces.mcp", "interlock.faces.web")
"""What a server leaves out: each child that ends pays for all that was imported, and few commands need these."""
_HOOK = "--hook"
_MODULE = "--module"
_PIPE = 60_000
"""What surely fits into a pipe that nobody reads yet."""


class Forked:
    """A process that the server forked, with what tests ask of a `subprocess.Popen`."""

    def __init__(self, pid: int, status: IO[bytes], stdout: IO[bytes] | None, stderr: IO[bytes] | None) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdout = stdout
        self.stderr = stderr
        self._status = status

    def poll(self) -> int | None:
        """The exit status, if it has ended."""
        return self._ended(0)

    def wait(self, timeout: float) -> int:
        """The exit status, waited for."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("ralph", timeout)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """All that it still writes on stdout and stderr, to the end of both, and then its end."""
        deadline = time.monotonic() + timeout
        streams = [stream for stream in (self.stdout, self.stderr) if stream is not None]
        said = dict.fromkeys(streams, b"")
        with ExitStack() as closing, selectors.DefaultSelector() as selector:
            for stream in streams:
                closing.enter_context(stream)
                selector.register(stream, selectors.EVENT_READ, stream)
            while selector.get_map():
                ready = selector.select(max(deadline - time.monotonic(), 0))
                if not ready:
                    raise subprocess.TimeoutExpired("ralph", timeout)
                for key, _ in ready:
                    chunk = os.read(key.fd, 65536)
                    said[key.data] += chunk
                    if not chunk:
                        selector.unregister(key.fd)
        self.stdout = self.stderr = None
        self.wait(max(deadline - time.monotonic(), 0))
        out, err = (*said.values(), b"", b"")[:2]
        return out, err

    def _ended(self, timeout: float) -> int | None:
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._status, selectors.EVENT_READ)
                if selector.select(timeout):
                    self.returncode = _number(self._status)
                    self._status.close()
        return self.returncode


@contextmanager
def real_starts() -> Iterator[None]:
    """Nothing is forked meanwhile."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(_STARTS, "are real", True)
        yield


def started(
    words: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str],
    program: Path = RALPH,
    stdin: bytes | int | None = None,
    terminal: int | None = None,
) -> Forked | None:
    """`ralph` or the hook with these words, in pipes or a terminal of its own; None where only a real start will do.

    What it reads is these bytes, or comes over a descriptor, which stays the caller's to close.
    """
    is_too_much = isinstance(stdin, bytes) and len(stdin) > _PIPE
    if _STARTS["are real"] or is_too_much or not _can_be_forked(words, cwd, env):
        return None
    if program == HOOK:
        server = _server((_HOOK,))
    else:
        server = _server(_SERVING if words and words[0] in ("mcp", "serve") else _OTHERWISE)
    if server is None:
        return None
    return _ordered(server, [str(program), *map(str, words)], cwd, env, stdin, terminal)


def run_module(name: str, *words: str, env: Mapping[str, str]) -> tuple[int, str, str]:
    """Run a module of the tests as a program: its exit status, and what it wrote on stdout and stderr."""
    tests = Path(__file__).parents[1]
    server = None if _STARTS["are real"] else _server((_MODULE, name))
    if server is None:
        command = [sys.executable, "-m", name, *words]
        environment = {**env, "PYTHONPATH": str(tests)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
        return done.returncode, done.stdout, done.stderr
    forked = _ordered(server, [name, *words], tests, env, None, None)
    assert forked is not None, "what it is told is too long"
    try:
        out, err = forked.communicate(SECONDS)
    finally:
        forked.kill()
        code = forked.wait(SECONDS)
    return code, out.decode(), err.decode()


def _ordered(
    server: socket.socket,
    words: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | int | None,
    terminal: int | None,
) -> Forked | None:
    """The process that the server forks for an order; None if the order is too long."""
    order = {"words": words, "cwd": str(cwd), "env": dict(env), "umask": _umask()}
    message = json.dumps({**order, "terminal": terminal is not None}).encode()
    if len(message) > MOST:
        return None
    with ExitStack() as theirs:
        status, told = _pipe(theirs)
        stdout = stderr = None
        if terminal is None:
            stdout, out = _pipe(theirs)
            stderr, err = _pipe(theirs)
            streams = [_fed(stdin, theirs), out, err]
        else:
            streams = [terminal] * 3
        socket.send_fds(server, [message], [*streams, told])
    return Forked(_number(status), status, stdout, stderr)


def _can_be_forked(words: Sequence[str | Path], cwd: Path, env: Mapping[str, str]) -> bool:
    """Whether nothing is asked for that only the start of a program can do, or that others see of it."""
    of_the_start = {name: value for name, value in env.items() if name.startswith(_OF_THE_START)}
    texts = [*map(str, words), *env.values()]
    return of_the_start == _LOCALE and not any("\0" in text for text in texts) and cwd.is_dir()


@cache
def _server(left_out: tuple[str, ...]) -> socket.socket | None:
    """The way to our server that has imported all but these, which ends when it is closed; None where none can be.

    Or the server of the hook, or of a module of the tests, which is named after `--module`.
    """
    if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"):
        return None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, fork_server.__file__, str(theirs.fileno()), *left_out],
            env={"PATH": os.environ["PATH"], **_LOCALE},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    atexit.register(server.wait)
    atexit.register(ours.close)
    return ours if ours.recv(1) else None


def _fed(stdin: bytes | int | None, theirs: ExitStack) -> int:
    """A pipe that holds these bytes and no more will come, or nothing at all; or the descriptor that is given."""
    if isinstance(stdin, int):
        return stdin
    if stdin is None:
        read = os.open(os.devnull, os.O_RDONLY)
    else:
        read, write = os.pipe()
        os.write(write, stdin)
        os.close(write)
    theirs.callback(os.close, read)
    return read


def _pipe(theirs: ExitStack) -> tuple[IO[bytes], int]:
    """Our end of a pipe that the child writes to, and its end, which we close when it has got it."""
    read, write = os.pipe()
    theirs.callback(os.close, write)
    return os.fdopen(read, "rb", buffering=0), write


def _number(told: IO[bytes]) -> int:
    line = told.readline()
    assert line, "the server that forks `ralph` has ended; RALPH_TEST_REAL_STARTS=1 does without it"
    return int(line)


def _umask() -> int:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["Umask"], 8)
