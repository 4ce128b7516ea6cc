"""One step of a driver: an instance in one state, its context, the right to drive it, and the notes that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

import msgspec

from interlock.journal import Entry, Journal, Lease, Transaction
from interlock.machine import Actor, Event, Evidence, Machine, Snapshot
from interlock.machine.model import NOTED, OBSERVED
from interlock.work.driver.context import DriverContext
from interlock.work.driver.fold import Fold
from interlock.work.driver.record import DriverRecord
from interlock.work.sessions.verbs import DRIVER

__all__ = ["DriverStep", "is_moved", "noted"]

C = TypeVar("C", bound=DriverContext)
R = TypeVar("R", bound=DriverRecord)


class DriverStep(msgspec.Struct, Generic[C, R], frozen=True):
    """An instance in one state. Its record takes in what the step itself writes; its snapshot stays as it was."""

    context: C
    fold: Fold[R]
    since: int
    """The version that the step began with."""
    snapshot: Snapshot
    machine: Machine
    lease: Lease | None

    @classmethod
    def read(cls, context: C, fold: Fold[R], lease: Lease | None, *more: Any) -> Self:
        """Read an instance as it is now."""
        record = fold.read(context.journal)  # first: a move between the two readings is noticed
        instance = context.journal.instance(fold.id)
        machine = context.journal.machine_of(instance)
        return cls(context, fold, record.version, instance.snapshot, machine, lease, *more)

    @property
    def record(self) -> R:
        return self.fold.record

    def note(self, type_: str, **data: Any) -> None:
        """Write something down at once; it moves nothing."""
        self.write(noted(type_, **data))

    def write(self, *events: Event) -> None:
        """Append events at once, and take them in."""
        for event in events:
            made = self.context.journal.append(self.fold.id, event, lease=self.lease)
            self.fold.add(self.context.journal, made.entry)

    def catch_up(self) -> R:
        """Return the record with everything that was written since, by anyone."""
        return self.fold.read(self.context.journal)

    def is_over(self, reader: Journal | Transaction) -> bool:
        """True if someone moved the instance since the step began: what was made for it then no longer counts."""
        return is_moved(reader.history(self.fold.id, self.since))


def is_moved(later: Sequence[Entry]) -> bool:
    """True if one of these entries moved the instance, and did not only note or observe something."""
    return any(one.event not in (NOTED, OBSERVED) for one in later)


def noted(type_: str, actor: Actor = DRIVER, /, **data: Any) -> Event:
    """Return the event of a note, which moves nothing; structs, tuples and enums in its data become plain JSON."""
    plain = msgspec.json.decode(msgspec.json.encode({"type": type_, **data}))
    return Event(NOTED, actor, evidence=Evidence(data=plain))
