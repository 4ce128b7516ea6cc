"""What a state means, by its flags and rows: for every state of the shipped machines."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from interlock.machine import SHIPPED, ActorKind, Snapshot, load_shipped
from interlock.machine.load import compile_machine
from interlock.machine.states import left_to_person, only_gate, onward_event, shipped_state, target_of

THREAD = load_shipped("thread")


def test_the_gates_and_the_ways_between_them_are_those_of_the_seed() -> None:
    gates = {name: event for name in THREAD.states if (event := only_gate(THREAD, name)) is not None}
    assert gates == {
        "Drafting": "finalize",
        "Assessing": "finalize",
        "PendingReview": "approve",
        "ReadyToCommit": "commit",
    }
    onward = {name: event for name in THREAD.states if (event := onward_event(THREAD, name)) is not None}
    assert onward == {"Finalized": "run", "Configuring": "start", "Implemented": "ready"}


@pytest.mark.parametrize(("mode", "is_left"), [("methodical", True), ("quick", False)])
def test_the_settings_say_whether_the_next_step_is_a_persons(mode: str, is_left: bool) -> None:
    for name in THREAD.states:
        why = left_to_person(THREAD, Snapshot(state=name, settings={"mode": mode}))
        assert (why is not None) is (is_left and onward_event(THREAD, name) is not None)


def test_an_event_leads_where_the_table_says() -> None:
    for row in THREAD.transitions:
        for kind in row.by:
            assert target_of(THREAD, row.source, row.on, ActorKind(kind)) is not None
    assert target_of(THREAD, "Drafting", "commit") is None
    assert target_of(THREAD, "Nowhere", "commit") is None


def test_flags_are_those_of_the_shipped_definition_also_for_what_began_with_an_older_one() -> None:
    bare = {name: replace(state, driven=False, pause=[], tree=None, next=[]) for name, state in THREAD.states.items()}
    older = compile_machine(replace(THREAD.form, states=bare))
    for name in older.states:
        assert shipped_state(older.name, name) == THREAD.states[name]
        assert (only_gate(older, name), onward_event(older, name)) == (
            only_gate(THREAD, name),
            onward_event(THREAD, name),
        )
    assert not shipped_state("thread", "Gone").driven


@pytest.mark.parametrize("name", SHIPPED)
def test_a_driven_state_is_one_that_the_system_leaves(name: str) -> None:
    machine = load_shipped(name)
    for state, known in machine.states.items():
        if known.driven:
            assert any(ActorKind.SYSTEM in row.by and not row.stays for row, _ in machine.outgoing[state])
