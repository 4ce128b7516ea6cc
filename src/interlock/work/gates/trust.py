"""The keys that people vouched for in a repository, as its one `trust` instance has them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError, NotFound, Tampered
from interlock.journal import Entry, Journal, Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.world.ssh import Guard, PublicKey, parse_public_key

__all__ = ["ENROLLED", "MACHINE", "REVOKED", "Key", "Trust", "known_key", "trust_instance", "trust_of"]

MACHINE = "trust"
ENROLLED = "key_enrolled"
REVOKED = "key_revoked"
_SYSTEM = Actor(ActorKind.SYSTEM, "interlock", Channel.DRIVER)


class Key(msgspec.Struct, frozen=True):
    """A key that was enrolled: what is known of it, who did it and when."""

    public: PublicKey
    guard: Guard
    file: Path | None
    """Where its public half lay when it was enrolled; the private one lies beside it."""
    person: str
    channel: str
    time: str
    seq: int
    revoked: str | None = None
    """When it was revoked, if it was."""

    @property
    def fingerprint(self) -> str:
        return self.public.fingerprint


class Trust(msgspec.Struct, frozen=True):
    """What the people of a repository vouch for: its id, and every key that ever was enrolled, by fingerprint."""

    repository: str | None = None
    keys: dict[str, Key] = msgspec.field(default_factory=dict)

    @property
    def enrolled(self) -> list[Key]:
        """The keys that may sign now, the first one first."""
        return [key for key in self.keys.values() if key.revoked is None]

    def after(self, entry: Entry) -> Trust:
        """What is vouched for after one more entry of the `trust` instance; raises where it cannot be read."""
        data = entry.decoded_evidence().data
        if entry.event == ENROLLED:
            key = _key(entry)
            return replace(self, keys={**self.keys, key.fingerprint: key})
        if entry.event == REVOKED and (known := self.keys.get(data["fingerprint"])) is not None:
            return replace(self, keys={**self.keys, known.fingerprint: replace(known, revoked=entry.time)})
        return self


def _key(entry: Entry) -> Key:
    data = entry.decoded_evidence().data
    public = replace(parse_public_key(data["key"]), comment=str(data.get("comment", "")))
    file = data.get("file")
    guard = Guard(data["presence"])
    return Key(public, guard, Path(file) if file else None, entry.actor_id, entry.channel, entry.time, entry.seq)


def trust_of(journal: Journal) -> Trust:
    """What is vouched for in a journal now."""
    found = journal.instances(MACHINE)
    if not found:
        return Trust()
    if len(found) > 1:
        message = "The journal has more than one record of the keys that people vouched for."
        raise Tampered("journal_tampered", message, "Run `ralph journal verify`; somebody wrote into the journal.")
    return _added_up(Trust(found[0].id), journal.history(found[0].id))


def _added_up(trust: Trust, entries: Iterable[Entry]) -> Trust:
    for entry in entries:
        try:
            trust = trust.after(entry)
        except (InterlockError, msgspec.MsgspecError, TypeError, ValueError, KeyError) as error:
            message = f"Entry {entry.seq} of the journal says nothing that can be vouched for: {str(error)[:200]}."
            raise Tampered("journal_tampered", message, "Run `ralph journal verify`; somebody wrote into it.") from None
    return trust


def trust_instance(journal: Journal) -> str:
    """The id of the `trust` instance, made where there is none yet."""

    def work(transaction: Transaction) -> str:
        known = transaction.named(MACHINE, MACHINE)
        if known is not None:
            return known.id
        event = Event("created", _SYSTEM, evidence=Evidence(names=(MACHINE,)))
        return transaction.create(MACHINE, event).entry.instance

    known = journal.named(MACHINE, MACHINE)
    return known.id if known is not None else journal.transact(work)


def known_key(trust: Trust, fingerprint: str) -> Key:
    """The enrolled key with a fingerprint."""
    found = [key for key in trust.enrolled if key.fingerprint == fingerprint]
    if not found:
        message = f"No key {fingerprint[:80]!r} is enrolled."
        raise NotFound("unknown_key", message, "`ralph gate list` shows the fingerprints.")
    return found[0]
