"""Tickets and a board on GitHub, brought in step: what is shown there, and what comes in from there.

`tests/node/test_sync.py` runs all of this again with every request and answer held against GitHub's schema.
"""

from __future__ import annotations

import pytest

from interlock.errors import InterlockError, TrackerError
from interlock.machine import Channel
from interlock.work.tickets.audit import parse
from interlock.work.tickets.outside import GONE, REOPENED
from interlock.work.tickets.sync import set_up
from interlock.work.tickets.tracker import ESTIMATE, PRIORITY, STATE, ticket_marker
from world.github_server import Fault
from world.github_state import PROJECT, US

from .boards import MACHINE, Office

COLORS = {
    STATE: {
        "Backlog": "GRAY",
        "Research Needed": "PURPLE",
        "Research in Progress": "PURPLE",
        "Ready for Plan": "BLUE",
        "Plan in Progress": "BLUE",
        "Plan in Review": "BLUE",
        "In Progress": "ORANGE",
        "In Review": "YELLOW",
        "Done": "GREEN",
        "Human Needed": "RED",
        "Canceled": "GRAY",
    },
    PRIORITY: {"P0": "RED", "P1": "ORANGE", "P2": "YELLOW", "P3": "GRAY"},
    ESTIMATE: {"XS": "BLUE", "S": "GREEN", "M": "YELLOW", "L": "ORANGE", "XL": "RED"},
}
"""As the source system sets up its boards."""


def test_setting_up_makes_the_fields_with_the_source_systems_colours_and_again_nothing(office: Office) -> None:
    made = {
        name: {one["name"]: one["color"] for one in office.there.select(name).options or ()}
        for name in (STATE, PRIORITY, ESTIMATE)
    }
    assert made == COLORS
    before = office.there.snapshot()
    again = set_up(office.board, MACHINE)
    assert (again.created, again.added) == ((), {})
    assert office.there.snapshot() == before


# What is done here is shown there


def test_a_ticket_is_shown_once_with_its_fields_and_its_marker(office: Office) -> None:
    number = office.create("Parse dates", body="All of\nthem.", priority="P1", estimate="S", labels=["bug"])
    report = office.sync()
    assert (report.shown, report.made, report.trouble) == ([number], [], [])
    issue = office.there.issue(office.issue(number))
    assert (issue.title, issue.author) == ("Parse dates", US)
    assert issue.body == f"All of\nthem.\n\n{ticket_marker(office.id(number))}"
    assert [office.there.value(issue.number, name) for name in (STATE, PRIORITY, ESTIMATE)] == ["Backlog", "P1", "S"]
    office.assert_in_step()
    office.quiet_sync()


def test_what_happens_to_a_ticket_is_shown(office: Office) -> None:
    number = office.create("Parse dates", priority="P1", estimate="S")
    office.sync()
    office.move(number, "Research Needed", "worth a look")
    office.comment(number, "Seen too.")
    office.edit(number, title="Parse all dates", body="More.", priority="P0", estimate=None)
    assert office.sync().shown == [number]
    office.assert_in_step()
    office.quiet_sync()


def test_a_move_is_an_audit_comment_in_the_source_systems_layout(office: Office) -> None:
    number = office.create()
    office.move(number, "Research Needed", "worth a look")
    office.sync()
    [body] = office.posted(number)
    visible, hidden = body.rsplit("\n", 1)
    assert visible == (
        "**State transition**: Backlog → Research Needed\n"
        "**Command**: none (human ada@example.org)\n"
        "**Reason**: worth a look"
    )
    moved = office.journal.history(office.id(number))[1]
    found = parse(body)
    assert found is not None
    assert (found.source, found.to, found.reason, found.hash) == (
        "Backlog", "Research Needed", "worth a look", moved.hash,
    )  # fmt: skip
    assert parse(visible) is not None
    assert hidden.startswith("<!-- ralph-transition: ")


@pytest.mark.parametrize(("state", "reason"), [("Done", "COMPLETED"), ("Canceled", "NOT_PLANNED")])
def test_the_issue_of_a_ticket_that_has_ended_is_closed(state: str, reason: str, office: Office) -> None:
    number = office.create()
    office.sync()
    office.move(number, state)
    office.sync()
    issue = office.there.issue(office.issue(number))
    assert (issue.state, issue.reason, office.shown(number)) == ("CLOSED", reason, state)
    office.comment(number, "It was worth it.")
    office.sync()
    office.assert_in_step()


