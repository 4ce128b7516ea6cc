"""The records of all instances that were looked at, for whoever keeps looking: pages, notifications, metrics."""

from __future__ import annotations

import threading

import msgspec

from interlock.work.driver.fold import RecordCache
from interlock.work.orchestration import replay as runs
from interlock.work.orchestration.record import Run
from interlock.work.sessions.record import SessionRecord
from interlock.work.stories import replay as loops
from interlock.work.stories.record import Loop
from interlock.work.threads import replay as threads
from interlock.work.threads.record import Thread

__all__ = ["RecordCaches"]


class RecordCaches(msgspec.Struct, frozen=True):
    """A cache for each machine. Hold the lock while using one, and take out only values that do not change."""

    lock: threading.RLock = msgspec.field(default_factory=threading.RLock)
    sessions: RecordCache[SessionRecord] = msgspec.field(
        default_factory=lambda: RecordCache(SessionRecord, SessionRecord.take)
    )
    threads: RecordCache[Thread] = msgspec.field(default_factory=lambda: RecordCache(Thread, threads.take))
    loops: RecordCache[Loop] = msgspec.field(default_factory=lambda: RecordCache(Loop, loops.take))
    runs: RecordCache[Run] = msgspec.field(default_factory=lambda: RecordCache(Run, runs.take))
