"""One channel's outbox: what waits for it is sent, noted, tried again with patience, and dropped when it is old.

    look → take the channel's lease → pin what is told → send → note → the next

A death between sending and noting is the only way to tell something twice, and then it has the same id.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from interlock.errors import LeaseHeld
from interlock.journal import Entry, Journal, Lease, Outbox
from interlock.journal.entry import encode
from interlock.journal.ids import time_text
from interlock.work.notifying.news import may_be_news, news_of
from interlock.work.notifying.wording import folded, notice_of
from interlock.work.references import called
from interlock.work.sessions.verbs import is_present
from interlock.work.tickets.locks import process_holder
from interlock.work.watching import Watch
from interlock.world.notices.notice import Channel, Notice, Trouble
from interlock.world.redaction import redacted

__all__ = ["DAY", "Post", "lease_of"]

DAY: Final = 86_400.0
"""A notice that is older than this is told to nobody."""
_LEASE_SECONDS: Final = 120.0
_SINGLY: Final = 3
"""So many are told one by one; more are told as one."""
_MOST: Final = 200
"""So many are told as one at the most."""
_BEHIND: Final = 500
"""So many entries without news may be looked through again, before the place is kept."""
_FIRST, _LONGEST, _ASKED = 5.0, 900.0, 3600.0
"""How many seconds pass after a failure, twice as many after each; and how many another side may ask for."""
_TROUBLE: Final = 200


def lease_of(channel: str) -> str:
    """What the lease of a channel's only sender is called."""
    return f"notify:{channel}"


@dataclass(slots=True)
class Post:
    """What one process sends on one channel."""

    journal: Journal
    channel: Channel
    kinds: frozenset[str]
    link: str = ""
    watch: Watch = field(default_factory=Watch)
    _seen: int = 0

    def begin(self) -> Outbox:
        """Where the channel stands; a new one begins with what happens from now on."""
        return self.journal.begin_outbox(self.channel.name)

    def waiting(self) -> list[Notice]:
        """What waits to be told."""
        return self._waiting(self.begin())[0]

    def turn(self) -> int:
        """Send what is due, if this process can and no other does; how many went out."""
        head = self.journal.head()
        if head == self._seen or not self.channel.is_here:
            return 0
        box = self.begin()
        if self._is_early(box):
            return 0
        found, upto = self._waiting(box)
        if not found and upto - box.seq < _BEHIND:
            self._seen = upto
            return 0
        sent = 0
        with self._alone() as lease:
            while lease is not None and not self._is_early(box := self.begin()):
                found, upto = self._waiting(box)
                if not found:
                    self._keep(lease, box, seq=upto, upto=upto)
                    self._seen = upto
                    break
                sent += self._tell(lease, box, found, upto)
        return sent

    def _is_early(self, box: Outbox) -> bool:
        return box.due > self.journal.now() * 1000

    @contextmanager
    def _alone(self) -> Iterator[Lease | None]:
        """The lease of the channel; None where another process sends."""
        try:
            lease = self.journal.acquire(lease_of(self.channel.name), process_holder(), _LEASE_SECONDS, is_present)
        except LeaseHeld:
            yield None
            return
        try:
            yield lease
        finally:
            self.journal.release(lease)

    def _tell(self, lease: Lease, box: Outbox, found: list[Notice], upto: int) -> int:
        """Send one batch, pinned first; how many of it went out."""
        fresh = [one for one in found if self.journal.now() - _seconds(one.at) <= DAY]
        box = self._keep(lease, box, upto=upto, dropped=box.dropped + len(found) - len(fresh))
        batch = fresh if len(fresh) <= _SINGLY else [folded(fresh, self.link)]
        sent = 0
        for one in batch:
            trouble = self._send(one)
            if trouble is not None:
                self._keep(lease, box, tries=box.tries + 1, due=self._again(box, trouble), trouble=_plain(trouble.why))
                return sent
            sent += one.count
            told = time_text(int(self.journal.now() * 1e9))
            count = box.sent + one.count
            box = self._keep(lease, box, seq=one.seq, sent=count, told=told, tries=0, due=0, trouble="")
        self._keep(lease, box, seq=upto)
        return sent

    def _send(self, notice: Notice) -> Trouble | None:
        try:
            return self.channel.send(notice)
        except Exception as error:  # a fault of a channel is its own trouble: nothing else is to fail by it
            return Trouble(f"it failed with {type(error).__name__}")

    def _again(self, box: Outbox, trouble: Trouble) -> int:
        wait = min(_LONGEST, _FIRST * 2.0 ** min(box.tries, 20))
        asked = min(_ASKED, trouble.retry_after or 0.0)
        return int((self.journal.now() + max(wait, asked)) * 1000)

    def _keep(self, lease: Lease, box: Outbox, **changed: int | str) -> Outbox:
        kept = replace(box, **changed)
        if kept != box:
            self.journal.keep_outbox(kept, lease)
        return kept

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


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def _plain(why: str) -> str:
    return redacted(why)[:_TROUBLE]
