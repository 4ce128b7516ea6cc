"""Processes that are killed at the n-th moment at which they would change the world.

A moment is right before a write of the journal, before a file of the place is opened for writing, moved or removed,
before a process is started and right after it was. What a process does between two moments changes nothing that the
next one reads, so a death anywhere is a death at one of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from interlock.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from interlock.journal.store import Sql

__all__ = ["LIVED", "Fate", "MortalStore", "moments_in", "say", "watch"]

LIVED = "lived through: "
"""What a line begins with that names a moment."""
Result = TypeVar("Result")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {"os.link": 1, "os.rename": 1, "os.symlink": 1, "os.remove": 0, "os.rmdir": 0, "os.truncate": 0}
"""What changes a file, and which of its arguments is the file that is changed. Directories that are made, and modes
that are set on a file that nobody reads yet, change nothing for the next process."""


class Fate:
    """Counts the moments of this process, and kills it at one of them; the processes of git that only read are none."""

    def __init__(self, place: Path, dies: int | None, reading: Collection[str] = ()) -> None:
        self._place = f"{place}{os.sep}"
        self._dies = dies
        self._reading = reading
        self.lived: list[str] = []

    def moment(self, what: str) -> None:
        if len(self.lived) == self._dies:
            os.kill(os.getpid(), signal.SIGKILL)
        self.lived.append(what)

    def hear(self, event: str, about: tuple[Any, ...]) -> None:
        """What Python itself tells before it is done."""
        if event == "open":
            name, _, flags = about
            if isinstance(name, str) and flags & _WRITING and name.startswith(self._place):
                self.moment(f"open {self._named(name)}")
            elif isinstance(name, str) and flags & os.O_APPEND and not name.startswith(os.sep):
                self.moment(f"append {name}")  # in a directory that is open: any other writer moves a file into place
        elif event == "subprocess.Popen":
            self.process("start", about[1])
        elif event in _CHANGES:
            name = _whole(str(about[_CHANGES[event]]), about[-1])
            if name.startswith(self._place):
                self.moment(f"{event} {self._named(name)}")

    def process(self, what: str, words: Any) -> None:
        program, verb = Path(words[0]).name, _verb(words)
        if program != "git" or verb not in self._reading:
            self.moment(f"{what} {program} {verb}")

    def _named(self, name: str) -> str:
        return name.removeprefix(self._place)


def _whole(name: str, directory: object) -> str:
    """A name that is relative to an open directory, as a whole."""
    if Path(name).is_absolute() or not isinstance(directory, int) or directory < 0:
        return name
    return str(Path(f"/proc/self/fd/{directory}").readlink() / name)


def _verb(words: Any) -> str:
    """The first word that is no setting."""
    rest = iter(words[1:])
    return str(next((one for one in rest if one != "-c" or not next(rest)), ""))


class MortalStore(SqliteStore):
    """A store before whose writes the process may die."""

    def __init__(self, path: Path, now: Callable[[], int], fate: Fate) -> None:
        super().__init__(path, now)
        self._fate = fate

    def write(self, work: Callable[[Sql], Result], *, decides_first: bool = False) -> Result:
        self._fate.moment("journal")
        return super().write(work, decides_first=decides_first)


def watch(fate: Fate) -> None:
    """Let nothing happen from now on that is no moment."""

    class Watched(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            fate.process("started", self.args)

    subprocess.Popen = Watched  # type: ignore[misc]
    sys.addaudithook(fate.hear)


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def moments_in(told: str) -> list[str]:
    """The moments that a process named when it had lived through all of them."""
    return [line.removeprefix(LIVED) for line in told.splitlines() if line.startswith(LIVED)]
