"""Back in time: where an instance stood after any of its entries, and why it was there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.errors import NotFound, Tampered
from interlock.journal import Entry, Instance, Journal
from interlock.machine import Accepted, Machine, Refused, Snapshot, start, step

__all__ = ["FieldChange", "Moment", "Proven", "moment_of", "retold"]

_SHOWN: Final = 40
"""So many of the moves that led to a moment are told, the last ones."""


class Proven(msgspec.Struct, frozen=True):
    """A gate or a receipt that was valid, and the entry that gave it."""

    name: str
    hash: str
    entry: Entry


class FieldChange(msgspec.Struct, frozen=True):
    """Something that an entry changed; what was not there before, or is not there after, is None."""

    kind: str
    """`counter`, `gate or receipt`, `subject`, `setting`, `task`, `holder`."""
    name: str
    before: str | None
    after: str | None


class Moment(msgspec.Struct, frozen=True):
    """An instance as it stood after one of its entries."""

    instance: Instance
    machine: Machine
    entry: Entry
    snapshot: Snapshot
    changes: tuple[FieldChange, ...]
    """What the entry changed, besides the state."""
    came: Entry
    """The entry by which it came into the state that it was in."""
    way: tuple[Entry, ...]
    """The entries that moved it up to there, oldest first, the last of them."""
    proofs: tuple[Proven, ...]
    first: Entry


def moment_of(journal: Journal, reference: str, version: int | None = None) -> Moment:
    """Where an instance stood after its entry of that number, or stands now."""
    instance = journal.instance(reference)
    at = instance.version if version is None else version
    if not 1 <= at <= instance.version:
        message = f"{instance.id} has {instance.version} entries, and none with the number {at}."
        raise NotFound("unknown_resource", message, f"Give a number from 1 to {instance.version}.")
    return retold(instance, journal.machine_of(instance), journal.history(instance.id, most=at))


def retold(instance: Instance, machine: Machine, entries: Sequence[Entry]) -> Moment:
    """What the entries of an instance, from its first one on, add up to; every one is stepped again."""
    before: Snapshot | None = None
    snapshot: Snapshot | None = None
    came = entries[0]
    way: list[Entry] = []
    given: dict[str, Proven] = {}
    for entry in entries:
        event = entry.as_event(machine)
        result = start(machine, event) if snapshot is None else step(machine, snapshot, event)
        before, snapshot = snapshot, _made(result, entry)
        if entry.from_state != entry.to_state:
            came = entry
            way.append(entry)
        given = {
            name: known if (known := given.get(name)) and known.hash == hash_ else Proven(name, hash_, entry)
            for name, hash_ in snapshot.proofs.items()
        }
    assert snapshot is not None  # an instance has an entry
    changes = tuple(_changes(before or Snapshot(""), snapshot))
    shown = tuple(way[-_SHOWN:])
    return Moment(instance, machine, entries[-1], snapshot, changes, came, shown, tuple(given.values()), entries[0])


def _made(result: Accepted | Refused, entry: Entry) -> Snapshot:
    if isinstance(result, Refused):
        message = f"Entry {entry.seq} cannot have been made where it stands: {result.message}"
        raise Tampered("journal_tampered", message, "`ralph journal verify` shows all that is wrong.")
    return result.snapshot


def _changes(before: Snapshot, after: Snapshot) -> list[FieldChange]:
    kinds = {
        "counter": (before.counters, after.counters),
        "gate or receipt": (before.proofs, after.proofs),
        "subject": (before.subjects, after.subjects),
        "setting": (before.settings, after.settings),
        "task": ({"task": before.task}, {"task": after.task}),
        "holder": ({"holder": before.holder}, {"holder": after.holder}),
    }
    return [
        FieldChange(kind, name, _text(was.get(name)), _text(now.get(name)))
        for kind, (was, now) in kinds.items()
        for name in dict.fromkeys([*was, *now])
        if was.get(name) != now.get(name)
    ]


def _text(value: object) -> str | None:
    return None if value is None else str(value)
