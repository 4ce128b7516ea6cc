"""Cards that are moved on the board: every pair of states, generated from the table of the machine."""

from __future__ import annotations

import pytest

from interlock.errors import InterlockError
from interlock.machine import Accepted, Channel, Event, step
from interlock.work.tickets.audit import parse
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.outside import TRACKER
from interlock.work.tickets.tracker import ESTIMATE, PRIORITY, STATE
from world.github_server import Fault

from .boards import MACHINE, PERSON, Office

PAIRS = [(one, other) for one in MACHINE.states for other in MACHINE.states if one != other]
SYSTEMS = {("Backlog", to) for to in ("Research Needed", "Ready for Plan", "Done", "Canceled")} | {
    (one, "Human Needed")
    for one, state in MACHINE.states.items()
    if not (state.terminal or state.lock or one == "Human Needed")
}
"""The moves that are the system's own to make. Out of a lock state only its holder and people move a ticket."""


def _may(office: Office, number: int, event: Event) -> bool:
    snapshot = office.journal.instance(office.id(number)).snapshot
    return isinstance(step(MACHINE, snapshot, event), Accepted)


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_a_card_that_is_moved_moves_its_ticket_or_waits_or_is_reported(here: str, there: str, office: Office) -> None:
    number = office.created(here)
    office.sync()
    office.moved_there(number, there)
    is_systems = _may(office, number, Event("handoff", TRACKER, there))
    is_persons = _may(office, number, Event("handoff", PERSON.actor, there))
    assert is_systems is ((here, there) in SYSTEMS)
    report = office.sync()
    assert office.shown(number) == there
    if is_systems:
        assert (report.moved, report.waiting, office.state(number)) == ([number], [], there)
        moved = next(one for one in reversed(office.journal.history(office.id(number))) if one.event == "handoff")
        assert (moved.actor_kind, moved.channel) == ("system", Channel.TRACKER)
        told = parse(office.posted(number)[-1])
        assert told is not None
        assert (told.to, told.hash) == (there, moved.hash)
        office.assert_in_step()
    else:
        [waiting] = report.waiting
        assert (report.moved, waiting.here, waiting.there) == ([], here, there)
        assert (f"--accept {number}" in waiting.verdict) is is_persons
        assert f"--restore {number}" in waiting.verdict
        assert (office.state(number), office.outside(number)) == (here, there)
    assert office.quiet_sync().waiting == report.waiting


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("here", "there"), sorted(set(PAIRS) - SYSTEMS))
def test_a_move_that_waits_is_accepted_or_refused_and_the_board_is_put_right(
    here: str, there: str, office: Office
) -> None:
    number = office.created(here)
    office.sync()
    office.moved_there(number, there)
    office.sync()
    if _may(office, number, Event("handoff", PERSON.actor, there)):
        office.accept(number)
        moved = next(one for one in reversed(office.journal.history(office.id(number))) if one.event == "handoff")
        assert (moved.actor_id, moved.channel, moved.to_state) == (PERSON.actor.id, Channel.CLI, there)
    else:
        before = office.journal.head()
        with pytest.raises(InterlockError) as caught:
            office.accept(number)
        assert caught.value.code in ("target_not_allowed", "terminal")
        assert office.journal.head() == before
        office.restore(number)
        assert office.shown(number) == there
    report = office.sync()
    assert (report.waiting, report.moved) == ([], [])
    office.assert_in_step()
    office.quiet_sync()
    with pytest.raises(InterlockError) as caught:
        office.restore(number)
    assert caught.value.code == "nothing_outside"


def test_a_card_that_is_moved_back_by_hand_settles_it(office: Office) -> None:
    number = office.created("Plan in Review")
    office.sync()
    office.moved_there(number, "In Progress")
    office.sync()
    office.moved_there(number, "Plan in Review")
    assert office.sync().waiting == []
    office.assert_in_step()


def test_a_card_that_is_moved_on_while_it_waits_is_judged_anew(office: Office) -> None:
    number = office.created("Plan in Review")
    office.sync()
    for there in ("Done", "In Progress"):
        office.moved_there(number, there)
        assert [one.there for one in office.sync().waiting] == [there]
    office.moved_there(number, "Human Needed")
    report = office.sync()
    assert (report.waiting, report.moved, office.state(number)) == ([], [number], "Human Needed")
    office.assert_in_step()


