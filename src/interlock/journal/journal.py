"""The journal: the one truth. Append-only, hash-chained; an instance moves here and nowhere else."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar

from interlock.journal.entry import Entry, Instance, instance_columns
from interlock.journal.ids import Source
from interlock.journal.leases import (
    Holder,
    Lease,
    acquire,
    find_held,
    find_lease,
    holder_of,
    is_held,
    lease_time,
    lost,
    release,
    renew,
)
from interlock.journal.look import Look, Looks
from interlock.journal.machines import Machines
from interlock.journal.projection import Projection, catch_up, is_begun, is_current
from interlock.journal.reading import (
    count_by_state,
    count_states,
    find_in_states,
    find_instance,
    find_machines,
    find_named,
    find_open,
    find_open_children,
    find_recent,
    read_entries,
    read_first,
    read_history,
)
from interlock.journal.schema import identity
from interlock.machine import load_shipped

# What only some ask for is imported where they do: most commands look at a few instances and write nothing.
if TYPE_CHECKING:
    from pathlib import Path

    from interlock.journal.audit import Problem
    from interlock.journal.entry import Recorded
    from interlock.journal.outbox import Outbox
    from interlock.journal.search import SearchPage, Sought
    from interlock.journal.store import Sql, Store
    from interlock.journal.transaction import Transaction
    from interlock.machine import Event, Machine, Snapshot

__all__ = ["Journal"]

Result = TypeVar("Result")

_BATCH = 1000
_WAIT_SECONDS = 1.0


class Journal:
    """All instances of all machines, and everything that ever happened to them."""

    def __init__(
        self,
        store: Store,
        machines: Callable[[str], Machine] = load_shipped,
        *,
        now: Callable[[], int] = time.time_ns,
        randomness: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._store = store
        self._machines = Machines(machines)
        self._source = Source(now, randomness)
        self._looks = Looks()

    def close(self) -> None:
        self._store.close()

    @property
    def file(self) -> Path | None:
        """The file that it is kept in; None where it is on a server."""
        return self._store.path

    @property
    def id(self) -> str:
        """The id of this journal, which no other has."""
        with self._read() as sql:
            return identity(sql)

    @property
    def url(self) -> str | None:
        """The address of the server that it is on; None where it is a file."""
        return self._store.url

    # Writing

    def transact(self, work: Callable[[Transaction], Result]) -> Result:
        """Do several things as one: all are durable when this returns, or none happened."""
        return self._store.write(self._within(work))

    def create(self, machine: str, event: Event, *, parent: str | None = None, key: str | None = None) -> Recorded:
        """Begin a new instance of a machine. Durable when it returns."""
        return self.transact(lambda transaction: transaction.create(machine, event, parent=parent, key=key))

    def append(
        self,
        instance: str,
        event: Event,
        *,
        expected: int | None = None,
        key: str | None = None,
        lease: Lease | None = None,
    ) -> Recorded:
        """Move an instance by one event. Durable when it returns; see `Transaction.append`."""
        return self._store.write(self._appending(instance, event, expected, key, lease), decides_first=True)

    async def append_async(
        self,
        instance: str,
        event: Event,
        *,
        expected: int | None = None,
        key: str | None = None,
        lease: Lease | None = None,
    ) -> Recorded:
        """`append` for a task of an event loop, which goes on meanwhile; cancelling it does not undo the work."""
        work = self._appending(instance, event, expected, key, lease)
        return await self._store.write_async(work, decides_first=True)

    def _appending(
        self, instance: str, event: Event, expected: int | None, key: str | None, lease: Lease | None
    ) -> Callable[[Sql], Recorded]:
        from interlock.journal.transaction import Transaction

        def work(sql: Sql) -> Recorded:
            transaction = Transaction(sql, self._machines, self._source)
            return transaction.append(instance, event, expected=expected, key=key, lease=lease)

        return work

    async def transact_async(self, work: Callable[[Transaction], Result]) -> Result:
        """`transact` for a task of an event loop, which goes on meanwhile; cancelling it does not undo the work."""
        return await self._store.write_async(self._within(work))

    def _within(self, work: Callable[[Transaction], Result]) -> Callable[[Sql], Result]:
        from interlock.journal.transaction import Transaction

        def run(sql: Sql) -> Result:
            transaction = Transaction(sql, self._machines, self._source)
            try:
                return work(transaction)
            finally:
                transaction.finish()

        return run

    # Reading

    @contextmanager
    def look(self, *projections: Projection) -> Iterator[Look]:
        """Read in one transaction, and ask nothing twice: for this thread, until the look ends.

        No other thread reads meanwhile, so take no lock in it that another may hold while it reads. Of projections,
        only these can be asked. A look in a look is the same one.
        """
        current = self._looks.current
        if current is not None:
            assert set(projections) <= set(current.projections), "a look asks only the projections that it began with"
            yield current
            return
        for is_caught_up in (False, True):
            with self._store.read() as sql:
                behind = [one for one in projections if not is_caught_up and not is_current(sql, one)]
                if not behind:
                    self._looks.current = Look(sql, projections)
                    try:
                        yield self._looks.current
                    finally:
                        self._looks.current = None
                    return
            for projection in behind:
                self._catch_up(projection)

    def _catch_up(self, projection: Projection) -> None:
        # Others can write between the parts of a long way.
        while not self._store.write(lambda sql: catch_up(sql, projection, _BATCH)):
            pass

    def _read(self) -> AbstractContextManager[Sql]:
        """The transaction of this thread's look, or one of its own."""
        look = self._looks.current
        return self._store.read() if look is None else nullcontext(look.sql)

    def ask(self, find: Callable[..., Result], *question: Hashable) -> Result:
        """Return what `find` answers in a transaction to read in; in a look, it is called once for each question."""
        look = self._looks.current
        if look is not None:
            return look.ask(find, *question)
        with self._store.read() as sql:
            return find(sql, *question)

    def _known(self, found: list[Instance]) -> list[Instance]:
        """Return these instances, which a look need not ask for again."""
        look = self._looks.current
        if look is not None:
            look.know_instances(found)
        return found

    def now(self) -> float:
        """The journal's clock, in seconds since 1970."""
        return self._source.now() / 1e9

    def instance(self, reference: str) -> Instance:
        """An instance by its id or by a suffix of it that only one has."""
        return self.ask(find_instance, reference)

    def instances(self, machine: str | None = None) -> list[Instance]:
        """All instances, or those of one machine, oldest first."""
        where, values = ("", ()) if machine is None else (" WHERE machine = ?", (machine,))
        with self._read() as sql:
            found = sql.rows(f"SELECT {instance_columns} FROM instances{where} ORDER BY id", values)
        return [Instance(*row) for row in found]

    def open_instances(self, machine: str) -> list[Instance]:
        """The instances of a machine that have not ended, oldest first."""
        return self._known(self.ask(find_open, machine))

    def open_children(self, parent: str, machine: str) -> list[Instance]:
        """The instances of a machine below another that have not ended, oldest first."""
        return self._known(self.ask(find_open_children, parent, machine))

    def state_counts(self, machine: str) -> dict[str, int]:
        """The number of instances of a machine that have not ended in each state that has any."""
        return self.ask(count_states, machine)

    def in_states(self, machine: str, states: Sequence[str], most: int) -> tuple[int, list[Instance]]:
        """How many instances of a machine that have not ended are in one of these states, and the newest of them."""
        with self.look():
            counts = self.state_counts(machine)
            wanted = tuple(one for one in states if one in counts)
            return sum(counts[one] for one in wanted), self._known(self.ask(find_in_states, machine, wanted, most))

    def recent(
        self, machine: str, most: int, *, parent: str | None = None, before: str | None = None
    ) -> list[Instance]:
        """The newest instances of a machine, newest first; of a parent's children, or of those before an id."""
        return self._known(self.ask(find_recent, machine, most, parent, before))

    def machine_names(self, ids: Sequence[str]) -> dict[str, str]:
        """The names of the machines of these instances, by their ids."""
        with self._read() as sql:
            return find_machines(sql, ids)

    def first_entries(self, instances: Sequence[str]) -> dict[str, Entry]:
        """The first entry of each of these instances: what each was begun with."""
        with self._read() as sql:
            return read_first(sql, instances)

    def named(self, machine: str, name: str) -> Instance | None:
        """The instance of a machine that took a name last."""
        return self.ask(find_named, machine, name)

    def current(self, machine: str) -> Machine:
        """The machine that a new instance would be made by."""
        return self._machines.current(machine)

    def machine_of(self, instance: Instance) -> Machine:
        """The machine that an instance was made by."""
        known = self._machines.known(instance.digest)
        if known is not None:
            return known
        with self._read() as sql:
            return self._machines.of(sql, instance)

    @contextmanager
    def projected(self, projection: Projection) -> Iterator[Sql]:
        """The tables of a projection to read, with everything in them that was appended before."""
        with self.look(projection) as look:
            yield look.sql

    def is_begun(self, projection: Projection) -> bool:
        """True if somebody asked for a projection before, so that there are tables of it."""
        with self._read() as sql:
            return is_begun(sql, projection)

    def entries(self, after: int = 0, *, instance: str | None = None, most: int = _BATCH) -> list[Entry]:
        """Entries in the order they were written: those after a sequence number, at most so many."""
        with self._read() as sql:
            return read_entries(sql, after, instance, most)

    def search(
        self, sought: Sought, *, before: int | None = None, after: int | None = None, most: int = 50
    ) -> SearchPage:
        """A page of the entries that match; see `search.find_entries`."""
        from interlock.journal.search import find_entries

        with self._read() as sql:
            return find_entries(sql, sought, before=before, after=after, most=most)

    def entry(self, seq: int) -> tuple[str, Entry] | None:
        """An entry by its number, with the machine of its instance."""
        from interlock.journal.search import find_entry

        return self.ask(find_entry, seq)

    def counts_by_state(self) -> dict[str, dict[str, int]]:
        """The number of instances that have not ended in each state of each machine."""
        return self.ask(count_by_state)

    def all_entries(self) -> Iterator[Entry]:
        """Every entry there is now, in order."""
        after = 0
        while batch := self.entries(after):
            yield from batch
            after = batch[-1].seq

    def head(self) -> int:
        """The sequence number of the newest entry; 0 in an empty journal."""
        with self._read() as sql:
            [(newest,)] = sql.rows("SELECT coalesce(max(seq), 0) FROM entries")
        return int(newest)

    def history(self, instance: str, after: int = 0, *, most: int | None = None) -> list[Entry]:
        """Everything that happened to an instance, or what happened after one of its versions; so much at the most."""
        with self.look():
            return self.ask(read_history, self.instance(instance).id, after, most)

    def snapshot(self, instance: str, at: int | None = None) -> Snapshot:
        """Where an instance stands, or stood after its entry number `at`."""
        found = self.instance(instance)
        if at is None or at >= found.version:
            return found.snapshot
        from interlock.journal.transaction import replayed

        return replayed(self.history(found.id)[: max(at, 1)], self.machine_of(found)).snapshot

    def follow(
        self, after: int = 0, *, instance: str | None = None, stop: Callable[[], bool] = lambda: False
    ) -> Iterator[Entry]:
        """Entries as they come, each once and none left out, until `stop` says so."""
        while not stop():
            batch = self.entries(after, instance=instance)
            for entry in batch:
                yield entry
                after = entry.seq
            if not batch:
                self._store.wait(_WAIT_SECONDS)

    # Leases

    def acquire(
        self, resource: str, holder: Holder, seconds: float, is_alive: Callable[[Holder], bool | None]
    ) -> Lease:
        """Become the only driver of something; see `leases`."""
        wanted = int(seconds * 1000)
        return self._store.write(lambda sql: acquire(sql, resource, holder, self._lease_time(sql), wanted, is_alive))

    def renew(self, lease: Lease, seconds: float) -> None:
        """Hold a lease for longer, from now on."""
        self._store.write(lambda sql: renew(sql, lease, self._lease_time(sql), int(seconds * 1000)))

    def release(self, lease: Lease) -> None:
        self._store.write(lambda sql: release(sql, lease))

    def is_held(self, resource: str, is_alive: Callable[[Holder], bool | None]) -> bool | None:
        """True if somebody holds a lease, alive or in time; None where nobody ever did."""
        with self._read() as sql:
            found = find_lease(sql, resource)
            return None if found is None else is_held(found, self._lease_time(sql), is_alive)

    def held(self, resource: str, is_alive: Callable[[Holder], bool | None]) -> Lease | None:
        """The lease that somebody holds, alive or in time; None where nobody does."""
        look = self._looks.current
        with self._read() as sql:
            found = find_lease(sql, resource) if look is None else look.ask(find_held).get(resource)
            if found is None or not is_held(found, self._lease_time(sql), is_alive):
                return None
        return Lease(resource, found[0], holder_of(found))

    def lost(self, prefix: str, is_alive: Callable[[Holder], bool | None]) -> list[str]:
        """The resources whose name begins so and whose lease has a holder that is gone."""
        with self._read() as sql:
            return lost(sql, prefix, self._lease_time(sql), is_alive)

    def _lease_time(self, sql: Sql) -> int:
        return lease_time(sql, self._source.now)

    # Outboxes

    def outboxes(self) -> list[Outbox]:
        """How far each channel has told what happened."""
        from interlock.journal.outbox import find_outboxes

        with self._store.read() as sql:
            return find_outboxes(sql)

    def begin_outbox(self, channel: str) -> Outbox:
        """The outbox of a channel, made where there is none: it begins with what happens from now on."""
        from interlock.journal.outbox import begin_outbox

        found = [one for one in self.outboxes() if one.channel == channel]
        return found[0] if found else self._store.write(lambda sql: begin_outbox(sql, channel))

    def keep_outbox(self, outbox: Outbox, lease: Lease) -> None:
        """Write down how far a channel is, as its only sender."""
        from interlock.journal.outbox import keep_outbox

        self._store.write(lambda sql: keep_outbox(sql, outbox, lease))

    # The whole of it

    def verify(self, *projections: Projection) -> list[Problem]:
        """Check the chain and every rule again, from the entries alone; a journal that holds has no problems."""
        from interlock.journal.audit import verify

        with self._store.read() as sql:
            problems = list(verify(sql, self._machines))
        for projection in projections if not problems else ():
            problems += self._verified(projection)
        return problems

    def _verified(self, projection: Projection) -> list[Problem]:
        from interlock.journal.audit import verify_projection

        while True:
            with self.projected(projection) as sql:
                if is_current(sql, projection):  # nobody appended since it was caught up
                    return list(verify_projection(sql, projection))

    def rebuild(self) -> int:
        """Make every projection anew from the entries; the number of instances."""
        from interlock.journal.audit import rebuild

        return self._store.write(lambda sql: rebuild(sql, self._machines))
