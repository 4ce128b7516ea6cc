"""The real programs, run as people and agents run them: as processes, in a place and an environment of their own."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import selectors
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faces.forking import HOOK, RALPH, Forked, started
from interlock.errors import CODES, Exit, InterlockError
from interlock.faces.cli.main import run as run_words
from interlock.faces.cli.output import Output
from interlock.world.ancestry import INITIAL_NAMESPACE, namespace
from patience import SECONDS

__all__ = [
    "AUTHORIZED",
    "HOOK",
    "RALPH",
    "SECONDS",
    "SERVE_TOKEN",
    "Process",
    "Result",
    "Stream",
    "begun",
    "checked_error",
    "clean_environment",
    "control",
    "followed",
    "run",
    "run_here",
    "run_in_terminal",
]

_KEY_NEEDED = "Only a key with a passphrase or a touch proves a person then"
SERVE_TOKEN = "the-token-of-every-server-that-a-test-starts"
AUTHORIZED = {"Authorization": f"Bearer {SERVE_TOKEN}"}
"""The header of a request to such a server."""

Process = subprocess.Popen[bytes] | Forked


class Result(msgspec.Struct, frozen=True):
    """What a program said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The data of a success: one envelope on stdout, and nothing else there."""
        envelope = self._envelope()
        assert envelope.keys() == {"ok", "data"}, self
        assert envelope["ok"] is True
        assert self.code == 0, self
        return envelope["data"]

    @property
    def error(self) -> dict[str, Any]:
        """The error of a failure: one envelope on stdout, with the exit status of the catalogue."""
        envelope = self._envelope()
        assert envelope.keys() == {"ok", "error"}, self
        assert envelope["ok"] is False
        return checked_error(envelope["error"], self.code)

    def _envelope(self) -> dict[str, Any]:
        assert self.out.count("\n") == 1, self
        assert self.out.endswith("\n"), self
        envelope: dict[str, Any] = json.loads(self.out)
        return envelope


def checked_error(error: dict[str, Any], code: int) -> dict[str, Any]:
    """An error as every face shows it, held to the catalogue."""
    assert {"code", "message", "hint"} <= error.keys() <= {"code", "message", "hint", "details"}, error
    assert error["message"], error
    assert code == CODES[error["code"]][0], (code, error)
    assert code != 2
    return error


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """An environment that nobody's settings leak into."""
    return {
        "PATH": f"{RALPH.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"],
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "RALPH_SERVE_TOKEN": SERVE_TOKEN,
        **more,
    }


def run(
    *words: str | Path,
    cwd: Path,
    env: Mapping[str, str],
    program: Path = RALPH,
    stdin: bytes | None = b"",
    seconds: float = SECONDS,
) -> Result:
    """Run a program to its end."""
    can_be_forked = program in (RALPH, HOOK) and stdin is not None
    if can_be_forked and (forked := started(words, cwd=cwd, env=env, program=program, stdin=stdin)):
        try:
            out, err = forked.communicate(seconds)
        finally:
            forked.kill()
            code = forked.wait(SECONDS)
        return Result(code, out.decode(), err.decode())
    done = subprocess.run(
        [program, *words], cwd=cwd, env=dict(env), input=stdin, capture_output=True, timeout=seconds, check=False
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_here(*words: str | Path, cwd: Path, env: Mapping[str, str]) -> Result:
    """Run `ralph` in this process, which is faster; nothing but what it writes and how it would exit is the same."""
    stdout, stderr = io.StringIO(), io.StringIO()
    output = Output(json="--json" in words, stdout=stdout, stderr=stderr)
    code = Exit.OK
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(cwd)
        for name in os.environ.keys() - env.keys():
            patched.delenv(name)
        for name, value in env.items():
            patched.setenv(name, value)
        try:
            run_words([str(word) for word in words], output)
        except InterlockError as error:
            output.failure(error)
            code = error.exit
    return Result(code, stdout.getvalue(), stderr.getvalue())


class Stream:
    """A program that goes on, and the lines it has not been asked for yet."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._rest = b""

    def line(self) -> str:
        """The next line, waited for, but not forever."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                assert selector.select(deadline - time.monotonic()), "no line came"
                chunk = os.read(self.process.stdout.fileno(), 65536)
                assert chunk, "the program ended"
                self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()

    def interrupt(self) -> Result:
        """Press Ctrl+C, and see how it ends."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=SECONDS)
        return Result(self.process.wait(SECONDS), (self._rest + out).decode(), err.decode())


@contextmanager
def followed(*words: str | Path, cwd: Path, env: Mapping[str, str], program: Path = RALPH) -> Iterator[Stream]:
    """A program that is read while it runs, and is gone afterwards."""
    process = begun(*words, cwd=cwd, env=env, program=program)
    try:
        yield Stream(process)
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def run_in_terminal(
    *words: str | Path,
    cwd: Path,
    env: Mapping[str, str],
    columns: int = 100,
    typed: str = "",
    answers: Sequence[tuple[str, str | Callable[[], str]]] = (),
    program: Path = RALPH,
    seconds: float = SECONDS,
) -> tuple[int, str]:
    """Run a program in a terminal of its own, with keys typed; its exit status, and all that reached the screen.

    Each of the answers is typed when the question before it has appeared, one after the other. One that is a function
    is made then: what it does happens while the person looks.
    """
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, columns))
    env = {**env, "COLUMNS": str(columns), "LINES": "50", "TERM": "xterm-256color"}
    process = begun(*words, cwd=cwd, env=env, program=program, terminal=theirs)
    os.close(theirs)
    try:
        os.write(ours, typed.encode())
        screen = _read_to_the_end(ours, answers, seconds)
        if namespace() != INITIAL_NAMESPACE and _KEY_NEEDED in " ".join(screen.split()):
            pytest.skip("these tests run in a container, where a terminal proves no person")
        return process.wait(SECONDS), screen
    finally:
        os.close(ours)
        process.kill()
        process.wait(SECONDS)


def begun(
    *words: str | Path, cwd: Path, env: Mapping[str, str], program: Path = RALPH, terminal: int | None = None
) -> Process:
    """A program that has just begun: in a terminal that controls its session, or with nothing to read and two pipes."""
    if program == RALPH and (forked := started(words, cwd=cwd, env=env, terminal=terminal)):
        return forked
    if terminal is None:
        return subprocess.Popen(
            [program, *words],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    return subprocess.Popen(
        [program, *words],
        cwd=cwd,
        env=dict(env),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=control,
    )


def control() -> None:
    """Make stdin the terminal that controls this new session, as a shell's window does."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read_to_the_end(terminal: int, answers: Sequence[tuple[str, str | Callable[[], str]]], seconds: float) -> str:
    seen, looked, waiting = b"", 0, list(answers)
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(terminal, selectors.EVENT_READ)
        while True:
            assert selector.select(deadline - time.monotonic()), "the program hangs"
            try:
                chunk = os.read(terminal, 65536)
            except OSError:  # Linux says so when the other end is closed
                chunk = b""
            if not chunk:
                assert not waiting, (waiting, seen)
                return seen.decode()
            seen += chunk
            if waiting and (found := seen.find(waiting[0][0].encode(), looked)) >= 0:
                looked = found + 1
                answer = waiting.pop(0)[1]
                os.write(terminal, (answer if isinstance(answer, str) else answer()).encode())
