"""What can be asked of tickets: one, a list by every filter, and the next one to work on."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.journal import Journal
from interlock.machine import load_shipped
from interlock.work.tickets.queries import Filters, children, hours, listed
from interlock.work.tickets.upcoming import Next, next_ticket
from interlock.work.tickets.verbs import comment, link
from interlock.work.views.ticket import ticket_view
from journal.histories import Clock
from journal.refusals import failed

from .places import AGENT, LOCKS, PERSON, STATES, TABLE, agent, held, made, moved, person, place

TICKET = load_shipped("ticket")
COMMANDS = {name: one for name, one in TABLE.section("commands").items() if not one.get("internal")}


def numbers(journal: Journal, **filters: Any) -> list[int]:
    return [one.number for one in listed(journal, Filters(**filters))]


def after(journal: Journal, **asked: Any) -> Next:
    return next_ticket(journal, TICKET, **asked)


def number_of(found: Next) -> int | None:
    return found.ticket.number if found.ticket else None


# Lists


def test_each_filter_lets_through_what_it_names_and_nothing_else(journal: Journal) -> None:
    above = made(journal, "Epic")
    one = made(journal, "The door", body="creaks", estimate="S", priority="P1", labels=["bug"], assignees=["ada"])
    two = place(
        journal, "Ready for Plan", title="The window", estimate="XL", priority="P0", labels=["bugs"], parent=above
    )
    ended = place(journal, "Canceled", title="The roof")
    assert numbers(journal) == [above, one, two]
    assert numbers(journal, ended=None) == [above, one, two, ended]
    assert numbers(journal, ended=True) == [ended]
    assert numbers(journal, state="Ready for Plan") == [two]
    assert numbers(journal, estimate="s") == numbers(journal, priority="p1") == [one]
    assert numbers(journal, label="bug") == numbers(journal, assignee="ada") == [one]
    assert numbers(journal, text="CREAKS") == numbers(journal, text="door") == [one]
    assert numbers(journal, parent=above) == [two]
    assert numbers(journal, state="Backlog", priority="P1", label="bug", text="the") == [one]
    assert numbers(journal, label="none of them") == []
    assert [line.number for line in children(journal, above)] == [two]


def test_a_label_is_met_exactly_and_the_same_in_both_stores(journal: Journal) -> None:
    labels = ["bug", "Bug", 'a","b', "b", "a\\", '\\"', "50%", "5_%", "!x", "é", "É", "[", ",", '"']
    made_with = {label: made(journal, label or "x", labels=["first", label, "last"]) for label in labels}
    for label, number in made_with.items():
        assert numbers(journal, label=label) == [number], label
    for label in ("bu", "BUG", "a", "%", "_", "fir", '","', "x", "\\", "first,"):
        assert numbers(journal, label=label) == [], label
    assert len(numbers(journal, label="first")) == len(numbers(journal, label="last")) == len(labels)


HOSTILE_TEXTS = [
    "%",
    "_",
    "!",
    "'",
    '"',
    "\\",
    "50% off_!",
    "'; DROP TABLE tickets; --",
    "?",
    "$1",
    "%s",
    "{}",
    "ÄÖÜ",
    "ß",
]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_a_text_is_looked_for_as_it_is(journal: Journal, text: str) -> None:
    made(journal, "nothing of it 12345")
    number = made(journal, f"before {text} after")
    assert numbers(journal, text=text) == numbers(journal, text=text.swapcase()) == [number]


@pytest.mark.parametrize("text", ["x" * 100_000, "\x00", "a\x00b", "\ud800", "\x1b"])
def test_a_text_that_no_ticket_can_hold_is_not_looked_for(journal: Journal, text: str) -> None:
    made(journal, "a")
    for name in ("text", "label", "assignee", "state", "estimate", "priority"):
        failed(partial(numbers, journal, **{name: text}), "invalid_argument")


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(title=st.text("ab%_!\\'\"Éß", min_size=1, max_size=8), text=st.text("ab%_!\\'\"Éß", min_size=1, max_size=4))
def test_a_text_finds_a_ticket_if_and_only_if_its_words_hold_it(sqlite_journal: Journal, title: str, text: str) -> None:
    number = made(sqlite_journal, title)
    expected = text.casefold() in title.casefold()
    assert (number in numbers(sqlite_journal, text=text, order_by="created", most=200)) == expected


def test_a_list_has_its_order_and_its_length(journal: Journal, clock: Clock) -> None:
    one, two, three = (made(journal, priority=priority) for priority in ("P2", None, "P0"))
    clock.forward(60)
    moved(journal, person(), one, to="Research Needed")
    assert numbers(journal, order_by="number") == [one, two, three]
    assert numbers(journal, order_by="priority") == [three, one, two]
    assert numbers(journal, order_by="created") == [three, two, one]
    assert numbers(journal, order_by="updated") == [one, three, two]
    assert numbers(journal, order_by="age") == [two, three, one]
    assert numbers(journal, most=2) == [one, two]
    assert numbers(journal, most=0) == numbers(journal, most=-5) == [one]
    failed(lambda: numbers(journal, order_by="1; DROP TABLE tickets"), "invalid_argument")


def test_a_parent_that_is_not_there_is_refused(journal: Journal) -> None:
    failed(lambda: numbers(journal, parent=9), "unknown_ticket")


def test_a_list_says_what_a_ticket_waits_for_and_for_how_long(journal: Journal, clock: Clock) -> None:
    above, blocker = made(journal, "Epic"), made(journal, "First")
    made(journal, "Part", parent=above, blocked_by=[blocker])
    clock.forward(5400)
    shown = {one.number: one for one in listed(journal, Filters())}
    assert [one.age_hours for one in shown.values()] == [1.5] * 3
    assert (shown[above].open_sub_tickets, shown[3].open_blockers, shown[3].parent) == (1, 1, above)
    moved(journal, person(), blocker, to="Canceled")
    assert listed(journal, Filters())[-1].open_blockers == 0
    assert hours("2030-01-01T00:00:00.000Z", 0.0) == 0.0


# One


def test_a_ticket_is_shown_with_its_newest_comments_and_how_many_there_are(journal: Journal) -> None:
    number = made(journal)
    for place_ in range(7):
        journal.transact(comment(AGENT, number, f"comment {place_}"))
    found = ticket_view(journal, number, comments=3)
    assert [one.body for one in found.comments] == ["comment 4", "comment 5", "comment 6"]
    assert found.comment_count == 7
    assert ticket_view(journal, number, comments=0).comments == []


def test_a_ticket_is_found_by_its_number_in_every_form(journal: Journal) -> None:
    number = made(journal)
    assert {ticket_view(journal, called).number for called in (number, str(number), f"#{number}")} == {number}
    for called in ("2", "#", "-1", "１", "1.0", ""):
        failed(partial(ticket_view, journal, called), "unknown_ticket")


# The next one


def test_the_most_urgent_comes_first_and_then_the_oldest(journal: Journal) -> None:
    for priority in ("P3", None, "P1", "P0", "P1"):
        place(journal, "Ready for Plan", priority=priority)
    found = after(journal, state="Ready for Plan")
    assert number_of(found) == 4
    assert [one.number for one in found.alternatives] == [3, 5, 1, 2]


def test_states_nearer_to_the_end_come_first(journal: Journal) -> None:
    waiting = [state for state in STATES if not TABLE.states[state].get("human") and not TABLE.terminal(state)]
    inputs = {state for one in COMMANDS.values() for state in one["inputs"]}
    expected = [state for state in waiting if state in inputs][::-1]
    tickets = {place(journal, state): state for state in STATES}
    order = []
    while (found := after(journal)).ticket is not None:
        order.append(tickets[found.ticket.number])
        moved(journal, person(), found.ticket.number, to="Human Needed")
    assert order == expected == ["In Progress", "Ready for Plan", "Research Needed", "Backlog"]
    assert "nothing in" in found.reason


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_given_what_it_begins_with(journal: Journal, command: str) -> None:
    tickets = {place(journal, state): state for state in STATES}
    for spelled in (command, f"ralph_{command}"):
        found = after(journal, command=spelled)
        assert tickets[number_of(found) or 0] in COMMANDS[command]["inputs"]
        assert command in found.expected_by_commands


def test_what_waits_is_held_or_has_open_parts_is_left_out(journal: Journal) -> None:
    blocker = made(journal, "Blocker")
    waiting = place(journal, "Ready for Plan", blocked_by=[blocker])
    epic = place(journal, "Ready for Plan")
    part = made(journal, "Part", parent=epic)
    locked = held(journal, "In Progress")
    assert not after(journal, state="Ready for Plan").found
    assert not after(journal, state="In Progress").found
    moved(journal, person(), blocker, to="Done")
    assert number_of(after(journal, state="Ready for Plan")) == waiting
    journal.transact(link(PERSON, waiting, "blocked_by", part))
    moved(journal, person(), part, to="Canceled")
    assert number_of(after(journal, state="Ready for Plan")) == waiting
    moved(journal, agent(), locked, command="impl", intent="release")
    assert number_of(after(journal, command="impl")) == locked


def test_what_is_larger_than_asked_for_is_left_out_and_what_has_no_size_is_not(journal: Journal) -> None:
    large = place(journal, "Ready for Plan", estimate="XL")
    assert not after(journal, state="Ready for Plan", largest="s").found
    assert number_of(after(journal, state="Ready for Plan", largest="XL")) == large
    unsized = place(journal, "Ready for Plan")
    assert number_of(after(journal, state="Ready for Plan", largest="XS")) == unsized


def test_a_command_is_given_only_sizes_that_it_takes(journal: Journal) -> None:
    small, large = made(journal, estimate="XS"), made(journal, estimate="M")
    assert number_of(after(journal, command="split")) == large
    assert number_of(after(journal, command="triage")) == small
    moved(journal, person(), large, to="Canceled")
    assert not after(journal, command="split").found
    big = place(journal, "Ready for Plan", estimate="L")
    assert not after(journal, command="plan").found
    assert number_of(after(journal, state="Ready for Plan")) == big


BAD: list[dict[str, str]] = [
    {"state": "Nowhere"},
    {"state": "Done"},
    {"command": "deploy"},
    {"command": "thread"},
    {"largest": "XXL"},
]


@pytest.mark.parametrize("asked", BAD)
def test_what_cannot_be_looked_for_is_refused(journal: Journal, asked: dict[str, str]) -> None:
    failed(lambda: after(journal, **asked), "invalid_argument")


def test_the_next_ticket_comes_with_its_body_its_commands_and_its_group(journal: Journal) -> None:
    first = place(journal, "Research Needed", body="look into it")
    second = made(journal, "Second", blocked_by=[first])
    found = after(journal, command="research")
    assert (number_of(found), found.body) == (first, "look into it")
    assert set(found.expected_by_commands) == {"split", "research", "hero"}
    assert found.group is not None
    assert [one.number for one in found.group.tickets] == [first, second]
    told = msgspec.to_builtins(found)
    assert {"found", "reason", "ticket", "body", "expectedByCommands", "group"} <= told.keys()


def test_looking_writes_nothing(journal: Journal) -> None:
    for state in LOCKS:
        held(journal, state)
    before = journal.head()
    after(journal), numbers(journal), ticket_view(journal, 1)
    assert journal.head() == before
