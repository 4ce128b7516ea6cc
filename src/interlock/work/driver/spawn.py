"""Drivers as processes of their own, started on behalf of a person who is elsewhere; the journal is the only link.

A driver is in a session of its own, without a terminal. It continues when its starter ends, as it would if another
terminal had started it: the person pauses it from any page or terminal, and a new server shows it again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from interlock.errors import CODES, Exit, InterlockError
from interlock.journal import Instance, Journal
from interlock.machine.model import NOTED, OBSERVED
from interlock.work.driver.lease_holders import is_driven
from interlock.work.formats.times import seconds_of
from interlock.work.tickets.numbers import number_of
from interlock.world.files import FILE_CLOCK_LAG

__all__ = ["Drivers"]

_WORDS: Final = {
    "thread": ("thread", "drive"),
    "orchestrator": ("orchestrate", "drive"),
    "story": ("story", "drive"),
    "ticket": ("work",),
}
"""What drives each, and decides nothing: somebody may have said something else since."""
_TAIL: Final = 20_000
_LINES: Final = 12
_LOOK_SECONDS: Final = 0.5
_TOLD: Final = (Exit.PERSON_NEEDED, Exit.HELD, Exit.INTERRUPTED)
"""How a driver ends that did what it could: the page of what it drove says the rest."""


class Drivers(msgspec.Struct):
    """Starts drivers in one repository."""

    journal: Journal
    root: Path
    state_directory: Path
    environment: Mapping[str, str]
    private: frozenset[str]
    """The variables of the environment that neither drivers nor their agents get."""
    _ours: dict[tuple[str, str], bool] = msgspec.field(default_factory=dict)
    """What drivers of ours drive, and whether somebody moved it since: then another one looks at it again."""
    _awaited: dict[tuple[str, str], int] = msgspec.field(default_factory=dict)
    """What others hold that somebody moved here, with its version then."""
    _ended: set[str] = msgspec.field(default_factory=set)
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def start(self, machine: str, id_: str) -> bool:
        """Let something go on by itself as far as it can; False where somebody else drives it.

        A driver may just be ending, or somebody hold it who drives nothing, and not have seen the move that this is
        for: then one of ours follows.
        """
        with self._lock:
            if (machine, id_) in self._ours:
                self._ours[machine, id_] = True
                return True
            if self._is_held(machine, id_):
                if machine != "ticket" or self._is_driven(machine, id_):
                    self._await(machine, id_)
                return False
            self._follow(machine, id_, self._begun(machine, id_))
            return True

    def _follow(self, machine: str, id_: str, process: subprocess.Popen[bytes]) -> None:
        self._ours[machine, id_] = False
        threading.Thread(target=self._wait, args=(machine, id_, process), daemon=True).start()

    def _wait(self, machine: str, id_: str, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        with self._lock:
            self._ended.add(id_)
            if self._ours.pop((machine, id_)):
                self._follow(machine, id_, self._begun(machine, id_))

    def _await(self, machine: str, id_: str) -> None:
        """Look at something again when whoever holds it now lets it go."""
        is_new = (machine, id_) not in self._awaited
        self._awaited[machine, id_] = self.journal.instance(id_).version
        if is_new:
            threading.Thread(target=self._follow_other, args=(machine, id_), daemon=True).start()

    def _follow_other(self, machine: str, id_: str) -> None:
        """Drive on what somebody else has let go of, unless they have seen the last move and gone on with it."""
        with suppress(InterlockError):  # the journal does not answer, or the server has ended
            while self._is_held(machine, id_):
                time.sleep(_LOOK_SECONDS)
        with self._lock, suppress(InterlockError):
            later = self.journal.history(id_, self._awaited.pop((machine, id_)))
            if (machine, id_) not in self._ours and all(one.event in (NOTED, OBSERVED) for one in later):
                self._follow(machine, id_, self._begun(machine, id_))

    def _is_held(self, machine: str, id_: str) -> bool:
        """True if a process drives it, or holds the ticket to work on it."""
        return is_driven(self.journal, machine, id_) or self._is_driven(machine, id_)

    def _is_driven(self, machine: str, id_: str) -> bool:
        """True if a process drives it; the lease `ticket:ID` is the lock of whoever works on a ticket."""
        return is_driven(self.journal, "work" if machine == "ticket" else machine, id_)

    def _begun(self, machine: str, id_: str) -> subprocess.Popen[bytes]:
        words = [*_WORDS[machine], *self._called(machine, id_), "--json"]
        log = self.log_of(machine, id_)
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with log.open("wb") as kept:
                return subprocess.Popen(
                    [sys.executable, "-P", "-m", "interlock", *words],  # never a package of the work tree
                    cwd=self.root,
                    env={name: value for name, value in self.environment.items() if name not in self.private},
                    stdin=subprocess.DEVNULL,
                    stdout=kept,
                    stderr=kept,
                    start_new_session=True,
                )
        except OSError as error:
            message = f"The driver of {machine} {id_} could not be started: {error.strerror}."
            raise InterlockError("internal_error", message, f"`ralph {' '.join(words[:-1])}` starts it.") from None

    def _called(self, machine: str, id_: str) -> tuple[str, ...]:
        """What a command calls the instance by."""
        if machine == "ticket":
            return (str(number_of(self.journal.history(id_)[0].decoded_evidence().names)),)
        return (id_,)

    def log_of(self, machine: str, id_: str) -> Path:
        """What the last driver said."""
        return self.state_directory / "drivers" / f"{machine}-{id_}.log"

    def trouble(self, instance: Instance) -> str:
        """Why the last driver that we started ended, where it failed and nothing happened since; else empty."""
        machine, id_ = instance.machine, instance.id
        try:
            with self.log_of(machine, id_).open("rb") as log:
                ended = os.fstat(log.fileno()).st_mtime
                log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL))
                said = log.read().decode("utf-8", "replace").strip()
        except OSError:
            return ""
        is_past = ended + FILE_CLOCK_LAG < seconds_of(instance.updated)
        if not said or is_past or (machine, id_) in self._ours or self._is_held(machine, id_):
            return ""
        return _failure(said)

    def news(self) -> set[str]:
        """The instances whose drivers ended since this was asked last."""
        with self._lock:
            found, self._ended = self._ended, set()
        return found


def _failure(said: str) -> str:
    """What a driver that failed says at its end: its error, or its last lines where it died without one."""
    lines = said.splitlines()
    try:
        last = msgspec.json.decode(lines[-1])
    except msgspec.DecodeError:
        return "\n".join(lines[-_LINES:])
    error = last.get("error") if isinstance(last, dict) else None
    if not isinstance(error, dict) or CODES.get(str(error.get("code")), (None,))[0] in _TOLD:
        return ""
    return f"{error.get('message', '')}\n{error.get('hint', '')}".strip()
