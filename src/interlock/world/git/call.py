"""The one place where git is started: a clean environment, a bounded time, a bounded answer."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import msgspec

from interlock.errors import InterlockError

__all__ = ["SECONDS", "USERS_CONFIGURATION", "GitOutput", "call", "verb_of"]

SECONDS = 120.0
"""How long git may take unless more is allowed."""
_MOST = 1 << 28
_CHUNK = 1 << 16
USERS_CONFIGURATION = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM")
"""The environment names that say where a user's configuration is."""
_QUIET = {
    "GIT_ALLOW_PROTOCOL": "",  # no transport at all: nothing here fetches or pushes
    "GIT_ASKPASS": "false",
    "GIT_EDITOR": "false",
    "GIT_LITERAL_PATHSPECS": "1",  # a file called `:(glob)*` is that file
    "GIT_NO_REPLACE_OBJECTS": "1",  # a commit is what its hash says
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "SSH_ASKPASS_REQUIRE": "never",
}
_NOBODYS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class GitOutput(msgspec.Struct, frozen=True):
    """What git answered: its status, its output, what it said on stderr, and whether the output was cut."""

    status: int
    output: bytes
    said: str
    is_cut: bool = False


def call(
    arguments: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    *,
    feed: bytes = b"",
    most: int = _MOST,
    output: str | None = None,
    source: str | None = None,
    seconds: float = SECONDS,
    with_users_configuration: bool = False,
) -> GitOutput:
    """Run git and give its answer, whatever its status; raises `git_failed` where it does not finish.

    The user's own configuration is read only where that is asked for. More output than `most` bytes is cut,
    and git is stopped. With `output`, it goes into that file instead; with `source`, git reads that file.
    """
    base = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    users = {name: os.environ[name] for name in USERS_CONFIGURATION if name in os.environ}
    whole = base | _QUIET | (users if with_users_configuration else _NOBODYS) | dict(environment)
    with ExitStack() as held:
        try:
            process = subprocess.Popen(
                ("git", *arguments),
                cwd=directory,
                env=whole,
                stdin=_input(held, feed, source),
                stdout=held.enter_context(Path(output).open("wb")) if output else subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            if error.filename == "git":
                raise InterlockError("git_missing", "Git is not installed.", "Install git.") from None
            raise _unfinished(arguments, error) from None
        except (OSError, ValueError) as error:
            raise _unfinished(arguments, error) from None
        with process:
            try:
                told, said, is_cut = _read(process, most, time.monotonic() + seconds)
                if is_cut:
                    _stop(process)
                status = process.wait(timeout=seconds)
            except (TimeoutError, subprocess.TimeoutExpired):
                raise _unfinished(arguments, f"it took longer than {seconds:g} s") from None
            finally:
                _stop(process)
    return GitOutput(status, told, said.decode("utf-8", "replace").strip(), is_cut)


def verb_of(arguments: Sequence[str]) -> str:
    """The command among git's arguments; settings may come before it."""
    rest = iter(arguments)
    return next((one for one in rest if one != "-c" or not next(rest)), "")


def _unfinished(arguments: Sequence[str], why: object) -> InterlockError:
    return InterlockError("git_failed", f"git {verb_of(arguments)} did not finish: {why}.", "Try again.")


def _input(held: ExitStack, feed: bytes, source: str | None) -> IO[bytes] | int:
    if source is not None:
        return held.enter_context(Path(source).open("rb"))
    return held.enter_context(_file_of(feed)) if feed else subprocess.DEVNULL


@contextmanager
def _file_of(feed: bytes) -> Iterator[IO[bytes]]:
    """A file with what git is to read: a pipe could fill up while git waits for us."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(feed)
        file.seek(0)
        yield file


def _read(process: subprocess.Popen[bytes], most: int, deadline: float) -> tuple[bytes, bytes, bool]:
    """All that git says on stdout and the beginning of what it says on stderr, and whether stdout is cut."""
    output, said = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for stream, kept in ((process.stdout, output), (process.stderr, said)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, kept)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.data is output or len(said) < _CHUNK:
                    key.data.extend(chunk)
            if len(output) > most:
                return bytes(output[:most]), bytes(said), True
    return bytes(output), bytes(said), False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started, such as a signing program."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
