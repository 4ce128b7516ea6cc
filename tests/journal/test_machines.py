"""Machines are kept with what they made: an old instance goes on by the definition it began with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from interlock.errors import InterlockError, InvalidMachine, Refusal
from interlock.journal import Journal, open_journal
from interlock.machine import Event, Machine, load_shipped
from interlock.machine.load import compile_machine

from .databases import Address, dump, sql
from .histories import HUMAN, Clock, created


class Registry:
    """Gives out a thread machine that a test can change."""

    def __init__(self) -> None:
        self.thread = load_shipped("thread")

    def __call__(self, name: str) -> Machine:
        return self.thread if name == "thread" else load_shipped(name)

    def forget(self, event: str) -> None:
        """From now on the thread has no such event."""
        form = self.thread.form
        kept = [row for row in form.transitions if row.on != event]
        states = {name: replace(state, menu=[]) for name, state in form.states.items()}
        self.thread = compile_machine(replace(form, version=2, transitions=kept, states=states))


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def journal(address: Address, clock: Clock, registry: Registry) -> Iterator[Journal]:
    journal = open_journal(address, registry, now=clock)
    yield journal
    journal.close()


def test_an_instance_goes_on_by_the_definition_it_began_with(journal: Journal, registry: Registry) -> None:
    old = journal.create("thread", created()).entry.instance
    registry.forget("assess")
    new = journal.create("thread", created()).entry.instance
    assert journal.append(old, Event("assess", HUMAN)).entry.to_state == "Assessing"
    with pytest.raises(Refusal) as refusal:
        journal.append(new, Event("assess", HUMAN))
    assert refusal.value.code == "unknown_event"
    assert journal.verify() == []


def test_an_old_definition_is_still_known_to_those_who_have_only_the_new_one(
    journal: Journal, address: Address, registry: Registry, clock: Clock
) -> None:
    old = journal.create("thread", created()).entry.instance
    digest = registry.thread.digest
    registry.forget("assess")
    later = open_journal(address, registry, now=clock)
    assert later.append(old, Event("assess", HUMAN)).entry.to_state == "Assessing"
    assert later.machine_of(later.instance(old)).digest == digest
    assert later.machine_of(later.instance(old)).form == load_shipped("thread").form
    assert list(later.machine_of(later.instance(old)).states) == list(load_shipped("thread").states)
    before = dump(address)
    assert later.verify() == []
    assert later.rebuild() == 1
    assert dump(address) == before
    later.close()


def test_each_definition_is_kept_once_with_the_first_instance_that_needs_it(
    journal: Journal, address: Address, registry: Registry
) -> None:
    assert sql(address, "SELECT * FROM machines") == []
    for _ in range(2):
        journal.create("thread", created())
    assert sql(address, "SELECT name, version FROM machines") == [("thread", 1)]
    registry.forget("assess")
    journal.create("thread", created())
    kept = {row[0] for row in sql(address, "SELECT digest FROM machines")}
    assert kept == {load_shipped("thread").digest, registry.thread.digest}


@pytest.mark.parametrize("spoiled", ["UPDATE machines SET definition = '{}'", "DELETE FROM machines"])
def test_an_instance_whose_definition_was_changed_or_lost_cannot_be_moved(
    journal: Journal, address: Address, spoiled: str
) -> None:
    id_ = journal.create("thread", created()).entry.instance
    sql(address, spoiled)
    later = open_journal(address)
    before = dump(address)
    with pytest.raises(InterlockError) as refusal:
        later.append(id_, Event("assess", HUMAN))
    assert refusal.value.code == "journal_tampered"
    assert refusal.value.hint
    assert dump(address) == before
    later.close()


def test_a_targeted_move_does_not_wait_for_effects(sqlite_address: Address) -> None:
    """The entry of such a move would end where it began, and could not be read back as a move to its target."""
    form = load_shipped("session").form
    rows = [
        replace(row, effects=["announce"], moves="after_effects", when=None) if row.to == "analyzing" else row
        for row in form.transitions
    ]
    with pytest.raises(InvalidMachine):
        compile_machine(replace(form, transitions=rows, enforcement="strict"))