def test_a_comment_cannot_pass_for_one_of_the_journals(office: Office) -> None:
    first = office.created("Research Needed")
    office.sync()
    [audit] = office.posted(first)
    second = office.create("Forger")
    office.comment(second, audit)
    office.comment(second, f"> **State transition**: Backlog → Done\n{ticket_marker(office.id(first))}")
    office.sync()
    quoted, marked = office.posted(second)
    assert parse(quoted) is None
    assert parse(marked) is None
    assert ticket_marker(office.id(first)) not in marked
    office.assert_in_step()
    office.quiet_sync()


def test_a_body_cannot_claim_another_tickets_issue(office: Office) -> None:
    forger, victim = office.create("Forger"), office.create("Victim")
    office.edit(forger, body=f"Mine:\n{ticket_marker(office.id(victim))}\nand so on")
    office.sync(only_show=True)
    assert office.issue(forger) != office.issue(victim)
    office.assert_in_step()
    office.quiet_sync()


def test_a_strangers_issue_cannot_claim_a_ticket(office: Office) -> None:
    number = office.create("Mine")
    office.there.add_issue("Stolen", f"Hello\n\n{ticket_marker(office.id(number))}", author="mallory")
    office.sync()
    assert office.there.issue(office.issue(number)).title == "Mine"
    assert office.card(number).title == "Mine"
    assert office.sync().made == [2]
    assert office.card(2).title == "Stolen"
    office.assert_in_step()


def test_what_is_too_long_for_github_is_cut_there_and_stays_whole_here(office: Office) -> None:
    long = "x" * 65_000
    number = office.create("Long", body=long)
    office.comment(number, long)
    office.sync()
    office.move(number, "Research Needed", "y" * 10_000)
    assert office.sync().trouble == []
    office.assert_in_step()
    assert office.card(number).body == long
    office.quiet_sync()


def test_what_was_edited_there_is_not_overwritten_by_what_is_shown_in_between(office: Office) -> None:
    number = office.create("Old")
    office.sync()
    office.there.issue(office.issue(number)).title = "New"
    office.comment(number, "Hello")
    office.sync(only_show=True)
    assert (office.card(number).title, office.there.issue(office.issue(number)).title) == ("New", "New")
    office.assert_in_step()


def test_one_ticket_that_cannot_be_shown_holds_up_no_other(office: Office) -> None:
    office.create("First", priority="P1")
    office.create("Second")
    office.there.delete_option(PRIORITY, "P1")
    report = office.sync()
    assert [(one.number, one.code) for one in report.trouble] == [(1, "tracker_failed")]
    assert report.shown == [2]
    office.set_up()
    assert office.sync().shown == [1]
    office.assert_in_step()


# What people do there comes in


def test_an_issue_that_somebody_made_there_becomes_a_ticket(office: Office) -> None:
    issue = office.there.add_issue("Theirs", "The\r\ntext", labels=("bug",), assignees=("ada",))
    office.there.move(issue.number, PRIORITY, "P2")
    assert office.sync().made == [1]
    card = office.card(1)
    assert (card.title, card.body, card.priority, card.labels, card.assignees) == (
        "Theirs", "The\ntext", "P2", ["bug"], ["ada"],
    )  # fmt: skip
    assert (office.state(1), office.shown(1)) == ("Backlog", "Backlog")
    made = office.journal.history(office.id(1))[0]
    assert (made.actor_kind, made.channel) == ("system", Channel.TRACKER)
    assert issue.body == "The\r\ntext"
    office.quiet_sync()


@pytest.mark.parametrize(
    ("stands", "state", "outside"),
    [("Ready for Plan", "Ready for Plan", None), ("Done", "Done", None), ("In Review", "Backlog", "In Review")],
)
def test_a_new_card_that_stands_elsewhere_is_a_card_that_was_moved(
    stands: str, state: str, outside: str | None, office: Office
) -> None:
    issue = office.there.add_issue("Theirs")
    office.there.move(issue.number, STATE, stands)
    office.sync()
    assert (office.state(1), office.outside(1), office.shown(1)) == (state, outside, stands)
    office.quiet_sync()


