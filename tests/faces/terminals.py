"""A terminal that a test looks at and types into while a program runs on it."""

from __future__ import annotations

import os
import select
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from faces.programs import Process, begun
from patience import SECONDS

__all__ = ["Terminal", "terminal"]


class Terminal:
    """Our end of a terminal, and the program on it."""

    def __init__(self, ours: int, theirs: int, process: Process) -> None:
        self.process = process
        self.screen = ""
        """All that reached it."""
        self._ours = ours
        self._theirs = theirs
        self._looked = 0
        self._modes = termios.tcgetattr(theirs)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, text: str) -> str:
        """Wait until a text has appeared, behind the one that was waited for before; gives what came until then."""
        self._read_while(lambda: text not in self.screen[self._looked :], f"{text!r} did not appear")
        start, self._looked = self._looked, self.screen.index(text, self._looked) + len(text)
        return self.screen[start : self._looked]

    def resize(self, rows: int, columns: int) -> None:
        termios.tcsetwinsize(self._ours, (rows, columns))

    def ended(self) -> int:
        """Wait for the end of the program; gives its exit status, and `screen` has everything."""
        self._read_while(lambda: self.process.poll() is None, "it did not end")
        while self._read(0.2):
            pass
        return self.process.wait(SECONDS)

    @property
    def is_restored(self) -> bool:
        """True if all its settings are as they were when the program began."""
        return termios.tcgetattr(self._theirs) == self._modes

    @property
    def device(self) -> int:
        return os.fstat(self._theirs).st_rdev

    @property
    def path(self) -> str:
        return os.ttyname(self._theirs)

    def hang_up(self) -> None:
        """Close it, as a person closes a window."""
        os.dup2(os.open(os.devnull, os.O_RDWR), self._ours)

    def waiting(self) -> bytes:
        """What the person's shell would read now."""
        os.set_blocking(self._theirs, False)
        modes = termios.tcgetattr(self._theirs)
        modes[3] &= ~termios.ICANON  # also half a line
        termios.tcsetattr(self._theirs, termios.TCSANOW, modes)
        try:
            return os.read(self._theirs, 4096)
        except BlockingIOError:
            return b""

    def _read_while(self, goes_on: Callable[[], bool], trouble: str) -> None:
        deadline = time.monotonic() + SECONDS
        while goes_on():
            assert time.monotonic() < deadline, f"{trouble}: {self.screen!r}"
            self._read(0.2)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        self.screen += os.read(self._ours, 65536).decode("utf-8", "replace")
        return True


@contextmanager
def terminal(
    *words: str | Path, cwd: Path, env: Mapping[str, str], rows: int = 24, columns: int = 80
) -> Iterator[Terminal]:
    """Run `ralph` on a terminal that controls it; it is gone afterwards."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (rows, columns))
    process = begun(*words, cwd=cwd, env={**env, "TERM": "xterm-256color"}, terminal=theirs)
    try:
        yield Terminal(ours, theirs, process)
    finally:
        process.kill()
        process.wait(SECONDS)
        os.close(ours)
        os.close(theirs)
