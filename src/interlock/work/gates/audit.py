"""Every gate of a journal, checked again from its entries: was it passed by a person, and does the signature hold?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from interlock.decoding import convert
from interlock.errors import InterlockError
from interlock.journal import Entry, Instance, Journal, Problem
from interlock.journal.entry import CREATED
from interlock.machine import (
    INTERNAL,
    SHIPPED,
    Accepted,
    ActorKind,
    Evidence,
    Machine,
    Snapshot,
    load_shipped,
    start,
    step,
)
from interlock.work.gates.statement import VERSION, Approval, Statement, digest_of
from interlock.work.gates.trust import ENROLLED, MACHINE, REVOKED, Key, Trust
from interlock.world.ssh import is_signed

__all__ = ["audit"]

ACCEPTED = "settings_accepted"
_VOUCHED: dict[str, tuple[str, str, Callable[[Evidence], str]]] = {
    ENROLLED: ("key", "key", lambda evidence: digest_of(evidence.data["key"])),
    REVOKED: ("key", "fingerprint", lambda evidence: str(evidence.data["fingerprint"])),
    ACCEPTED: ("settings", "settings", lambda evidence: digest_of(evidence.data["text"])),
}
"""What people vouch for: the gate, the subject, and how its hash is made from what the entry brings."""


def audit(journal: Journal, fingerprint: str | None = None) -> list[Problem]:
    """Everything that is wrong with the gates of a journal, in the order of its entries.

    With the fingerprint of a key, whatever comes after its enrolling must be signed by it, or by a key that it
    vouched for, and it must have been enrolled. The chain itself is for `Journal.verify` to check.
    """
    auditor = _Auditor(journal, fingerprint, {one.id: one for one in journal.instances()})
    found = [problem for entry in journal.all_entries() for problem in auditor.take(entry)]
    return found + list(auditor.end())


class _Gate(msgspec.Struct, frozen=True):
    """A gate that an entry passed: its name, its subject, and the hash that the entry names."""

    name: str
    subject: str
    hash: str


class _Auditor(msgspec.Struct):
    journal: Journal
    fingerprint: str | None
    instances: dict[str, Instance]
    trust: Trust = msgspec.field(default_factory=Trust)
    vouched: set[str] = msgspec.field(default_factory=set)
    """The keys that the named one vouches for, itself among them; empty before it is enrolled."""
    was_enrolled: bool = False
    hashes: list[str] = msgspec.field(default_factory=lambda: [""])
    """The hash of each entry by its number."""
    machines: dict[str, Machine] = msgspec.field(default_factory=dict)
    snapshots: dict[str, Snapshot] = msgspec.field(default_factory=dict)
    used: dict[bytes, int] = msgspec.field(default_factory=dict)

    def take(self, entry: Entry) -> Iterator[Problem]:
        """What is wrong with one entry."""
        try:
            yield from self._take(entry)
        except (InterlockError, msgspec.MsgspecError, TypeError, ValueError, KeyError, AttributeError) as error:
            yield _problem("approval_unreadable", entry, f"cannot be read: {str(error)[:200]}")
        self.hashes += [""] * (entry.seq - len(self.hashes)) + [entry.computed_hash()]

    def _take(self, entry: Entry) -> Iterator[Problem]:
        instance = self.instances.get(entry.instance)
        if instance is None:
            return  # `Journal.verify` names it
        machine = self._machine(instance)
        if entry.event == CREATED and entry.version == 1:
            yield from self._begun(entry, instance, machine)
        if instance.machine == MACHINE:
            yield from self._vouched_for(entry)
        elif machine.form.gates:
            gate = self._passed(entry, machine)
            if gate is not None:
                yield from self._checked(entry, gate)

    def end(self) -> Iterator[Problem]:
        if self.fingerprint is not None and not self.was_enrolled:
            yield Problem("key_unknown", f"the key {self.fingerprint[:80]} was never enrolled in this journal")

    def _machine(self, instance: Instance) -> Machine:
        if instance.digest not in self.machines:
            self.machines[instance.digest] = self.journal.machine_of(instance)
        return self.machines[instance.digest]

    def _begun(self, entry: Entry, instance: Instance, machine: Machine) -> Iterator[Problem]:
        if _is_weakened(machine):
            why = f"is made by a machine {machine.name!r} that lacks gates which the real one has"
            yield _problem("machine_weakened", entry, why)
        if instance.machine == MACHINE:
            if self.trust.repository is not None:
                yield _problem("trust_forked", entry, "begins a second record of the keys that people vouched for")
            else:
                self.trust = Trust(entry.instance)

    # Gates of the machines

    def _passed(self, entry: Entry, machine: Machine) -> _Gate | None:
        """The gate that an entry passed, found by making its step again."""
        event, before = entry.as_event(machine), self.snapshots.get(entry.instance)
        result = start(machine, event) if before is None else step(machine, before, event)
        if not isinstance(result, Accepted):
            return None  # `Journal.verify` names it
        self.snapshots[entry.instance] = result.snapshot
        made = result.transition
        if made is None or made.gate is None or made.on != entry.event:
            return None
        subject = machine.proofs[made.gate].subject
        return _Gate(made.gate, subject, entry.decoded_evidence().subjects.get(subject, ""))

    # What people vouch for

    def _vouched_for(self, entry: Entry) -> Iterator[Problem]:
        if entry.instance != self.trust.repository:
            return
        if entry.event not in _VOUCHED:
            return
        name, subject, digest = _VOUCHED[entry.event]
        evidence = entry.decoded_evidence()
        after = self.trust.after(entry)
        new = [key for key in after.keys.values() if key.seq == entry.seq]
        problems = list(self._checked(entry, _Gate(name, subject, digest(evidence)), first=new))
        problems += [one for key in new for one in self._possessed(entry, key, evidence)]
        yield from problems
        if problems:
            return  # what was not vouched for rightly changes nothing
        self.trust = after
        self._follow(entry, new, evidence)

    def _possessed(self, entry: Entry, key: Key, evidence: Evidence) -> Iterator[Problem]:
        """A key signs its own enrolling, so that nobody enrolls one that he does not have."""
        given = convert(evidence.data["approval"], Approval)
        if key.fingerprint in self.trust.keys:
            yield _problem("key_again", entry, f"enrolls {key.fingerprint}, which was enrolled before")
        if given.statement.choice != key.guard:
            yield _problem("approval_differs", entry, "says otherwise than its approval what guards the key")
        if not is_signed(given.statement.canonical(), str(evidence.data["possession"]), key.public):
            yield _problem("signature_invalid", entry, f"enrolls {key.fingerprint}, which did not sign it")

    def _follow(self, entry: Entry, new: list[Key], evidence: Evidence) -> None:
        """Keep to what the named key vouches for."""
        for key in new:
            if key.fingerprint == self.fingerprint:
                self.was_enrolled = True
                self.vouched.add(key.fingerprint)
            elif self.was_enrolled:  # signed by a key that counts, or it were a problem
                self.vouched.add(key.fingerprint)
        if entry.event == REVOKED:
            self.vouched.discard(evidence.data["fingerprint"])

    # Approvals

    def _checked(self, entry: Entry, gate: _Gate, first: list[Key] | None = None) -> Iterator[Problem]:
        """What is wrong with the approval of an entry; the `first` key of all signs for itself."""
        found = entry.decoded_evidence().data.get("approval")
        if found is None:
            yield _problem("approval_missing", entry, f"passes the gate {gate.name!r} without an approval")
            return
        given = convert(found, Approval)
        differing = self._differing(entry, given.statement, gate)
        if differing:
            yield _problem("approval_differs", entry, f"has an approval of something else: {', '.join(differing)}")
        earlier = self.used.setdefault(given.statement.canonical(), entry.seq)
        if earlier != entry.seq:
            yield _problem("approval_replayed", entry, f"has the approval of entry {earlier} again")
        keys = {key.fingerprint: key for key in self.trust.enrolled or first or ()}
        yield from self._signed(entry, given, keys)

    def _signed(self, entry: Entry, given: Approval, keys: dict[str, Key]) -> Iterator[Problem]:
        if given.signature is None or given.key is None:
            if keys or self.trust.keys:
                yield _problem("approval_unsigned", entry, "is not signed, and a key was enrolled before")
            return
        key = keys.get(given.key)
        if key is None:
            what = "was revoked" if given.key in self.trust.keys else "is not enrolled"
            yield _problem("key_unknown", entry, f"is signed by {given.key[:80]}, which {what}")
        elif not is_signed(given.statement.canonical(), given.signature, key.public):
            yield _problem("signature_invalid", entry, f"has a signature that {key.fingerprint} did not make for it")
        elif self.was_enrolled and given.key not in self.vouched:
            why = f"is signed by {given.key}, for which {self.fingerprint} does not vouch"
            yield _problem("key_not_vouched", entry, why)

    def _differing(self, entry: Entry, said: Statement, gate: _Gate) -> list[str]:
        """Where a statement is not about this entry."""
        instance = self.instances[entry.instance]
        pairs: dict[str, tuple[object, object]] = {
            "version": (said.version, VERSION),
            "repository": (said.repository, self.trust.repository),
            "machine": (said.machine, instance.machine),
            "instance": (said.instance, entry.instance),
            "event": (said.event, entry.event),
            "gate": (said.gate, gate.name),
            "subject": (said.subject, gate.subject),
            "hash": (said.hash, gate.hash or None),
            "person": ((said.person, ActorKind.HUMAN), (entry.actor_id, entry.actor_kind)),
            "channel": (said.channel, entry.channel),
            "head": (said.head.hash, self._hash_at(said.head.seq)),
        }
        return [name for name, (one, other) in pairs.items() if one != other]

    def _hash_at(self, seq: int) -> str | None:
        """The hash of an entry that was there before this one."""
        return self.hashes[seq] if 0 < seq < len(self.hashes) else None


def _is_weakened(machine: Machine) -> bool:
    """Whether a machine has the name of one of ours and is not as strict: somebody wrote it into the journal."""
    if machine.name not in SHIPPED + INTERNAL:
        return False
    ours = load_shipped(machine.name)
    if machine.digest == ours.digest:
        return False
    if any(machine.form.gates.get(name) != gate for name, gate in ours.form.gates.items()):
        return True
    if machine.name == MACHINE:
        needs = {one.on: one.needs for one in machine.transitions}
        return any("approval" not in needs.get(event, ("approval",)) for event in _VOUCHED)
    from interlock.machine.check import check

    return bool(ours.form.gates) and bool(check(machine).findings)


def _problem(code: str, entry: Entry, what: str) -> Problem:
    return Problem(code, f"entry {entry.seq} ({entry.event!r} of {entry.instance}) {what}", entry.seq, entry.instance)
