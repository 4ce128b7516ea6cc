"""What goes out of the journal, entry by entry, to somebody elsewhere: sent by one process at a time, with patience.

    look → take the channel's lease → send what waits → note how far it is → the next

It reads what is committed, and nothing waits for it. A death between sending and noting is the only way to send
something twice; so what is sent has an id that follows from its entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from interlock.errors import LeaseHeld
from interlock.journal import Journal, Lease, Outbox
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.formats.quoting import sayable
from interlock.world.notices.notice import DeliveryFailure
from interlock.world.redaction import redacted

__all__ = ["Courier", "Keep", "Sender", "lease_of", "plain_trouble"]

Item = TypeVar("Item")

_LEASE_SECONDS: Final = 120.0
_BEHIND: Final = 500
"""So many entries with nothing to send may be looked through again, before the place is kept."""
_FIRST, _LONGEST, _ASKED = 5.0, 900.0, 3600.0
"""How many seconds pass after a failure, twice as many after each; and how many another side may ask for."""
_TROUBLE: Final = 200


class Sender(Protocol):
    """What one process sends to one place."""

    @property
    def name(self) -> str: ...

    @property
    def grace(self) -> float:
        """How many seconds it may have when all else has ended."""

    def begin(self) -> Outbox:
        """Where it stands; a new one begins with what happens from now on."""

    def turn(self) -> int:
        """Send what is due, if this process can and no other does; how many went out."""


class Keep(Protocol):
    """Writes down where a channel stands now."""

    def __call__(self, box: Outbox, **changed: int | str) -> Outbox: ...


def lease_of(channel: str) -> str:
    """What the lease of a channel's only sender is called."""
    return f"notify:{channel}"


def plain_trouble(why: str) -> str:
    """Why something did not go out, as it can be kept and shown."""
    return redacted(sayable(why))[:_TROUBLE]


class Courier(msgspec.Struct, Generic[Item]):
    """One channel's way out."""

    journal: Journal
    channel: str
    waiting: Callable[[Outbox], tuple[list[Item], int]]
    """What waits, or so much of it, and the last entry of it."""
    tell: Callable[[Keep, Outbox, list[Item], int], int]
    """Send it and keep how far it came; how many went out."""
    _seen: int = 0

    def begin(self) -> Outbox:
        return self.journal.begin_outbox(self.channel)

    def turn(self) -> int:
        """See `Sender.turn`."""
        head = self.journal.head()
        if head == self._seen:
            return 0
        box = self.begin()
        if self._is_early(box):
            return 0
        found, upto = self.waiting(box)
        if not found and upto - box.seq < _BEHIND:
            self._seen = upto
            return 0
        sent = 0
        with self._alone() as lease:
            while lease is not None and not self._is_early(box := self.begin()):
                keep = self._keeping(lease)
                found, upto = self.waiting(box)
                if not found:
                    keep(box, seq=upto, upto=upto)
                    self._seen = upto
                    break
                sent += self.tell(keep, box, found, upto)
        return sent

    def failed(self, keep: Keep, box: Outbox, trouble: DeliveryFailure) -> None:
        """It is tried again later."""
        wait = min(_LONGEST, _FIRST * 2.0 ** min(box.tries, 20))
        asked = min(_ASKED, trouble.retry_after or 0.0)
        due = int((self.journal.now() + max(wait, asked)) * 1000)
        keep(box, tries=box.tries + 1, due=due, trouble=plain_trouble(trouble.why))

    def _is_early(self, box: Outbox) -> bool:
        return box.due > self.journal.now() * 1000

    @contextmanager
    def _alone(self) -> Iterator[Lease | None]:
        """The lease of the channel; None where another process sends."""
        try:
            lease = self.journal.acquire(lease_of(self.channel), process_holder(), _LEASE_SECONDS, is_present)
        except LeaseHeld:
            yield None
            return
        try:
            yield lease
        finally:
            self.journal.release(lease)

    def _keeping(self, lease: Lease) -> Keep:
        def keep(box: Outbox, **changed: int | str) -> Outbox:
            kept = replace(box, **changed)
            if kept != box:
                self.journal.keep_outbox(kept, lease)
            return kept

        return keep
