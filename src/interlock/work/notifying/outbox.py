"""One channel's outbox: what waits for it is sent, noted, tried again with patience, and dropped when it is old.

What is told is pinned first, so that a sender that died is followed by one that tells the very same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from interlock.journal import Entry, Journal, Outbox
from interlock.journal.entry import encode
from interlock.work.formats.times import seconds_of, text_of
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.inspection.references import called
from interlock.work.notifying.delivery import Courier, Keep
from interlock.work.notifying.news import may_be_news, news_of
from interlock.work.notifying.wording import folded, notice_of
from interlock.world.notices.notice import DeliveryFailure, Notice, NoticeChannel

__all__ = ["DAY", "Post"]

DAY: Final = 86_400.0
"""A notice that is older than this is told to nobody."""
_SINGLY: Final = 3
"""So many are told one by one; more are told as one."""
_MOST: Final = 200
"""So many are told as one at the most."""


@dataclass(slots=True)
class Post:
    """What one process sends on one channel."""

    journal: Journal
    channel: NoticeChannel
    kinds: frozenset[str]
    link: str = ""
    watch: RecordCaches = field(default_factory=RecordCaches)
    grace: float = 5.0
    _courier: Courier[Notice] = field(init=False)

    def __post_init__(self) -> None:
        self._courier = Courier(self.journal, self.name, self._waiting, self._tell)

    @property
    def name(self) -> str:
        return self.channel.name

    def begin(self) -> Outbox:
        """Where the channel stands; a new one begins with what happens from now on."""
        return self._courier.begin()

    def waiting(self) -> list[Notice]:
        """What waits to be told."""
        return self._waiting(self.begin())[0]

    def turn(self) -> int:
        """Send what is due, if this process can and no other does; how many went out."""
        return self._courier.turn() if self.channel.is_here else 0

    def _tell(self, keep: Keep, box: Outbox, found: list[Notice], upto: int) -> int:
        """Send one batch, pinned first; how many of it went out."""
        fresh = [one for one in found if self.journal.now() - seconds_of(one.at) <= DAY]
        box = keep(box, upto=upto, dropped=box.dropped + len(found) - len(fresh))
        batch = fresh if len(fresh) <= _SINGLY else [folded(fresh, self.link)]
        sent = 0
        for one in batch:
            trouble = self._send(one)
            if trouble is not None:
                self._courier.failed(keep, box, trouble)
                return sent
            sent += one.count
            told = text_of(self.journal.now())
            count = box.sent + one.count
            box = keep(box, seq=one.seq, sent=count, told=told, tries=0, due=0, trouble="")
        keep(box, seq=upto)
        return sent

    def _send(self, notice: Notice) -> DeliveryFailure | None:
        try:
            return self.channel.send(notice)
        except Exception as error:  # a fault of a channel is its own trouble: nothing else is to fail by it
            return DeliveryFailure(f"it failed with {type(error).__name__}")

    # What is to be told

    def _waiting(self, box: Outbox) -> tuple[list[Notice], int]:
        """What of the entries behind an outbox is told, and the last entry of it: of a pinned batch, or so many."""
        found: list[Notice] = []
        after, pinned = box.seq, box.upto > box.seq
        while entries := self.journal.entries(after):
            for entry in entries:
                if pinned and entry.seq > box.upto:
                    return found, box.upto
                after = entry.seq
                notice = self._notice(entry) if may_be_news(entry) else None
                found += [notice] if notice is not None else []
                if len(found) == _MOST:
                    return found, after
        return found, after

    def _notice(self, entry: Entry) -> Notice | None:
        instance = self.journal.instance(entry.instance)
        machine = self.journal.machine_of(instance)
        snapshot = self.journal.snapshot(instance.id, entry.version)
        news = news_of(entry, machine, snapshot, instance.parent)
        if news is None or news.kind not in self.kinds:
            return None
        then = replace(instance, state=snapshot.state, version=entry.version, outcome=snapshot.outcome)
        then = replace(then, data=encode(snapshot))
        return notice_of(news, entry, machine, then, called(self.journal, self.watch, instance), self.link)
