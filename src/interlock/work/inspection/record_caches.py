"""The records of all instances that were looked at, for whoever keeps looking: pages, notifications, metrics."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from interlock.work.driver.fold import RecordCache

if TYPE_CHECKING:
    from interlock.work.orchestration.record import Run
    from interlock.work.sessions.record import SessionRecord
    from interlock.work.stories.record import Loop
    from interlock.work.threads.record import Thread

__all__ = ["RecordCaches"]


class RecordCaches(msgspec.Struct, frozen=True, dict=True):
    """A cache for each machine. Hold the lock while using one, and take out only values that do not change.

    Each is imported when it is first asked for: a repository that has no story loops does without all of theirs.
    """

    lock: threading.RLock = msgspec.field(default_factory=threading.RLock)

    @cached_property
    def sessions(self) -> RecordCache[SessionRecord]:
        from interlock.work.sessions.record import SessionRecord

        return RecordCache(SessionRecord, SessionRecord.take)

    @cached_property
    def threads(self) -> RecordCache[Thread]:
        from interlock.work.threads.record import Thread
        from interlock.work.threads.replay import take

        return RecordCache(Thread, take)

    @cached_property
    def loops(self) -> RecordCache[Loop]:
        from interlock.work.stories.record import Loop
        from interlock.work.stories.replay import take

        return RecordCache(Loop, take)

    @cached_property
    def runs(self) -> RecordCache[Run]:
        from interlock.work.orchestration.record import Run
        from interlock.work.orchestration.replay import take

        return RecordCache(Run, take)
