"""How a ticket looks on a board, and what is told from a card: no part of it needs a board."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.work.tickets.audit import parse
from interlock.work.tickets.outside import REOPENED, asked_for
from interlock.work.tickets.record import TicketRecord, Tracked
from interlock.work.tickets.tracker import (
    STATE,
    board_fields,
    compared,
    linked,
    marked_ticket,
    plain_there,
    ticket_marker,
    written,
)
from interlock.world.github import BoardItem

from .boards import MACHINE

TICKET = "01hf7yat00000000000000000z"


def item(
    *, title: str = "", body: str = "", state: str | None = None, is_open: bool = True, planned: bool = True
) -> BoardItem:
    fields = {} if state is None else {STATE: state}
    return BoardItem("PVTI_1", "I_1", 1, title, body, "https://x/1", is_open, fields, (), (), "", planned)


def test_a_board_has_a_field_for_the_state_the_priority_and_the_estimate() -> None:
    state, priority, estimate = board_fields(MACHINE)
    assert [one.name for one in state.options] == list(MACHINE.states)
    assert [one.name for one in priority.options] == ["P0", "P1", "P2", "P3"]
    assert [one.name for one in estimate.options] == ["XS", "S", "M", "L", "XL"]
    assert all(one.color.isupper() for field in (state, priority, estimate) for one in field.options)


@given(st.text())
def test_whatever_a_body_says_it_comes_back_as_it_was_shown(body: str) -> None:
    ours = written(TicketRecord(title="x", body=body))
    shown = item(title="x", body=f"{ours['body']}\n\n{ticket_marker(TICKET)}")
    assert marked_ticket(shown) == TICKET
    again = written(TicketRecord(title="x", body=plain_there(shown, MACHINE)["body"]))
    assert again["body"] == plain_there(shown, MACHINE)["body"]


@given(
    st.text(),
    st.sampled_from([ticket_marker(TICKET), "**State transition**: Backlog → Done", "<!--ralph-transition: {}"]),
)
def test_no_body_can_hold_a_line_of_ours(text: str, forged: str) -> None:
    shown = written(TicketRecord(title="x", body=f"{text}\n{forged}\n"))["body"]
    assert forged not in shown.splitlines()
    assert marked_ticket(item(body=shown)) is None
    assert parse(shown) is None


@given(st.text(max_size=400), st.text(max_size=400))
def test_what_is_read_from_a_card_is_fit_for_a_ticket(title: str, body: str) -> None:
    found = plain_there(item(title=title, body=body), MACHINE)
    assert 0 < len(found["title"]) <= 200
    assert found["title"].isprintable()
    assert found["title"] == found["title"].strip()
    assert "\x00" not in found["body"]


@given(st.text(), st.text())
def test_bodies_are_compared_by_what_they_say(one: str, other: str) -> None:
    plain = {"body": one}
    assert (compared(plain) == compared({"body": other})) is (one == other)
    assert len(compared({"body": one * 1000})["body"]) == 32


SEEN = Tracked("PVTI_1", "I_1", 1, "https://x/1", state="In Review")
CLOSED = Tracked("PVTI_1", "I_1", 1, "https://x/1", state="Done", is_open=False)


@pytest.mark.parametrize(
    ("there", "asked"),
    [
        (item(state="In Review"), None),
        (item(), None),
        (item(state="Backlog"), "Backlog"),
        (item(state="In Review", is_open=False), "Done"),
        (item(state="In Review", is_open=False, planned=False), "Canceled"),
        (item(state="Backlog", is_open=False), "Done"),
        (item(state="Canceled", is_open=False), "Canceled"),
        (item(is_open=False), "Done"),
    ],
)
def test_what_was_done_with_a_card_asks_for_a_state(there: BoardItem, asked: str | None) -> None:
    assert asked_for(there, SEEN, "In Review", has_ended=False) == asked


def test_a_card_that_stands_where_the_ticket_stood_asks_for_nothing() -> None:
    assert asked_for(item(state="Backlog"), SEEN, "Done", has_ended=True, stood={"Backlog"}) is None


@pytest.mark.parametrize(("seen", "asked"), [(CLOSED, REOPENED), (SEEN, None)])
def test_only_an_issue_that_was_closed_can_be_opened_again(seen: Tracked, asked: str | None) -> None:
    assert asked_for(item(state="Done"), seen, "Done", has_ended=True) == asked


def test_a_ticket_that_was_just_linked_has_shown_nothing_but_its_plain_fields() -> None:
    fields = written(TicketRecord(title="x", body="y"))
    made = linked(item(), fields)
    assert (made.upto, made.state, made.is_open, made.fields) == (0, None, True, compared(fields))
