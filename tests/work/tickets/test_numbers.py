"""What a ticket is called: a number from 1, and any text that another system knows it by."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InterlockError
from interlock.journal import Instance, Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.tickets.numbers import find_ticket, number_of, ticket_or_stub

AGENT = Actor(ActorKind.AGENT, "claude", Channel.MCP)


def stub(journal: Journal, called: str) -> Instance:
    return journal.transact(lambda transaction: ticket_or_stub(transaction, called, AGENT))


def number(journal: Journal, ticket: Instance) -> int:
    return number_of(journal.history(ticket.id)[0].decoded_evidence().names)


def found(journal: Journal, called: str) -> str | None:
    ticket = find_ticket(journal, called)
    return ticket.id if ticket else None


def test_a_text_that_is_not_known_makes_a_stub_and_then_names_it(journal: Journal) -> None:
    made = stub(journal, "7.11")
    assert (made.machine, made.state) == ("ticket", "Backlog")
    data = journal.history(made.id)[0].decoded_evidence().data
    assert (data["title"], data["alias"], data["stub"]) == ("7.11", "7.11", True)
    assert number(journal, made) == 1
    assert stub(journal, "7.11").id == made.id
    assert len(journal.instances("ticket")) == 1


def test_a_number_names_the_ticket_that_has_it(journal: Journal) -> None:
    made = [stub(journal, called) for called in ("a", "b", "c")]
    assert [number(journal, one) for one in made] == [1, 2, 3]
    assert [stub(journal, str(one)).id for one in (1, 2, 3)] == [one.id for one in made]
    assert found(journal, "2") == made[1].id


def test_a_number_of_another_system_is_kept_as_a_text_and_never_given_to_another_ticket(journal: Journal) -> None:
    known = stub(journal, "2")
    assert number(journal, known) == 1
    others = [stub(journal, called) for called in ("x", "y")]
    assert [number(journal, one) for one in others] == [3, 4]
    assert found(journal, "2") == known.id


def test_a_ticket_that_nobody_named_is_not_there(journal: Journal) -> None:
    assert [found(journal, called) for called in ("nothing", "1", "9" * 300)] == [None] * 3


@pytest.mark.parametrize("called", ["", "   ", "x" * 151, "a\nb", "a\x00b", "\u202egnp"])
def test_a_text_that_nobody_could_read_is_refused(journal: Journal, called: str) -> None:
    with pytest.raises(InterlockError) as caught:
        stub(journal, called)
    assert caught.value.code == "invalid_argument"
    assert journal.instances() == []


@given(st.lists(st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=6), max_size=12))
def test_numbers_are_unique_and_every_text_leads_back_to_its_ticket(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        journal = open_journal(Path(directory) / "journal.db")
        try:
            made = {called: stub(journal, called).id for called in texts}
            numbers = [number(journal, one) for one in journal.instances("ticket")]
            assert len(set(numbers)) == len(numbers)
            assert {called: found(journal, called) for called in made} == made
            assert journal.verify() == []
        finally:
            journal.close()
