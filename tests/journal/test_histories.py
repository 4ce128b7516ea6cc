"""Random histories against a model: whatever happens, what was acknowledged is there, once, and the chain holds."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace

from exhaustive import examples
from interlock.errors import Conflict, InterlockError, LeaseHeld, Refusal
from interlock.journal import Entry, Holder, Journal, Lease, Recorded, Transaction, open_journal
from interlock.machine import SHIPPED, Accepted, Event, Evidence, step

from .databases import Address, PostgresServer, dump
from .histories import SYSTEM, Clock, created, every_event, tries

US = Holder("here", "boot", 1, "1", "us")
THEM = Holder("elsewhere", "boot", 2, "2", "them")


class Histories(RuleBasedStateMachine):
    """A journal, and in memory every entry that it acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.address = self.place()
        self.clock = Clock()
        self.randomness = random.Random(1).randbytes
        self.journals = [self.opened()]
        self.acknowledged: list[Entry] = []
        self.keys = 0

    def place(self) -> Address:
        """Where a new journal is made."""
        raise NotImplementedError

    def opened(self) -> Journal:
        return open_journal(self.address, now=self.clock, randomness=self.randomness)

    @property
    def journal(self) -> Journal:
        return self.journals[-1]

    def key(self) -> str:
        self.keys += 1
        return f"key-{self.keys}"

    def remember(self, *recorded: Recorded) -> None:
        self.acknowledged += [one.entry for one in recorded if one.written]

    def chosen(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted({entry.instance for entry in self.acknowledged})), label="instance")

    def event_for(self, data: st.DataObject, id_: str) -> Event:
        """An event from the table, or where it has none left, one off it."""
        found = self.journal.instance(id_)
        possible = list(tries(self.journal.machine_of(found), found.snapshot))
        event = data.draw(st.sampled_from(possible or [Event("superseded", SYSTEM)]), label="event")
        return replace(event, evidence=None, reason=None) if data.draw(st.booleans(), label="bare") else event

    def expected_of(self, id_: str, event: Event) -> Accepted | None:
        found = self.journal.instance(id_)
        result = step(self.journal.machine_of(found), found.snapshot, event)
        return result if isinstance(result, Accepted) else None

    # What happens

    @initialize(machine=st.sampled_from(SHIPPED))
    def begin(self, machine: str) -> None:
        self.create(machine, keyed=True)

    @rule(machine=st.sampled_from(SHIPPED), keyed=st.booleans())
    def create(self, machine: str, keyed: bool) -> None:
        parent = self.acknowledged[-1].instance if self.acknowledged else None
        self.remember(self.journal.create(machine, created(), parent=parent, key=self.key() if keyed else None))

    @rule(data=st.data(), keyed=st.booleans())
    def move(self, data: st.DataObject, keyed: bool) -> None:
        id_ = self.chosen(data)
        self.tried(id_, self.event_for(data, id_), self.key() if keyed else None)

    @rule(data=st.data())
    def move_off_the_table(self, data: st.DataObject) -> None:
        id_ = self.chosen(data)
        machine = self.journal.machine_of(self.journal.instance(id_))
        self.tried(id_, data.draw(st.sampled_from(list(every_event(machine))), label="event"), None)

    def tried(self, id_: str, event: Event, key: str | None) -> None:
        expected, version = self.expected_of(id_, event), self.journal.instance(id_).version
        if expected is None:
            with pytest.raises(Refusal):
                self.journal.append(id_, event, expected=version, key=key)
            return
        recorded = self.journal.append(id_, event, expected=version, key=key)
        assert (recorded.snapshot, recorded.written) == (expected.snapshot, expected.changed)
        self.remember(recorded)

    @rule(data=st.data(), off_by=st.integers(-3, 3).filter(bool))
    def expect_the_wrong_version(self, data: st.DataObject, off_by: int) -> None:
        id_ = self.chosen(data)
        version = self.journal.instance(id_).version
        with pytest.raises(Conflict):
            self.journal.append(id_, self.event_for(data, id_), expected=version + off_by, key=self.key())

    @rule(data=st.data())
    def repeat_a_key(self, data: st.DataObject) -> None:
        entry = data.draw(st.sampled_from([one for one in self.acknowledged if one.key]), label="entry")
        if entry.version == 1:
            machine = self.journal.instance(entry.instance).machine
            again = self.journal.create(machine, created(), key=entry.key)
        else:
            machine_of = self.journal.machine_of(self.journal.instance(entry.instance))
            again = self.journal.append(entry.instance, entry.as_event(machine_of), key=entry.key)
        assert (again.entry, again.written) == (entry, False)
        assert again.snapshot == self.journal.snapshot(entry.instance, at=entry.version)

    @rule(data=st.data(), result=st.sampled_from(["done", "failed"]))
    def begin_and_settle_an_effect(self, data: st.DataObject, result: str) -> None:
        id_, key = self.chosen(data), self.key()
        begun = Evidence(data={"key": key, "effect": "notify"})
        self.tried(id_, Event("effect_intended", SYSTEM, evidence=begun), None)
        if key in self.journal.snapshot(id_).pending and data.draw(st.booleans(), label="settled"):
            ended = Evidence(data={"key": key, "result": result})
            self.tried(id_, Event("effect_settled", SYSTEM, evidence=ended), None)

    @rule(data=st.data())
    def drive_and_be_taken_over(self, data: st.DataObject) -> None:
        id_ = self.chosen(data)
        mine = self.journal.acquire(id_, US, 60, _never_seen)
        with pytest.raises(LeaseHeld):
            self.journal.acquire(id_, THEM, 60, _never_seen)
        self.append_under(mine, id_, self.event_for(data, id_))
        self.clock.forward(61)
        theirs = self.journal.acquire(id_, THEM, 60, _never_seen)
        assert theirs.epoch > mine.epoch
        with pytest.raises(InterlockError) as refusal:
            self.journal.append(id_, self.event_for(data, id_), lease=mine)
        assert refusal.value.code == "lease_lost"
        self.journal.release(theirs)

    def append_under(self, lease: Lease, id_: str, event: Event) -> None:
        if self.expected_of(id_, event) is not None:
            recorded = self.journal.append(id_, event, lease=lease)
            assert not recorded.written or recorded.entry.epoch == lease.epoch
            self.remember(recorded)

    @rule(data=st.data(), interrupted=st.booleans())
    def do_two_things_as_one(self, data: st.DataObject, interrupted: bool) -> None:
        one, two = self.chosen(data), self.chosen(data)
        first, second, key = self.event_for(data, one), self.event_for(data, two), self.key()

        def work(transaction: Transaction) -> list[Recorded]:
            done = [transaction.append(one, first, key=key), transaction.append(two, second)]
            if interrupted:
                raise InterruptedError
            return done

        try:
            self.remember(*self.journal.transact(work))
        except (InterruptedError, Refusal):
            return
        assert not interrupted

    # What befalls the process

    @rule()
    def close_and_open_again(self) -> None:
        self.journals.pop().close()
        self.journals.append(self.opened())

    @precondition(lambda self: len(self.journals) < 4)
    @rule()
    def crash_and_open_again(self) -> None:
        """The journal before is left as it is, with all it holds open."""
        self.journals.append(self.opened())

    @rule()
    def make_the_instances_anew(self) -> None:
        before = dump(self.address)
        self.journal.rebuild()
        assert dump(self.address) == before

    # What always holds

    @invariant()
    def exactly_what_was_acknowledged_is_there(self) -> None:
        assert list(self.journal.all_entries()) == self.acknowledged
        assert [entry.seq for entry in self.acknowledged] == list(range(1, len(self.acknowledged) + 1))

    @invariant()
    def the_chain_and_the_rules_hold(self) -> None:
        assert self.journal.verify() == []

    def teardown(self) -> None:
        self.make_the_instances_anew()
        for journal in reversed(self.journals):
            journal.close()


def _never_seen(holder: Holder) -> None:
    """Nothing is known of any holder, so that time alone decides."""


def limited(many: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=many, stateful_step_count=30, suppress_health_check=slow)


def test_random_histories_hold_on_sqlite(tmp_path: Path) -> None:
    class OnSqlite(Histories):
        def place(self) -> Address:
            return Path(tempfile.mkdtemp(dir=tmp_path)) / "journal.db"

    run_state_machine_as_test(OnSqlite, settings=limited(examples(90)))


def test_random_histories_hold_on_postgresql(postgres: PostgresServer) -> None:
    class OnPostgresql(Histories):
        def place(self) -> Address:
            return postgres.database()

        def teardown(self) -> None:
            super().teardown()
            postgres.give_back(str(self.address))

    run_state_machine_as_test(OnPostgresql, settings=limited(examples(30)))
