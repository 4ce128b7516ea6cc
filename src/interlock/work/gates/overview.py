"""What there is to see of the gates: the keys, who passed what, and who was refused."""

from __future__ import annotations

import msgspec

from interlock.journal import Entry, Journal
from interlock.machine.model import NOTED
from interlock.work.gates.approval import REFUSED
from interlock.work.gates.trust import Trust, trust_of

__all__ = ["GatesOverview", "Passed", "RefusedAttempt", "overview"]


class RefusedAttempt(msgspec.Struct, frozen=True):
    """Somebody who was refused at a gate."""

    seq: int
    time: str
    machine: str
    instance: str
    gate: str
    kind: str
    who: str
    channel: str
    why: str


class Passed(msgspec.Struct, frozen=True):
    """Somebody who passed a gate, the channel of it, and the key that signed."""

    seq: int
    time: str
    machine: str
    instance: str
    event: str
    who: str
    channel: str
    key: str | None


class GatesOverview(msgspec.Struct, frozen=True):
    """The gates of a repository."""

    trust: Trust
    passed: list[Passed]
    refused: list[RefusedAttempt]


def overview(journal: Journal) -> GatesOverview:
    """Everything that happened at the gates, the oldest first."""
    machines = {one.id: one.machine for one in journal.instances()}
    passed, refused = [], []
    for entry in journal.all_entries():
        machine = machines.get(entry.instance, "")
        if entry.event == NOTED and REFUSED in entry.evidence:
            refused += _attempt(entry, machine)
        elif '"approval"' in entry.evidence:
            passed += _passed(entry, machine)
    return GatesOverview(trust_of(journal), passed, refused)


def _attempt(entry: Entry, machine: str) -> list[RefusedAttempt]:
    data = entry.decoded_evidence().data
    if data.get("type") != REFUSED:
        return []
    who = (entry.actor_kind, entry.actor_id, entry.channel)
    where = (entry.seq, entry.time, machine, entry.instance)
    return [RefusedAttempt(*where, str(data.get("gate", "")), *who, str(data.get("why", "")))]


def _passed(entry: Entry, machine: str) -> list[Passed]:
    given = entry.decoded_evidence().data.get("approval")
    if not isinstance(given, dict):
        return []
    key = given.get("key")
    where = (entry.seq, entry.time, machine, entry.instance, entry.event)
    return [Passed(*where, entry.actor_id, entry.channel, key if isinstance(key, str) else None)]
