"""The journal looked at as a whole: is it what was written, and do the rules hold from the first entry on?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from interlock.decoding import convert
from interlock.errors import InterlockError, JournalError, Tampered
from interlock.journal.entry import CREATED, GENESIS, Birth, Entry, Instance, encode, instance_columns
from interlock.journal.machines import Machines, named_version
from interlock.journal.projection import Projection, refold
from interlock.journal.reading import read_entries
from interlock.journal.sqlite import in_memory
from interlock.journal.store import Row, Sql
from interlock.machine import Accepted, Machine, Refused, Snapshot, start, step

__all__ = ["Problem", "rebuild", "verify", "verify_projection"]

_BATCH = 5000
PROJECTION = "projection_differs"
"""The code of what `rebuild` mends: an instance that is not what its entries add up to."""


class Problem(msgspec.Struct, frozen=True):
    """Something in the journal that is not as it was written, and where."""

    code: str
    message: str
    seq: int | None = None
    instance: str | None = None


class _Replay(msgspec.Struct):
    """The instances that the entries add up to, made anew."""

    sql: Sql
    machines: Machines
    instances: dict[str, Instance] = msgspec.field(default_factory=dict)
    snapshots: dict[str, Snapshot] = msgspec.field(default_factory=dict)
    broken: set[str] = msgspec.field(default_factory=set)
    names: dict[tuple[str, str], str] = msgspec.field(default_factory=dict)

    def take(self, entry: Entry) -> Problem | None:
        """Replay one entry; what is wrong with it, if anything."""
        if entry.instance in self.broken:
            return None
        try:
            problem = self._begin(entry) if entry.version == 1 else self._go_on(entry)
        except (InterlockError, msgspec.MsgspecError, TypeError, ValueError) as error:
            problem = _problem("unreadable", entry, f"cannot be replayed: {error}")
        if problem is not None:
            self.broken.add(entry.instance)
        else:
            machine = self.instances[entry.instance].machine
            self.names.update({(machine, name): entry.instance for name in entry.decoded_evidence().names})
        return problem

    def _begin(self, entry: Entry) -> Problem | None:
        if entry.instance in self.instances or entry.event != CREATED:
            return _problem("out_of_order", entry, "begins an instance that has begun, or does not begin one")
        birth = convert(entry.decoded_evidence().data.get(CREATED), Birth)
        machine = self.machines.by_digest(self.sql, birth.digest)
        snapshot, problem = _compare(entry, start(machine, entry.as_event(machine)), machine)
        if snapshot is not None:
            self.snapshots[entry.instance] = snapshot
            self.instances[entry.instance] = Instance(
                id=entry.instance,
                machine=birth.machine,
                digest=birth.digest,
                parent=birth.parent,
                state=snapshot.state,
                version=1,
                outcome=snapshot.outcome,
                data=encode(snapshot),
                created=entry.time,
                updated=entry.time,
            )
        return problem

    def _go_on(self, entry: Entry) -> Problem | None:
        before = self.instances.get(entry.instance)
        if before is None or entry.version != before.version + 1 or entry.from_state != before.state:
            stood = f"version {before.version} in {before.state!r}" if before else "nothing"
            return _problem(
                "out_of_order", entry, f"says version {entry.version} from {entry.from_state!r} after {stood}"
            )
        machine = self.machines.of(self.sql, before)
        result = step(machine, self.snapshots[entry.instance], entry.as_event(machine))
        snapshot, problem = _compare(entry, result, machine)
        if snapshot is not None:
            self.snapshots[entry.instance] = snapshot
            self.instances[entry.instance] = replace(
                before,
                state=snapshot.state,
                version=entry.version,
                outcome=snapshot.outcome,
                data=encode(snapshot),
                updated=entry.time,
            )
        return problem


def _compare(entry: Entry, result: Accepted | Refused, machine: Machine) -> tuple[Snapshot | None, Problem | None]:
    if isinstance(result, Refused):
        why = f"is a move that the machine {machine.name} refuses ({result.code}): {result.message}"
        return None, _problem("rule_broken", entry, why)
    if result.snapshot.state != entry.to_state or int(result.off_path) != entry.off_path:
        why = f"says {entry.to_state!r}, and the machine {machine.name} leads to {result.snapshot.state!r}"
        return None, _problem("rule_broken", entry, why)
    return result.snapshot, None


def verify(sql: Sql, machines: Machines) -> Iterator[Problem]:
    """Every problem of a journal, in the order of its entries, then those of its projections."""
    return _examined(sql, _Replay(sql, machines))


def _examined(sql: Sql, replay: _Replay) -> Iterator[Problem]:
    previous, expected = GENESIS, 1
    for entry in _all_entries(sql):
        if isinstance(entry, Problem):
            yield entry
            previous, expected = "", (entry.seq or expected) + 1
            continue
        if entry.seq != expected:
            names = (
                f"entry {expected} is" if entry.seq == expected + 1 else f"entries {expected} to {entry.seq - 1} are"
            )
            yield Problem("missing", f"{names} missing", expected)
        elif previous and entry.previous != previous:
            yield _problem("chain_broken", entry, "does not follow from the entry before it")
        if entry.hash != entry.computed_hash():
            yield _problem("changed", entry, "is not what was written: its content does not match its hash")
        problem = replay.take(entry)
        if problem is not None:
            yield problem
        previous, expected = entry.hash, entry.seq + 1
    yield from _definitions(sql, replay)
    yield from _differences(sql, replay)
    yield from _misnamed(sql, replay)


def _definitions(sql: Sql, replay: _Replay) -> Iterator[Problem]:
    """Where a machine that the journal was written with is not what it was."""
    for digest, name, version, definition in sql.rows("SELECT digest, name, version, definition FROM machines"):
        kept = hashlib.sha256(str(definition).encode("utf-8", "replace")).hexdigest()
        if kept != digest or (name, version) != named_version(definition):
            yield Problem("changed", f"the definition of the machine {str(name)[:40]} ({digest[:12]}) was changed")
    wanted = {instance.digest for instance in replay.instances.values()}
    for digest in wanted - {str(row[0]) for row in sql.rows("SELECT digest FROM machines")}:
        yield Problem("missing", f"the definition of the machine {digest[:12]} is missing")


def _differences(sql: Sql, replay: _Replay) -> Iterator[Problem]:
    """Where the table of instances is not what the entries add up to."""
    stored = {row[0]: Instance(*row) for row in sql.rows(f"SELECT {instance_columns} FROM instances ORDER BY id")}
    for id_ in sorted(stored.keys() | replay.instances.keys()):
        kept, made = stored.get(id_), replay.instances.get(id_)
        if id_ in replay.broken or kept == made:
            continue
        if made is None:
            message = f"{id_} has no entries; the last ones of the journal are missing, or it was put there by hand"
            yield Problem("missing", message, None, id_)
        elif kept is None:
            yield Problem(PROJECTION, f"{id_} has entries and is not among the instances", None, id_)
        elif kept.version > made.version:
            message = f"entry {made.version + 1} of {id_} is missing: it stands at version {kept.version}"
            yield Problem("missing", message, None, id_)
        else:
            message = f"{id_} stands at {kept.state!r}, version {kept.version}, and its entries add up to otherwise"
            yield Problem(PROJECTION, message, None, id_)


def _misnamed(sql: Sql, replay: _Replay) -> Iterator[Problem]:
    """Where the table of names is not what the entries say."""
    stored = {(row[0], row[1]): row[2] for row in sql.rows("SELECT machine, name, instance FROM names")}
    for machine, name in sorted(
        key for key in stored.keys() | replay.names if stored.get(key) != replay.names.get(key)
    ):
        if not replay.broken:
            yield Problem(PROJECTION, f"the name {name[:80]!r} of a {machine} is not what the entries say")


def _all_entries(sql: Sql) -> Iterator[Entry | Problem]:
    """Every entry in order; in the place of one that cannot be read at all, that it cannot."""
    after, most = 0, _BATCH
    while True:
        try:
            batch = read_entries(sql, after, most=most)
        except JournalError as error:
            if most > 1:
                most = 1  # find the one
                continue
            [(seq,)] = sql.rows("SELECT min(seq) FROM entries WHERE seq > ?", (after,))
            if type(seq) is not int or seq <= after:
                raise
            yield Problem("unreadable", f"entry {seq} cannot be read: {error.message}", seq)
            after = seq
            continue
        if not batch:
            return
        yield from batch
        after = batch[-1].seq


def _problem(code: str, entry: Entry, what: str) -> Problem:
    return Problem(code, f"entry {entry.seq} ({entry.event!r} of {entry.instance}) {what}", entry.seq, entry.instance)


def verify_projection(sql: Sql, projection: Projection) -> Iterator[Problem]:
    """Where tables that are current are not what the entries add up to."""
    with in_memory() as scratch:
        refold(sql, projection, scratch)
        for table in projection.tables:
            made, stored = _content(scratch, table), _content(sql, table)
            for row in sorted(made ^ stored, key=str)[:1]:
                what = "lacks" if row in made else "has by somebody's hand"
                yield Problem(PROJECTION, f"the table {table} {what} a row of {str(row[0])[:80]!r}")


def _content(sql: Sql, table: str) -> set[Row]:
    return {tuple(row) for row in sql.rows(f"SELECT * FROM {table}")}


def rebuild(sql: Sql, machines: Machines) -> int:
    """Make the table of instances anew from the entries, or change nothing where they do not hold."""
    replay = _Replay(sql, machines)
    for problem in _examined(sql, replay):
        if problem.code != PROJECTION:
            hint = "Run `ralph journal verify` for all that is wrong; nothing was changed."
            raise Tampered("journal_tampered", f"It cannot be rebuilt: {problem.message}.", hint)
    sql.memory.clear()
    sql.rows("DELETE FROM instances")
    for instance in replay.instances.values():
        values = msgspec.structs.astuple(instance)
        sql.rows(f"INSERT INTO instances ({instance_columns}) VALUES ({', '.join('?' * len(values))})", values)
    sql.rows("UPDATE projections SET version = 0")  # made anew by whoever asks them next
    sql.rows("DELETE FROM names")
    for (machine, name), named in replay.names.items():
        sql.rows("INSERT INTO names (machine, name, instance) VALUES (?, ?, ?)", (machine, name, named))
    return len(replay.instances)
