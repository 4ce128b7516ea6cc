"""A look: everything in it is of one moment, nothing is asked twice, and many are read as one would be."""

from __future__ import annotations

import pytest

from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.work.tickets.ticket_table import TICKETS, find_line, know_lines

ANN = Actor(ActorKind.HUMAN, "ann@example.org", Channel.CLI)


def _ticket(journal: Journal, number: int) -> str:
    evidence = Evidence(data={"title": f"Ticket {number}"}, names=(f"number:{number:012d}",))
    return journal.create("ticket", Event("created", ANN, evidence=evidence)).entry.instance


def _thread(journal: Journal, parent: str | None = None) -> str:
    evidence = Evidence(data={"title": "Greet"}, settings={"mode": "quick"})
    return journal.create("thread", Event("created", ANN, evidence=evidence), parent=parent).entry.instance


def test_a_look_is_of_one_moment(journal: Journal) -> None:
    first = _ticket(journal, 1)
    with journal.look(TICKETS):
        before = journal.instance(first)
        second = _ticket(journal, 2)
        journal.append(first, Event("noted", ANN))
        assert journal.instance(first) == before
        assert len(journal.history(first)) == 1
        assert journal.recent("ticket", 10) == [before]
        assert journal.head() == 1
        with journal.look(TICKETS):
            assert journal.ask(find_line, second) is None
    assert len(journal.history(first)) == 2
    assert [one.id for one in journal.recent("ticket", 10)] == [second, first]


def test_a_look_asks_only_the_projections_that_it_began_with(journal: Journal) -> None:
    with journal.look(), pytest.raises(AssertionError), journal.projected(TICKETS):
        pass


def test_a_look_that_failed_is_over(journal: Journal) -> None:
    with pytest.raises(ValueError, match="of ours"), journal.look():
        raise ValueError("of ours")
    _ticket(journal, 1)
    assert journal.head() == 1


def test_many_are_read_as_each_of_them_would_be(journal: Journal) -> None:
    tickets = [_ticket(journal, number) for number in range(1, 4)]
    threads = [_thread(journal, tickets[0]), _thread(journal, tickets[1])]
    ended = _thread(journal, tickets[2])
    journal.append(ended, Event("abandon", ANN))
    every = [*tickets, *threads, ended]
    alone = (
        [journal.instance(one) for one in every],
        [journal.history(one) for one in every],
        [journal.history(one, 1) for one in every],
        [journal.open_children(one, "thread") for one in every],
        [journal.recent("thread", 1, parent=one) for one in every],
    )
    with journal.look(TICKETS) as look:
        look.read_instances([*every, "0" * 26])
        look.read_histories(dict.fromkeys(every, 0))
        look.read_histories(dict.fromkeys(every, 1))
        look.read_children(every, "thread")
        look.read_newest_children(every, "thread")
        know_lines(look, every)
        together = (
            [journal.instance(one) for one in every],
            [journal.history(one) for one in every],
            [journal.history(one, 1) for one in every],
            [journal.open_children(one, "thread") for one in every],
            [journal.recent("thread", 1, parent=one) for one in every],
        )
        lines = [journal.ask(find_line, one) for one in every]
    assert together == alone
    assert [line.number if line else None for line in lines] == [1, 2, 3, None, None, None]
