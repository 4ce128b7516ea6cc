"""What somebody who keeps looking has at hand: records that are kept up to date entry by entry, never folded twice.

A journal is long, and a page is made anew with every entry that concerns it. So what was read is kept, and only what
was appended since is read. All of it can be made anew; none of it is the truth.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

import msgspec

from interlock.journal import Entry, Instance, Journal
from interlock.work.orchestration import replay as runs
from interlock.work.orchestration.record import Run
from interlock.work.sessions.record import SessionRecord
from interlock.work.stories import replay as loops
from interlock.work.stories.record import Loop
from interlock.work.threads import replay as threads
from interlock.work.threads.record import Thread

__all__ = ["INCOMPLETE", "RecordCache", "RecordCaches"]

Folded = TypeVar("Folded")

_MOST = 300
INCOMPLETE: Final = (LookupError, TypeError, ValueError, AttributeError, msgspec.MsgspecError)
"""How it shows that entries do not say what those of our drivers say: others may begin and move instances, too."""


class RecordCache(Generic[Folded]):
    """The records of one machine's instances, those last asked for."""

    def __init__(self, make: Callable[[], Folded], take: Callable[[Folded, Entry], object], most: int = _MOST) -> None:
        self._make = make
        self._take = take
        self._most = most
        self._known: dict[str, tuple[int, Folded]] = {}

    def of(self, journal: Journal, instance: Instance) -> Folded:
        """The record of an instance, with all its entries so far. It goes on changing: take from it what is needed."""
        version, record = self._known.pop(instance.id, (0, None))
        if record is None:
            version, record = 0, self._make()
        if version < instance.version:
            for entry in journal.history(instance.id, version):
                with suppress(*INCOMPLETE):  # who only looks is told as much as there is
                    self._take(record, entry)
                version = entry.version
        self._known[instance.id] = version, record  # only whole ones are kept, the newest last
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return record


class RecordCaches(msgspec.Struct, frozen=True):
    """All that is kept at hand. Whoever uses it holds its lock, and takes values out of it that do not change."""

    lock: threading.RLock = msgspec.field(default_factory=threading.RLock)
    sessions: RecordCache[SessionRecord] = msgspec.field(
        default_factory=lambda: RecordCache(SessionRecord, SessionRecord.take)
    )
    threads: RecordCache[Thread] = msgspec.field(default_factory=lambda: RecordCache(Thread, threads.take))
    loops: RecordCache[Loop] = msgspec.field(default_factory=lambda: RecordCache(Loop, loops.take))
    runs: RecordCache[Run] = msgspec.field(default_factory=lambda: RecordCache(Run, runs.take))