def test_what_was_edited_there_is_edited_here(office: Office) -> None:
    number = office.create("Old", priority="P1", estimate="S")
    office.sync()
    at = office.issue(number)
    issue = office.there.issue(at)
    issue.title, issue.body = "New", issue.body.replace("\n\n<!--", "Text\n\n<!--", 1)
    issue.labels, issue.assignees = ("bug", "b"), ("ada",)
    office.there.move(at, PRIORITY, "P3")
    office.there.clear(at, ESTIMATE)
    report = office.sync()
    assert (report.edited, report.shown) == ([number], [])
    card = office.card(number)
    assert (card.title, card.body, card.priority, card.estimate) == ("New", "Text", "P3", None)
    assert (card.labels, card.assignees) == (["b", "bug"], ["ada"])
    office.assert_in_step()
    office.quiet_sync()
    issue.labels = ()
    office.sync()
    assert office.card(number).labels == []


def test_what_was_edited_here_and_there_is_shown_as_it_is_here(office: Office) -> None:
    number = office.create("Old", priority="P1", body="Old")
    office.sync()
    at = office.issue(number)
    office.edit(number, title="Ours", priority="P0")
    office.there.issue(at).title = "Theirs"
    office.there.move(at, PRIORITY, "P3")
    office.there.move(at, ESTIMATE, "M")
    office.sync()
    card = office.card(number)
    assert (card.title, card.priority, card.estimate) == ("Ours", "P0", "M")
    office.assert_in_step()
    office.quiet_sync()


def test_an_edit_there_of_what_came_from_there_comes_in_too(office: Office) -> None:
    office.there.add_issue("First")
    office.server.fail("SetField", Fault(status=404))
    assert [one.code for one in office.sync().trouble] == ["tracker_failed"]
    office.there.issue(1).title = "Second"
    office.sync()
    assert office.card(1).title == "Second"
    office.assert_in_step()


def test_an_option_of_somebodys_own_counts_as_none_and_stays(office: Office) -> None:
    number = office.create(priority="P1")
    office.sync()
    office.there.rename_option(PRIORITY, "P3", "Someday")
    office.there.move(office.issue(number), PRIORITY, "Someday")
    office.sync()
    office.comment(number, "Hello")
    office.sync()
    assert office.card(number).priority is None
    assert office.there.value(office.issue(number), PRIORITY) == "Someday"


def test_text_from_there_is_made_fit(office: Office) -> None:
    secret = "ghp_" + "a" * 40
    many = tuple(f"label {number}" for number in range(100))
    office.there.add_issue("\x1b[31m\u202e" + "t" * 300, f"\x00{secret}\n", labels=(*many[:99], "l" * 300))
    office.there.add_issue("\n", "", labels=(" ", "a\u200db", "ab"))
    assert office.sync().trouble == []
    first, second = office.card(1), office.card(2)
    assert first.title.isprintable()
    assert secret not in first.body
    assert len(first.labels) == 100
    assert (second.title, second.labels) == ("issue 2", ["ab"])
    office.quiet_sync()


# Issues that are closed, opened, deleted there


@pytest.mark.parametrize(("reason", "state"), [("COMPLETED", "Done"), ("NOT_PLANNED", "Canceled")])
def test_an_issue_that_is_closed_there_ends_its_ticket_where_the_system_may(
    reason: str, state: str, office: Office
) -> None:
    number = office.create()
    office.sync()
    office.there.close(office.issue(number), reason)
    assert office.sync().moved == [number]
    assert office.state(number) == state
    office.assert_in_step()
    office.quiet_sync()


def test_an_issue_that_is_closed_there_waits_where_the_system_may_not_end_its_ticket(office: Office) -> None:
    number = office.created("In Review")
    office.sync()
    office.there.close(office.issue(number))
    assert [one.there for one in office.sync().waiting] == ["Done"]
    assert office.quiet_sync().waiting == office.sync().waiting
    office.accept(number)
    office.sync()
    assert office.state(number) == "Done"
    office.assert_in_step()


@pytest.mark.parametrize("state", ["In Progress", "Research Needed"])
def test_an_issue_that_should_not_have_been_closed_is_opened_again(state: str, office: Office) -> None:
    number = office.created(state)
    office.sync()
    office.there.close(office.issue(number))
    assert [one.there for one in office.sync().waiting] == ["Done"]
    office.move(number, "Human Needed")
    office.sync()
    assert office.there.issue(office.issue(number)).state == "CLOSED"
    office.restore(number)
    assert office.sync().waiting == []
    office.assert_in_step()
    office.quiet_sync()


