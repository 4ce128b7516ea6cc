"""Stdin and stdout for the SDK's server, without the threads that its own streams use.

The SDK sends each line read, each answer written and each flush to a thread and waits for it. Here the event loop reads
what has arrived, and writes an answer if the pipe has room for it.
"""

from __future__ import annotations

import fcntl
import os
import select
import stat
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from io import IncrementalNewlineDecoder
from pathlib import Path
from typing import TextIO

import anyio

__all__ = ["client_streams"]

_STDIN, _STDOUT, _STDERR = range(3)
_CHUNK = 64 * 1024

Streams = tuple[anyio.AsyncFile[str] | None, anyio.AsyncFile[str]]


@contextmanager
def client_streams() -> Iterator[Streams]:
    """Take stdin and stdout for messages; until the end, other code reads nothing from stdin and prints to stderr.

    The input is None if an event loop cannot wait for it, because it is a file: the SDK then reads it itself.
    """
    with _taken(_STDOUT, _STDERR) as output:
        stdout = _ClientOutput(os.fdopen(output, "w", 1, "utf-8", closefd=False))
        if not _can_be_awaited(_STDIN):
            yield None, stdout
            return
        with Path(os.devnull).open() as nothing, _taken(_STDIN, nothing.fileno()) as messages:
            yield _ClientInput(os.fdopen(messages, closefd=False)), stdout


@contextmanager
def _taken(stream: int, instead: int) -> Iterator[int]:
    """Yield a private duplicate of a standard stream, which itself leads to another descriptor meanwhile."""
    # The duplicate is never closed: a thread may still use it, and a new file must not get its number.
    own = fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)
    _redirect(stream, instead)
    try:
        yield own
    finally:
        os.dup2(own, stream)


def _redirect(stream: int, to: int) -> None:
    try:
        os.dup2(to, stream)
    except OSError:  # stderr is closed
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), stream)


def _can_be_awaited(stream: int) -> bool:
    """True for a pipe or socket; epoll refuses files."""
    mode = os.fstat(stream).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class _ClientInput(anyio.AsyncFile[str]):
    """The lines of a pipe or socket, decoded as a text file decodes them."""

    def __init__(self, file: TextIO) -> None:
        super().__init__(file)
        self._descriptor = file.fileno()
        self._decoder = IncrementalNewlineDecoder(getincrementaldecoder("utf-8")("replace"), translate=True)
        self._lines: deque[str] = deque()
        self._begun: list[str] = []
        """Parts of the last line, whose end has not arrived."""

    async def readline(self) -> str:
        """Return the next line, or an empty text at the end of the input."""
        while not self._lines:
            await anyio.wait_readable(self._descriptor)
            self._take(os.read(self._descriptor, _CHUNK))
        return self._lines.popleft()

    def _take(self, chunk: bytes) -> None:
        first, *others = self._decoder.decode(chunk, final=not chunk).split("\n")
        self._begun.append(first)
        for other in others:
            self._lines.append("".join(self._begun) + "\n")
            self._begun = [other]
        if not chunk:
            self._lines.append("".join(self._begun))
            self._begun = []


class _ClientOutput(anyio.AsyncFile[str]):
    """A line-buffered file that one task writes whole lines to."""

    def __init__(self, file: TextIO) -> None:
        super().__init__(file)
        self._room = select.poll()
        self._room.register(file.fileno(), select.POLLOUT)

    async def write(self, b: str) -> int:
        """Write a line through to the client; in a thread if that may have to wait until the client reads."""
        # So many bytes never wait where poll reports room.
        if len(b.encode()) <= select.PIPE_BUF and self._room.poll(0):
            return self.wrapped.write(b)
        return await super().write(b)

    async def flush(self) -> None:
        """Do nothing: each line was written through."""
