"""The fold: what the entries of an instance add up to, kept up to date entry by entry and never folded twice.

A record is a cache. It can always be folded again from the journal, and none of it is the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from interlock.journal import Entry, Instance, Journal

__all__ = ["INCOMPLETE", "Fold", "RecordCache", "fold"]


class Versioned(Protocol):
    """A record that knows the version of the last entry in it."""

    version: int


T = TypeVar("T")
R = TypeVar("R", bound=Versioned)

_MOST = 300
INCOMPLETE: Final = (LookupError, TypeError, ValueError, AttributeError, msgspec.MsgspecError)
"""Errors of entries that do not say what those of our drivers say: others may begin and move instances, too."""


def fold(record: T, take: Callable[[T, Entry], object], entries: Iterable[Entry]) -> T:
    """Return the record with these entries taken in; all of one instance, in their order."""
    for entry in entries:
        take(record, entry)
    return record


class Fold(Generic[R]):
    """The record of the one instance that a driver drives.

    The record is shared: it moves on whenever it is read, so a step remembers the version that it began with.
    """

    def __init__(self, id_: str, make: Callable[[], R], take: Callable[[R, Entry], object]) -> None:
        self.id = id_
        self._make = make
        self._take = take
        self.record = make()

    def read(self, journal: Journal) -> R:
        """Return the record with every entry so far, whoever wrote it."""
        return self._added(journal.history(self.id, self.record.version))

    def add(self, journal: Journal, entry: Entry) -> R:
        """Return the record with an entry that was just written, and with those that came before it meanwhile."""
        is_next = entry.version == self.record.version + 1
        return self._added([entry]) if is_next else self.read(journal)

    def _added(self, entries: Iterable[Entry]) -> R:
        try:
            return fold(self.record, self._take, entries)
        except BaseException:
            self.record = self._make()  # an entry may be half taken in
            raise


class RecordCache(Generic[T]):
    """The records of one machine's instances, those last asked for; for pages that are made again and again."""

    def __init__(self, make: Callable[[], T], take: Callable[[T, Entry], Any], most: int = _MOST) -> None:
        self._make = make
        self._take = take
        self._most = most
        self._known: dict[str, tuple[int, T]] = {}

    def unread(self, instances: Iterable[Instance]) -> dict[str, int]:
        """Return those of these instances that have entries which are not in their record, with its version."""
        versions = {one: self._known.get(one.id, (0, None))[0] for one in instances}
        return {one.id: version for one, version in versions.items() if version < one.version}

    def of(self, journal: Journal, instance: Instance) -> T:
        """Return the record of an instance, with all its entries so far. It is shared: take from it what is needed."""
        version, record = self._known.pop(instance.id, (0, None))
        if record is None:
            version, record = 0, self._make()
        if version < instance.version:
            for entry in journal.history(instance.id, version):
                with suppress(*INCOMPLETE):  # a reader gets as much as there is
                    self._take(record, entry)
                version = entry.version
        self._known[instance.id] = version, record  # only whole ones are kept, the newest last
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return record
