"""Finding instances by where they stand, and the newest page by page."""

from __future__ import annotations

from interlock.journal import Journal
from interlock.machine import Event, Evidence

from .histories import AGENT, HUMAN, created


def test_what_stands_in_a_state_is_counted_and_the_newest_of_it_are_given(journal: Journal) -> None:
    made = [journal.create("session", created(HUMAN)).entry.instance for _ in range(4)]
    moved = made[1]
    journal.append(moved, Event("update_session_state", AGENT, "testing"))
    journal.append(made[3], Event("complete_ralph_session", HUMAN, evidence=Evidence(facts={"outcome": "failure"})))
    count, newest = journal.standing("session", ["idle", "testing"], 2)
    assert (count, [one.id for one in newest]) == (3, made[2:0:-1])
    assert [one.id for one in journal.standing("session", ["testing"], 9)[1]] == [moved]
    assert journal.standing("session", ["failed"], 9) == (0, [])
    assert journal.standing("thread", ["idle"], 9) == journal.standing("session", [], 9) == (0, [])


def test_the_newest_are_given_page_by_page(journal: Journal) -> None:
    made = [journal.create("session", created(HUMAN)).entry.instance for _ in range(5)]
    first = [one.id for one in journal.recent("session", 2)]
    then = [one.id for one in journal.recent("session", 2, before=first[-1])]
    assert [*first, *then] == made[:0:-1]