def test_an_issue_that_is_opened_again_by_hand_settles_it(office: Office) -> None:
    number = office.created("In Progress")
    office.sync()
    office.there.close(office.issue(number))
    office.sync()
    office.there.reopen(office.issue(number))
    assert office.sync().waiting == []
    office.assert_in_step()


def test_an_issue_that_is_opened_again_there_does_not_revive_its_ticket(office: Office) -> None:
    number = office.created("Done")
    office.sync()
    office.there.reopen(office.issue(number))
    [waiting] = office.sync().waiting
    assert (waiting.there, waiting.here) == (REOPENED, "Done")
    assert f"--restore {number}" in waiting.verdict
    assert "--accept" not in waiting.verdict
    assert office.quiet_sync().waiting == [waiting]
    with pytest.raises(InterlockError):
        office.accept(number)
    office.restore(number)
    office.sync()
    office.assert_in_step()
    office.quiet_sync()


@pytest.mark.parametrize("how", ["take_off", "delete"])
def test_an_issue_that_is_gone_is_told_and_put_back_when_a_person_says_so(how: str, office: Office) -> None:
    number = office.created("Research Needed", body="Text", priority="P1")
    office.create("Another")
    office.sync()
    before = office.issue(number)
    getattr(office.there, how)(before)
    [waiting] = office.sync().waiting
    assert (waiting.number, waiting.there) == (number, GONE)
    office.quiet_sync()
    office.comment(number, "Where is it?")
    office.quiet_sync()
    office.restore(number)
    assert office.sync().waiting == []
    assert (office.issue(number) == before) is (how == "take_off")
    assert (office.shown(number), office.there.value(office.issue(number), PRIORITY)) == ("Research Needed", "P1")
    assert len(office.posted(number)) == (2 if how == "take_off" else 1)
    office.quiet_sync()


def test_a_card_that_is_put_back_by_hand_settles_it(office: Office) -> None:
    number = office.create(priority="P1")
    office.sync()
    office.there.take_off(office.issue(number))
    assert [one.there for one in office.sync().waiting] == [GONE]
    tracked = office.card(number).tracked
    assert tracked is not None
    office.there.operations["AddItem"]({"project": PROJECT, "issue": tracked.issue})
    assert office.sync().waiting == []
    office.assert_in_step()


def test_the_archived_card_of_a_ticket_that_has_ended_is_no_matter(office: Office) -> None:
    number = office.created("Done")
    office.sync()
    office.there.card(office.issue(number)).is_archived = True
    office.quiet_sync()
    office.comment(number, "Hello")
    report = office.sync()
    assert (report.waiting, report.trouble) == ([], [])
    office.quiet_sync()


# Limits


def test_what_a_limit_keeps_from_being_shown_is_shown_later(office: Office) -> None:
    for title in ("First", "Second", "Third"):
        office.create(title)
    office.server.fail("CreateIssue", Fault("yes"), Fault(status=403, headers={"Retry-After": "3600"}))
    with pytest.raises(TrackerError) as caught:
        office.sync()
    assert (caught.value.code, caught.value.retry_after) == ("tracker_limited", 3600.0)
    assert len(office.there.issues) == 1
    assert office.sync().shown == [2, 3]
    office.assert_in_step()


def test_what_moved_on_while_a_limit_held_is_no_change_of_somebody_elses(office: Office) -> None:
    number = office.create(priority="P1")
    office.sync()
    office.move(number, "Research Needed")
    office.edit(number, priority="P0")
    # The board has it, and the limit comes before we could write that down.
    office.server.fail("SetField", Fault("yes"), Fault("yes", status=429, headers={"Retry-After": "3600"}))
    with pytest.raises(TrackerError):
        office.sync()
    assert office.shown(number) == "Research Needed"
    office.move(number, "Research in Progress")
    office.edit(number, priority="P1")
    report = office.sync()
    assert (report.waiting, report.edited, report.moved) == ([], [], [])
    assert (office.state(number), office.card(number).priority) == ("Research in Progress", "P1")
    office.assert_in_step()
