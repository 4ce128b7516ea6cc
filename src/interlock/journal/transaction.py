"""Reading and appending inside one transaction of the journal: the only code that writes entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from interlock.errors import Conflict, Refusal, UsageError
from interlock.journal.checking import checked
from interlock.journal.entry import (
    CREATED,
    GENESIS,
    Birth,
    Entry,
    Instance,
    Recorded,
    encode,
    hash_of,
)
from interlock.journal.ids import Source, is_suffix, make_id, milliseconds_of, time_text
from interlock.journal.leases import (
    Holder,
    Lease,
    acquire,
    check_lease,
    find_lease,
    is_held,
    lease_time,
    lost,
    prolong,
    vacate,
)
from interlock.journal.machines import Machines
from interlock.journal.projection import Projection, catch_up, is_current
from interlock.journal.reading import (
    ENTRY,
    INSTANCE,
    find_instance,
    find_named,
    find_open,
    find_open_children,
    find_recent,
    read_entries,
    read_history,
    unknown_instance,
)
from interlock.journal.store import Row, Sql
from interlock.machine import Accepted, Event, Evidence, Machine, Refused, Snapshot, start, step
from interlock.machine.model import led
from interlock.machine.states import pauses

__all__ = ["Transaction", "replayed"]


_NAME = (
    "INSERT INTO names (machine, name, instance) VALUES (?, ?, ?) "
    "ON CONFLICT (machine, name) DO UPDATE SET instance = excluded.instance"
)


_MOVING = ("state", "version", "outcome", "data", "updated")
"""The columns of an instance that an entry can change."""
_HEAD = "SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1"
_INSERT_ENTRY = f"INSERT INTO entries ({ENTRY}) VALUES ({', '.join('?' * len(Entry.__struct_fields__))})"


Led: TypeAlias = tuple[str, Event] | None
"""An instance and the event that moves it along with another."""


class _Finished:
    """What is left of a transaction when it is over."""

    def __init__(self) -> None:
        self.dialect = ""
        self.memory: dict[str, Any] = {}

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        raise RuntimeError("The transaction is over; what is to be done with it is done inside the work.")


class Transaction:
    """What can be read and appended in one transaction. All of it is durable together, or nothing is."""

    def __init__(self, sql: Sql, machines: Machines, source: Source) -> None:
        self._sql: Sql = sql
        self._machines = machines
        self._source = source

    def finish(self) -> None:
        """Nothing can be read or written through it any more: outside its transaction an entry would stand alone."""
        self._sql = _Finished()

    # Reading

    def instance(self, reference: str) -> Instance:
        """An instance by its id or by a suffix of it that only one has."""
        return find_instance(self._sql, reference)

    def open_instances(self, machine: str) -> list[Instance]:
        """The instances of a machine that have not ended, oldest first."""
        return find_open(self._sql, machine)

    def recent(self, machine: str, most: int) -> list[Instance]:
        """The newest instances of a machine, newest first."""
        return find_recent(self._sql, machine, most)

    def children(self, parent: str) -> list[Instance]:
        found = self._sql.rows(f"SELECT {INSTANCE} FROM instances WHERE parent = ? ORDER BY id", (parent,))
        return [Instance(*row) for row in found]

    def open_children(self, parent: str, machine: str) -> list[Instance]:
        """The instances of a machine below another that have not ended, oldest first."""
        return find_open_children(self._sql, parent, machine)

    def current(self, machine: str) -> Machine:
        """The machine that a new instance would be made by."""
        return self._machines.current(machine)

    def machine_of(self, instance: Instance) -> Machine:
        """The machine that an instance was made by."""
        return self._machines.of(self._sql, instance)

    def history(self, instance: str, after: int = 0) -> list[Entry]:
        """Everything that happened to an instance after one of its versions."""
        return read_history(self._sql, instance, after)

    def named(self, machine: str, name: str) -> Instance | None:
        """The instance that took a name last."""
        return find_named(self._sql, machine, name)

    def last_name(self, machine: str, prefix: str) -> str | None:
        """The greatest name with a prefix; the prefix must end below the last character there is."""
        beyond = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        statement = "SELECT name FROM names WHERE machine = ? AND name >= ? AND name < ? ORDER BY name DESC LIMIT 1"
        found = self._sql.rows(statement, (machine, prefix, beyond))
        return str(found[0][0]) if found else None

    def latest(self, instance: str, events: Sequence[str]) -> list[Entry]:
        """Return the entries of an instance from the last one of these events on; all of them if it has none."""
        last = (
            "SELECT version FROM entries "
            f"WHERE instance = ? AND event IN ({', '.join('?' * len(events))}) ORDER BY version DESC LIMIT 1"
        )
        found = self._sql.rows(last, (instance, *events))
        return read_history(self._sql, instance, found[0][0] - 1 if found else 0)

    def project(self, projection: Projection) -> Sql:
        """The tables of a projection, with everything up to here in them."""
        if not is_current(self._sql, projection):
            catch_up(self._sql, projection)
        return self._sql

    # Leases

    def acquire(
        self, resource: str, holder: Holder, seconds: float, is_alive: Callable[[Holder], bool | None]
    ) -> Lease:
        """Become the only driver of something; see `leases`."""
        return acquire(self._sql, resource, holder, self._lease_time(), int(seconds * 1000), is_alive)

    def prolong(self, resource: str, seconds: float) -> None:
        """Hold what is held for longer, whoever holds it."""
        prolong(self._sql, resource, self._lease_time() + int(seconds * 1000))

    def vacate(self, resource: str) -> None:
        """Take a lease from whoever holds it: what it was for has ended."""
        vacate(self._sql, resource)

    def is_held(self, resource: str, is_alive: Callable[[Holder], bool | None]) -> bool | None:
        """True if somebody holds a lease, alive or in time; None where nobody ever did."""
        found = find_lease(self._sql, resource)
        return None if found is None else is_held(found, self._lease_time(), is_alive)

    def is_lost(self, resource: str, is_alive: Callable[[Holder], bool | None]) -> bool:
        """Whether whoever holds a lease is gone; one that nobody holds is not lost."""
        return resource in lost(self._sql, resource, self._lease_time(), is_alive)

    def _lease_time(self) -> int:
        return lease_time(self._sql, self._source.now)

    # Appending

    def create(self, machine: str, event: Event, *, parent: str | None = None, key: str | None = None) -> Recorded:
        """Begin a new instance of a machine."""
        event = checked(event, key)
        if event.name != CREATED or not isinstance(machine, str):
            message = f"An instance of a machine begins with the event {CREATED!r}, not with {event.name!r}."
            raise UsageError("invalid_argument", message, f"Name the machine, and {CREATED!r}.")
        repeated = self._repeated(key, event, None)
        if repeated is not None:
            if self.instance(repeated.entry.instance).machine != machine:
                raise _key_reused(repeated.entry)
            return repeated
        definition = self._machines.current(machine)
        result = _accepted(start(definition, event))
        if parent is not None:
            parent = self.instance(parent).id
        self._machines.keep(self._sql, definition)
        now = self._source.now()
        made = self._new_id(now // 1_000_000)
        told = self._led(made, parent, definition, None, result, event)
        evidence = _with_birth(event.evidence, Birth(definition.name, definition.digest, parent))
        entry = self._entry(made, 1, replace(event, evidence=evidence), None, result, now, key, None)
        row = (made, definition.name, definition.digest, parent, entry.to_state, 1, result.snapshot.outcome)
        self._sql.rows(
            f"INSERT INTO instances ({INSTANCE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, encode(result.snapshot), entry.time, entry.time),
        )
        self._remember(Instance(*row, encode(result.snapshot), entry.time, entry.time), result.snapshot)
        self._name(made, definition.name, event)
        if told is not None:
            self.append(*told)
        return Recorded(entry, result.snapshot, result.effects, result.warning)

    def _new_id(self, milliseconds: int) -> str:
        """Return an id that sorts after every other one, also within a millisecond or after the clock went back."""
        [(newest,)] = self._sql.rows("SELECT max(id) FROM instances")
        randomness = self._source.randomness(10)
        made = make_id(milliseconds, randomness)
        return made if newest is None or made > newest else make_id(milliseconds_of(newest) + 1, randomness)

    def append(
        self,
        reference: str,
        event: Event,
        *,
        expected: int | None = None,
        key: str | None = None,
        lease: Lease | None = None,
    ) -> Recorded:
        """Move an instance by one event, or raise and leave everything as it was.

        `expected` is the version that the caller has seen; `key` makes a repeated call write nothing and
        give the first answer; an entry under a `lease` is refused when the lease was taken over.
        """
        event = checked(event, key)
        if not is_suffix(reference):
            raise unknown_instance(reference)
        repeated = self._repeated(key, event, reference)
        if repeated is not None:
            return repeated
        before, stood = self._recall(reference)
        if expected is not None and before.version != expected:
            raise _conflict(before, expected)
        if lease is not None:
            check_lease(self._sql, lease)
        machine = self._machines.of(self._sql, before)
        result = _accepted(step(machine, stood, event))
        if not result.changed:
            return Recorded(self._entry_at(before.id, before.version), stood, warning=result.warning, written=False)
        told = self._led(before.id, before.parent, machine, before.state, result, event)
        epoch = lease.epoch if lease else None
        entry = self._entry(before.id, before.version + 1, event, before.state, result, self._source.now(), key, epoch)
        self._move(before, entry, result.snapshot)
        self._name(before.id, before.machine, event)
        if told is not None:
            self.append(*told)
        return Recorded(entry, result.snapshot, result.effects, result.warning)

    def _led(
        self, moved: str, above: str | None, machine: Machine, came: str | None, made: Accepted, event: Event
    ) -> Led:
        """What a move means for the instance above, by the machine's table: the event that moves it along.

        One that is there already, or has ended, gets none. Where the event would be refused, the move that is the
        cause is refused as well if the table binds it; else it is made, and the two are seen to differ. A pause means
        nothing above, whatever state it passes through on its way.
        """
        row = led(machine, came, made.snapshot.state) if above is not None else None
        if row is None or above is None or (came is not None and pauses(machine.name, came, event.name)):
            return None
        parent, stood = self._recall(above)
        known, holder = self.machine_of(parent), f"{machine.name}:{moved}"
        if parent.machine != row.machine or parent.outcome is not None:
            return None
        if parent.state == row.to and (stood.holder == holder or not known.states[parent.state].lock):
            return None
        reason = event.reason or f"its {machine.name} is in {made.snapshot.state}"
        evidence = Evidence(holder=holder, data={machine.name: moved})
        told = Event(row.event, event.actor, row.to, row.command, reason, evidence)
        tried = step(known, stood, told)
        why = tried.message if isinstance(tried, Refused) else None
        if stood.holder not in (None, holder):  # not even a person takes it from another by the way
            why = f"it is held by {stood.holder}."
        if why is None:
            return parent.id, told
        if row.binding:
            message = f"The {parent.machine} above stands in {parent.state!r} and does not come along: {why}"
            raise Refusal("parent_refused", message, f"Settle it there first: `ralph why {parent.id[-8:]}`.")
        return None

    def _recall(self, reference: str) -> tuple[Instance, Snapshot]:
        """An instance and where it stands, from memory where nobody else can have changed it."""
        known: tuple[Instance, Snapshot] | None = self._sql.memory.get(reference)
        if known is None:
            found = self.instance(reference)
            known = found, found.snapshot
        return known

    def _name(self, instance: str, machine: str, event: Event) -> None:
        for name in event.evidence.names if event.evidence is not None else ():
            self._sql.rows(_NAME, (machine, name, instance))

    def _move(self, before: Instance, entry: Entry, snapshot: Snapshot) -> None:
        """Write where an instance stands after an entry."""
        after = replace(
            before,
            state=entry.to_state,
            version=entry.version,
            outcome=snapshot.outcome,
            data=encode(snapshot),
            updated=entry.time,
        )
        # An index is written for each of its columns that is set, even to the same value.
        changed = [name for name in _MOVING if getattr(before, name) != getattr(after, name)]
        columns = ", ".join(f"{name} = ?" for name in changed)
        values = [getattr(after, name) for name in changed]
        self._sql.rows(f"UPDATE instances SET {columns} WHERE id = ?", (*values, before.id))
        self._remember(after, snapshot)

    def _remember(self, instance: Instance, snapshot: Snapshot) -> None:
        self._sql.memory[instance.id] = instance, snapshot

    def _entry(
        self,
        instance: str,
        version: int,
        event: Event,
        came_from: str | None,
        result: Accepted,
        now: int,
        key: str | None,
        epoch: int | None,
    ) -> Entry:
        head = self._sql.memory.get(_HEAD) or next(iter(self._sql.rows(_HEAD)), (0, GENESIS))
        seq, previous = head
        actor = event.actor
        fields = (
            seq + 1,
            instance,
            version,
            event.name,
            came_from,
            result.snapshot.state,
            str(actor.kind),
            actor.id,
            str(actor.channel),
            event.command,
            event.reason,
            "{}" if event.evidence is None else encode(event.evidence),
            time_text(now),
            int(result.off_path),
            epoch,
            key,
            previous,
        )
        row = (*fields, hash_of(fields))
        self._sql.rows(_INSERT_ENTRY, row)
        self._sql.memory[_HEAD] = row[0], row[-1]
        return Entry(*row)

    def _repeated(self, key: str | None, event: Event, reference: str | None) -> Recorded | None:
        """The first answer, where the key was used before for the same event."""
        found = self._sql.rows(f"SELECT {ENTRY} FROM entries WHERE key = ?", (key,)) if key is not None else []
        if not found:
            return None
        entry = Entry(*found[0])
        elsewhere = reference is not None and not entry.instance.endswith(reference)
        other = not _brings_the_same(entry, event.evidence or Evidence())
        if entry.event != event.name or elsewhere or event.to not in (None, entry.to_state) or other:
            raise _key_reused(entry)
        history = [one for one in read_entries(self._sql, instance=entry.instance) if one.version <= entry.version]
        result = replayed(history, self._machines.of(self._sql, self.instance(entry.instance)))
        return Recorded(entry, result.snapshot, result.effects, result.warning, written=False)

    def _entry_at(self, instance: str, version: int) -> Entry:
        found = self._sql.rows(f"SELECT {ENTRY} FROM entries WHERE instance = ? AND version = ?", (instance, version))
        return Entry(*found[0])


def replayed(entries: list[Entry], machine: Machine) -> Accepted:
    """What came of the last of these entries, all of an instance's from its first one on."""
    result = _accepted(start(machine, entries[0].as_event(machine)))
    for entry in entries[1:]:
        result = _accepted(step(machine, result.snapshot, entry.as_event(machine)))
    return result


