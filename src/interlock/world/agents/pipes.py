"""The three streams of a child, served together without a thread, so that neither side can block the other."""

from __future__ import annotations

import os
import selectors
from collections import deque
from collections.abc import Iterator
from enum import Enum, auto
from subprocess import Popen
from typing import Self

__all__ = ["Pipes", "Stream"]

_READ = 256 * 1024
_WRITE = 64 * 1024
_MOST = 64 * 1024 * 1024
"""How many bytes may wait for a child that does not read."""


class Stream(Enum):
    """Which stream a child wrote to."""

    OUT = auto()
    ERR = auto()


class Pipes:
    """A child's streams, until they are closed. What is sent waits here until the child reads it."""

    def __init__(self, process: Popen[bytes], *, stays_open: bool) -> None:
        self._selector = selectors.DefaultSelector()
        self._stdin = process.stdin
        self._waiting: deque[memoryview] = deque()
        self._closing = not stays_open
        self._files = [one for one in (process.stdin, process.stdout, process.stderr) if one is not None]
        self._exit = _exit_of(process.pid)
        if self._exit is not None:
            self._selector.register(self._exit, selectors.EVENT_READ)
        for file, stream in ((process.stdout, Stream.OUT), (process.stderr, Stream.ERR)):
            if file is not None:
                os.set_blocking(file.fileno(), False)
                self._selector.register(file, selectors.EVENT_READ, stream)
        if self._stdin is not None:
            os.set_blocking(self._stdin.fileno(), False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._selector.close()
        for file in self._files:
            file.close()
        if self._exit is not None:
            os.close(self._exit)

    @property
    def are_open(self) -> bool:
        """Whether the child, or whoever it gave them to, can still write."""
        return any(isinstance(key.data, Stream) for key in self._selector.get_map().values())

    def send(self, data: bytes) -> None:
        """Have the child read this, behind what waits already; dropped where it has closed its stdin or never reads."""
        if self._stdin is None or not data or sum(map(len, self._waiting)) > _MOST:
            return
        if not self._waiting:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        self._waiting.append(memoryview(data))

    def close_input(self) -> None:
        """Close the child's stdin as soon as it has read all."""
        self._closing = True
        if not self._waiting:
            self._close_input()

    def turn(self, seconds: float) -> Iterator[tuple[Stream, bytes]]:
        """Wait for anything to do, or for its exit, but not longer; what was read, and b"" for a closed stream."""
        for key, _ in self._selector.select(seconds):
            if key.events == selectors.EVENT_WRITE:
                self._write()
                continue
            if key.data is None:  # it has exited, which is told once
                self._selector.unregister(key.fileobj)
                continue
            try:
                data = os.read(key.fd, _READ)
            except BlockingIOError:
                continue
            if not data:
                self._selector.unregister(key.fileobj)
            yield key.data, data

    def _write(self) -> None:
        assert self._stdin is not None
        try:
            written = os.write(self._stdin.fileno(), self._waiting[0][:_WRITE])
        except BlockingIOError:
            return
        except OSError:  # it does not read any more, and nobody minds
            self._selector.unregister(self._stdin)
            self._close_input()
            return
        rest = self._waiting.popleft()[written:]
        if rest:
            self._waiting.appendleft(rest)
        elif not self._waiting:
            self._selector.unregister(self._stdin)
            if self._closing:
                self._close_input()

    def _close_input(self) -> None:
        self._waiting.clear()
        if self._stdin is not None:
            self._stdin.close()
        self._stdin = None


def _exit_of(pid: int) -> int | None:
    """What can be waited on for a child's exit, where the system has it (Linux); elsewhere the exit is polled."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
