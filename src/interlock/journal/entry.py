"""What the journal holds: entries, chained by hash, and the instances they add up to."""

from __future__ import annotations

import msgspec

from interlock.decoding import decoder
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence, Machine, Snapshot

__all__ = [
    "CREATED",
    "GENESIS",
    "Birth",
    "Entry",
    "Instance",
    "Recorded",
    "decode_evidence",
    "decode_snapshot",
    "encode",
    "hash_of",
    "instance_columns",
]

CREATED = "created"
"""The event of every instance's first entry."""
GENESIS = "0" * 64
"""What the first entry of a journal has for the hash before it."""

_encoder = msgspec.json.Encoder(order="deterministic")
_snapshots = decoder(Snapshot)
_evidence = decoder(Evidence)


def encode(value: object) -> str:
    """A value as JSON, the same text for the same value."""
    return _encoder.encode(value).decode()


def decode_snapshot(text: str) -> Snapshot:
    """The snapshot that an instance's `data` holds."""
    return _snapshots.decode(text)


def decode_evidence(text: str) -> Evidence:
    """The evidence that an entry holds."""
    return _evidence.decode(text)


class Birth(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an instance is made of; part of the data of its first entry, so that the chain covers it."""

    machine: str
    digest: str
    parent: str | None = None


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the journal. Its hash covers every field and the hash before it."""

    seq: int
    instance: str
    version: int
    event: str
    from_state: str | None
    to_state: str
    actor_kind: str
    actor_id: str
    channel: str
    command: str | None
    reason: str | None
    evidence: str
    time: str
    off_path: int
    """1 where the machine only observed the move and its table does not have it."""
    epoch: int | None
    key: str | None
    previous: str
    hash: str = ""

    def computed_hash(self) -> str:
        """What the hash must be."""
        return hash_of(msgspec.structs.astuple(self)[:-1])

    def decoded_evidence(self) -> Evidence:
        return _evidence.decode(self.evidence)

    def as_event(self, machine: Machine) -> Event:
        """The event that made this entry, to be stepped again."""
        named = self.to_state if self.event == CREATED or self.event in machine.targets else None
        actor = Actor(ActorKind(self.actor_kind), self.actor_id, Channel(self.channel))
        return Event(self.event, actor, named, self.command, self.reason, self.decoded_evidence())


def hash_of(fields: tuple[object, ...]) -> str:
    """The hash of an entry: of all its fields but the last, which is the hash."""
    from hashlib import sha256  # it loads OpenSSL, and most commands write nothing

    return sha256(_encoder.encode(fields)).hexdigest()


class Instance(msgspec.Struct, frozen=True):
    """One instance of a machine as it stands: what its entries add up to."""

    id: str
    machine: str
    digest: str
    parent: str | None
    state: str
    version: int
    outcome: str | None
    data: str
    created: str
    updated: str

    @property
    def snapshot(self) -> Snapshot:
        return decode_snapshot(self.data)


instance_columns = ", ".join(Instance.__struct_fields__)
"""The columns of the table of instances, in the order of its struct."""


class Recorded(msgspec.Struct, frozen=True):
    """What an append gave: the entry, where the instance stands now, and what is to be done in the world."""

    entry: Entry
    snapshot: Snapshot
    effects: tuple[str, ...] = ()
    warning: str | None = None
    written: bool = True
    """False where the same key was used before, or the holder of a lock claimed it again."""