def _accepted(result: Accepted | Refused) -> Accepted:
    if isinstance(result, Refused):
        details = {"allowed": msgspec.to_builtins(result.allowed)}
        raise Refusal(result.code, result.message, result.hint, details)
    return result


def _brings_the_same(entry: Entry, evidence: Evidence) -> bool:
    """Whether an entry was made by an event that brought this; names are left out, for a process has a new one."""
    kept = entry.decoded_evidence()
    data = {name: value for name, value in kept.data.items() if name != CREATED or entry.version > 1}
    return replace(kept, data=data, names=()) == replace(evidence, names=())


def _key_reused(entry: Entry) -> Refusal:
    message = f"The key {entry.key!r} belongs to {entry.event!r} of {entry.instance}, entry {entry.seq}."
    return Refusal("key_reused", message, "Use a new key for a new event.")


def _conflict(before: Instance, expected: int) -> Conflict:
    message = f"{before.id} is at version {before.version} in {before.state!r}, and version {expected} was expected."
    return Conflict("conflict", message, "Read it again and decide anew.")


def _with_birth(evidence: Evidence | None, birth: Birth) -> Evidence:
    evidence = evidence or Evidence()
    if CREATED in evidence.data:
        raise Refusal("evidence_invalid", f"{CREATED!r} is taken in the data of a first entry.", "Rename that key.")
    return replace(evidence, data={**evidence.data, CREATED: msgspec.to_builtins(birth)})
