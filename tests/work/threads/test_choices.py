"""What a person can do in each state: the machine's own edges, every one of them, and the seed's menus."""

from __future__ import annotations

import pytest

from interlock.machine import ActorKind, load_shipped
from interlock.work.threads.choices import PersonNeed, choices, need_of

_MACHINE = load_shipped("thread")
_PART_OF_PAUSING = "verification_stopped"


@pytest.mark.parametrize("state", list(_MACHINE.states))
def test_every_edge_of_a_person_is_a_choice_and_nothing_else_is(state: str) -> None:
    edges = {event for at, event, kind in _MACHINE.rules if at == state and kind == ActorKind.HUMAN}
    possible = {
        event
        for event in edges
        if any(rule.transition is not None for rule in _MACHINE.rules[(state, event, ActorKind.HUMAN)])
    }
    expected = possible - {_PART_OF_PAUSING} | ({"pause"} if _PART_OF_PAUSING in possible else set())
    found = choices(_MACHINE, state)
    assert {one.event for one in found if one.event} == expected
    for one in found:
        assert one.label
        assert one.does
        if one.event:
            assert one.leads_to in _MACHINE.states
            assert one.need is need_of(_MACHINE, state, one.event)
            assert ("gate" in one.needs) == (one.need is PersonNeed.GATE)


@pytest.mark.parametrize("state", ["Stuck", "Paused"])
def test_the_menus_are_the_seeds(state: str) -> None:
    menu = _MACHINE.states[state].menu
    assert [(one.key, one.label, one.does) for one in choices(_MACHINE, state)] == [
        (one.key, one.label, one.does) for one in menu
    ]
