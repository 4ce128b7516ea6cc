"""Tickets by a machine of one's own, in the source system's JSON form: it decides, and people's rules stay."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faces.source_form import source_form
from interlock.errors import InvalidMachine
from interlock.journal import Journal, open_journal
from interlock.machine import load_shipped
from interlock.work.tickets.ticket_table import TICKETS
from interlock.work.tickets.upcoming import next_ticket
from interlock.work.tickets.verbs import create
from interlock.work.views.ticket import ticket_view
from interlock.world.machines import OVERRIDE, machine_finder
from journal.histories import Clock

from .places import PERSON, agent, entries_of, held, made, moved, other_agent, person, place, refused

pytestmark = pytest.mark.requirement("ticket:handoff:override")

Source = dict[str, Any]
Opened = Callable[[Any], Journal]


def changed() -> Source:
    """Our own table in the source system's form, with a state, a command and an intent of its own, and an edge less."""
    source = copy.deepcopy(source_form(load_shipped("ticket")))
    source["states"]["Design"] = {"allowed_transitions": ["Ready for Plan", "Human Needed"], "description": "Draw it"}
    source["states"]["Backlog"]["allowed_transitions"] += ["Design", "Human Needed"]
    source["states"]["Backlog"]["allowed_transitions"].remove("Done")
    source["commands"]["ralph_triage"]["valid_output_states"].append("Design")
    source["commands"]["ralph_draw"] = {
        "description": "Draw it",
        "valid_input_states": ["Design"],
        "valid_output_states": ["Ready for Plan", "Human Needed"],
    }
    source["semantic_states"]["__COMPLETE__"]["ralph_draw"] = "Ready for Plan"
    source["semantic_states"]["__SKIP__"] = {"ralph_triage": "Design"}
    return source


@pytest.fixture
def opened_by(tmp_path: Path) -> Iterator[Opened]:
    """Opens a journal whose ticket machine is a file's."""
    journals: list[Journal] = []

    def opened(source: Any) -> Journal:
        path = tmp_path / "machine.json"
        path.write_text(source if isinstance(source, str) else json.dumps(source))
        environment = {OVERRIDE: str(path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
        journals.append(open_journal(tmp_path / "journal.db", machine_finder(environment), now=Clock()))
        return journals[-1]

    yield opened
    for journal in journals:
        journal.close()


def test_the_states_commands_and_intents_of_the_file_are_those_of_tickets(opened_by: Opened) -> None:
    journal = opened_by(changed())
    number = made(journal)
    assert moved(journal, agent(), number, command="triage", intent="skip").new_state == "Design"
    found = ticket_view(journal, number)
    assert found.guidance.expected_by_commands == ["draw"]
    assert set(found.guidance.allowed_next_transitions) == {"Ready for Plan", "Human Needed"}
    told = moved(journal, agent(), number, command="ralph_draw", intent="__COMPLETE__")
    assert (told.previous_state, told.new_state) == ("Design", "Ready for Plan")
    assert [entry.to_state for entry in entries_of(journal, number)] == ["Backlog", "Design", "Ready for Plan"]
    assert journal.verify(TICKETS) == []


def test_an_edge_that_the_file_has_not_got_is_nobodys(opened_by: Opened) -> None:
    journal = opened_by(changed())
    number = made(journal)
    assert refused(journal, person(), number, to="Done").code == "target_not_allowed"
    assert refused(journal, agent(), number, command="triage", intent="close").code == "target_not_allowed"
    assert refused(journal, agent(), number, command="merge", to="Design").code == "command_not_allowed"


def test_the_next_ticket_of_a_command_of_the_file_is_found(opened_by: Opened) -> None:
    journal = opened_by(changed())
    number = made(journal)
    moved(journal, person(), number, to="Design")
    machine = journal.transact(lambda transaction: transaction.current("ticket"))
    found = next_ticket(journal, machine, command="draw")
    assert found.ticket is not None
    assert found.ticket.number == number


def test_holders_and_peoples_rules_stay(opened_by: Opened) -> None:
    journal = opened_by(changed())
    locked = held(journal, "Plan in Progress")
    assert refused(journal, other_agent(), locked, command="plan", intent="complete").code == "lock_held"
    assert moved(journal, agent(), locked, command="plan", intent="release").new_state == "Ready for Plan"
    stuck = place(journal, "Human Needed")
    assert refused(journal, agent(), stuck, command="hero", to="In Progress").code == "person_needed"
    plan = place(journal, "Plan in Review")
    assert refused(journal, agent(), plan, command="review", intent="complete").code == "refused_by_rule"
    done = place(journal, "In Review")
    assert refused(journal, agent(), done, command="merge", intent="complete").code == "proof_required"


def test_a_ticket_goes_on_by_the_machine_that_it_was_made_by(opened_by: Opened, tmp_path: Path) -> None:
    number = made(opened_by(changed()))
    shipped = open_journal(tmp_path / "journal.db", now=Clock())
    try:
        assert moved(shipped, agent(), number, command="triage", to="Design").new_state == "Design"
        later = made(shipped)
        assert refused(shipped, agent(), later, command="triage", to="Design").code == "unknown_state"
    finally:
        shipped.close()


BROKEN: dict[str, Any] = {
    "no JSON": "{",
    "an edge to nowhere": lambda source: source["states"]["Backlog"]["allowed_transitions"].append("Nowhere"),
    "a command to nowhere": lambda source: source["commands"]["ralph_plan"]["valid_output_states"].append("Nowhere"),
    "an intent to nowhere": lambda source: source["semantic_states"]["__LOCK__"].update(ralph_plan="Nowhere"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_stops_with_its_reason_and_nothing_is_written(
    opened_by: Opened, tmp_path: Path, what: str
) -> None:
    source: Any = changed()
    if callable(BROKEN[what]):
        BROKEN[what](source)
    else:
        source = BROKEN[what]
    journal = opened_by(source)
    with pytest.raises(InvalidMachine) as caught:
        journal.transact(create(PERSON, "A title"))
    assert caught.value.code == "machine_invalid"
    assert str(tmp_path / "machine.json") in caught.value.hint
    assert OVERRIDE in caught.value.hint
    assert journal.head() == 0