def test_a_ticket_that_comes_to_stand_where_its_card_does_settles_it(office: Office) -> None:
    number = office.created("Plan in Review")
    office.sync()
    office.moved_there(number, "In Progress")
    office.sync()
    office.move(number, "In Progress")
    assert office.sync().waiting == []
    office.assert_in_step()


def test_what_a_person_can_do_about_a_card_changes_with_its_ticket(office: Office) -> None:
    number = office.created("Plan in Review")
    office.sync()
    office.moved_there(number, "Done")
    [before] = office.sync().waiting
    assert "--accept" not in before.verdict
    office.move(number, "In Progress")
    office.move(number, "In Review")
    [after] = office.sync().waiting
    assert (after.here, after.there, "--accept" in after.verdict) == ("In Review", "Done", True)
    assert office.shown(number) == "Done"
    assert len(office.posted(number)) == len(office.journal.history(office.id(number))[1:]) - _notes(office, number)


def _notes(office: Office, number: int) -> int:
    return sum(one.event == "noted" for one in office.journal.history(office.id(number)))


def test_nothing_moves_by_itself_that_a_person_was_told_to_wait_for(office: Office) -> None:
    number = office.created("Research Needed")
    office.sync()
    office.moved_there(number, "Canceled")
    office.sync()
    office.move(number, "Backlog")  # from where the system could cancel it
    office.sync()
    assert (office.state(number), office.outside(number)) == ("Backlog", "Canceled")


def test_a_held_ticket_is_not_taken_from_its_holder(office: Office) -> None:
    number = office.created("Research Needed")
    office.journal.transact(handoff(PERSON, number, intent="lock", reason="mine"))
    office.sync()
    office.moved_there(number, "Human Needed")
    [waiting] = office.sync().waiting
    assert (office.state(number), waiting.there) == ("Research in Progress", "Human Needed")
    assert "--accept" in waiting.verdict


def test_an_option_that_is_no_state_is_reported(office: Office) -> None:
    number = office.create()
    office.sync()
    office.there.rename_option(STATE, "In Review", "Somebody's own")
    office.moved_there(number, "Somebody's own")
    [waiting] = office.sync().waiting
    assert (waiting.there, "no state" in waiting.verdict) == ("Somebody's own", True)
    office.quiet_sync()
    office.restore(number)
    office.sync()
    office.assert_in_step()


@pytest.mark.parametrize("name", [STATE, PRIORITY, ESTIMATE])
def test_options_that_were_made_anew_are_filled_again(name: str, office: Office) -> None:
    number = office.create(priority="P1", estimate="S")
    office.sync()
    option = {STATE: "Backlog", PRIORITY: "P1", ESTIMATE: "S"}[name]
    office.edit(number, title="Changed", priority="P1", estimate="S")
    office.there.remake_option(name, option)
    office.sync()
    office.assert_in_step()


def test_a_state_that_was_cleared_there_is_shown_again(office: Office) -> None:
    number = office.created("In Progress")
    office.sync()
    office.there.clear(office.issue(number), STATE)
    report = office.sync()
    assert (report.moved, report.waiting, report.shown) == ([], [], [number])
    office.assert_in_step()


def test_an_option_that_was_renamed_is_reported_until_it_has_its_name_again(office: Office) -> None:
    office.created("In Progress")
    office.sync()
    office.there.rename_option(STATE, "In Progress", "Doing")
    assert [one.there for one in office.sync().waiting] == ["Doing"]
    office.there.rename_option(STATE, "Doing", "In Progress")
    assert office.sync().waiting == []
    office.assert_in_step()


def test_a_card_that_is_moved_while_the_board_is_put_right_is_judged_anew(office: Office) -> None:
    number = office.created("In Progress")
    office.sync()
    office.moved_there(number, "Done")
    office.sync()
    office.restore(number)
    office.moved_there(number, "Canceled")
    assert [one.there for one in office.sync().waiting] == ["Canceled"]
    assert office.shown(number) == "Canceled"


def test_the_board_is_put_right_though_putting_it_right_was_cut_short(office: Office) -> None:
    number = office.created("In Progress")
    office.sync()
    office.there.close(office.issue(number))
    office.moved_there(number, "Canceled")
    office.sync()
    office.restore(number)
    office.server.fail("ReopenIssue", Fault(status=404))
    assert [one.code for one in office.sync().trouble] == ["tracker_failed"]
    assert office.shown(number) == "In Progress"
    assert office.sync().waiting == []
    office.assert_in_step()
