"""Steering something that runs: Ctrl+C here, or a person's word in the journal from elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec

from interlock.journal import Entry, Journal

__all__ = ["Interrupts", "PauseRequested"]

_LOOK_SECONDS = 0.5


class Interrupts(msgspec.Struct):
    """Whether what runs is to end now: pressed often enough, or told so in the journal."""

    journal: Journal
    is_told: Callable[[Entry], bool]
    """Whether an entry that was just written says to stop."""
    clock: Callable[[], float] = time.monotonic
    patience: int = 1
    """How often Ctrl+C is pressed until whatever runs is ended."""
    presses: int = 0
    was_told: bool = False
    _head: int = 0
    _looked: float = 0.0
    _woken: threading.Event = msgspec.field(default_factory=threading.Event)

    def press(self) -> None:
        """Ctrl+C was pressed."""
        self.presses += 1
        self._woken.set()

    def is_set(self) -> bool:
        if self.presses >= self.patience or self.was_told:
            return True
        if self.clock() - self._looked >= _LOOK_SECONDS:
            self._looked = self.clock()
            self._look()
        return self.was_told

    def _look(self) -> None:
        head = self.journal.head()
        self._head = self._head or head
        while self._head < head:  # they are read a thousand at a time
            news = self.journal.entries(self._head)
            self._head = news[-1].seq
            self.was_told = self.was_told or any(self.is_told(one) for one in news)

    def listen_again(self) -> None:
        """Count what is told from now on: what was told before is in the journal, and is read there."""
        self.was_told, self._head = False, self.journal.head()

    @property
    def stop(self) -> Interrupts:
        return self

    def wait(self, seconds: float) -> None:
        """Wait so long, or until it is to stop, or somebody pressed."""
        until = self.clock() + seconds
        pressed = self.presses
        while not self.is_set() and self.presses == pressed and self.clock() < until:
            self._woken.wait(min(_LOOK_SECONDS, max(0.0, until - self.clock())))


class PauseRequested(msgspec.Struct, frozen=True):
    """Whether Ctrl+C was pressed at all, or the journal says to stop."""

    interrupts: Interrupts

    def is_set(self) -> bool:
        return self.interrupts.presses > 0 or self.interrupts.is_set()
