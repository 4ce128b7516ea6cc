"""Tickets that would wait for each other: refused as the link is made, and named where a journal has them already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock.journal import Journal
from interlock.machine import load_shipped
from interlock.work.attention.overview import attention
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.settings.values import Settings
from interlock.work.tickets.circles import circles
from interlock.work.tickets.dashboard import dashboard
from interlock.work.tickets.ticket_table import TICKETS
from interlock.work.tickets.upcoming import next_ticket
from interlock.work.tickets.verbs import create, edit, link
from journal.refusals import failed

from .places import PERSON, circled, made, moved, person

TICKET = load_shipped("ticket")


def linked(journal: Journal, number: int, relation: str, other: int, **how: Any) -> None:
    journal.transact(link(PERSON, number, relation, other, **how))


def part_of(journal: Journal, whole: int, *blockers: int) -> int:
    return journal.transact(create(PERSON, "Part", parent=whole, blocked_by=blockers)).number


# Each is a way to a circle through parts and blockers; the last call is the one that would close it.


def _part_made_with_its_whole_as_blocker(journal: Journal) -> None:
    part_of(journal, made(journal), 1)


def _part_linked_to_its_whole(journal: Journal) -> None:
    part_of(journal, made(journal))
    linked(journal, 2, "blocked_by", 1)


def _whole_said_to_block_its_part(journal: Journal) -> None:
    part_of(journal, made(journal))
    linked(journal, 1, "blocks", 2)


def _waiting_ticket_made_a_part(journal: Journal) -> None:
    made(journal)
    journal.transact(create(PERSON, "Later", blocked_by=[1]))
    linked(journal, 2, "parent", 1)


def _part_of_a_part_waits_for_the_outermost(journal: Journal) -> None:
    part_of(journal, part_of(journal, made(journal)))
    linked(journal, 3, "blocked_by", 1)


def _part_of_a_part_made_with_the_outermost_as_blocker(journal: Journal) -> None:
    part_of(journal, part_of(journal, made(journal)), 1)


def _part_waits_for_what_waits_for_the_whole(journal: Journal) -> None:
    part_of(journal, made(journal))
    journal.transact(create(PERSON, "Outside", blocked_by=[1]))
    linked(journal, 2, "blocked_by", 3)


def _part_made_with_such_a_blocker(journal: Journal) -> None:
    made(journal)
    journal.transact(create(PERSON, "Outside", blocked_by=[1]))
    part_of(journal, 1, 2)


def _two_wholes_whose_parts_wait_for_the_other(journal: Journal) -> None:
    made(journal)
    made(journal)
    part_of(journal, 1, 2)
    part_of(journal, 2, 1)


def _part_moved_below_what_it_waits_for(journal: Journal) -> None:
    made(journal)
    made(journal)
    part_of(journal, 1, 2)
    linked(journal, 3, "parent", 2, replace=True)


WAYS: list[Callable[[Journal], None]] = [
    _part_made_with_its_whole_as_blocker,
    _part_linked_to_its_whole,
    _whole_said_to_block_its_part,
    _waiting_ticket_made_a_part,
    _part_of_a_part_waits_for_the_outermost,
    _part_of_a_part_made_with_the_outermost_as_blocker,
    _part_waits_for_what_waits_for_the_whole,
    _part_made_with_such_a_blocker,
    _two_wholes_whose_parts_wait_for_the_other,
    _part_moved_below_what_it_waits_for,
]


@pytest.mark.parametrize("way", WAYS)
def test_a_circle_of_parts_and_blockers_is_refused(journal: Journal, way: Callable[[Journal], None]) -> None:
    error = failed(lambda: way(journal), "dependency_cycle")
    assert "its part" in error.message
    assert "Leave this link out" in error.hint
    assert next_ticket(journal, TICKET).found  # something can still be taken up
    with journal.projected(TICKETS) as sql:
        assert circles(sql) == []


def test_what_is_no_circle_is_accepted(journal: Journal) -> None:
    whole, other = made(journal), made(journal)
    first = part_of(journal, whole, other)
    second = part_of(journal, whole, first)
    linked(journal, whole, "blocked_by", second)  # it waits for its parts in any case
    linked(journal, other, "parent", whole)
    assert next_ticket(journal, TICKET).ticket.number == other  # type: ignore[union-attr]


# Journals that have one, because an earlier version accepted it


def test_an_old_circle_is_named_wherever_one_looks_for_work(journal: Journal) -> None:
    circled(journal)
    journal.verify()
    way_out = "ralph ticket deps 2 --blocked-by 1 --remove"
    found = next_ticket(journal, TICKET)
    assert not found.found
    assert "#1 waits for its part #2 waits for #1" in found.reason
    assert way_out in found.reason
    (finding,) = [one for one in dashboard(journal, TICKET).health if one.code == "dependency_cycle"]
    assert (finding.severity, finding.tickets) == ("critical", [1, 2])
    assert way_out in finding.message
    (stuck,) = attention(journal, RecordCaches(), Settings(), None).stuck
    assert stuck.command == way_out


def test_the_way_out_of_an_old_circle_works_and_nothing_else_is_in_its_way(journal: Journal) -> None:
    whole = circled(journal)
    journal.transact(edit(PERSON, 2, set_={"priority": "P1"}))
    part_of(journal, whole)
    assert next_ticket(journal, TICKET).ticket.number == 3  # type: ignore[union-attr]
    linked(journal, 2, "blocked_by", 1, remove=True)
    assert next_ticket(journal, TICKET).ticket.number == 2  # type: ignore[union-attr]
    assert not [one for one in dashboard(journal, TICKET).health if one.code == "dependency_cycle"]


def test_a_circle_ends_with_one_of_its_tickets(journal: Journal) -> None:
    whole = circled(journal)
    moved(journal, person(), whole, to="Canceled")
    with journal.projected(TICKETS) as sql:
        assert circles(sql) == []
    assert next_ticket(journal, TICKET).ticket.number == 2  # type: ignore[union-attr]
