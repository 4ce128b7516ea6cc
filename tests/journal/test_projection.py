"""Projections: caught up by whoever asks, never wrong by whoever appends, and made anew from the entries."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from exhaustive import examples
from interlock.errors import InterlockError
from interlock.journal import Entry, Instance, Journal, Sql, open_journal, schema
from interlock.journal.schema import MIGRATIONS, make
from interlock.journal.sqlite import in_memory
from interlock.machine import Event, Evidence
from interlock.work.tickets.ticket_table import TICKETS
from patience import SECONDS

from .children import child, making_tickets
from .databases import Address, Row, connected, sql
from .histories import AGENT, HUMAN, Clock, created, reports
from .refusals import code_of

Opened = Callable[[Address], Journal]


def named(number: int, **data: Any) -> Event:
    """The first event of a ticket with a number."""
    evidence = Evidence(data={"title": f"ticket {number}", **data}, names=(f"number:{number:012d}",))
    return Event("created", HUMAN, evidence=evidence)


def ticket(journal: Journal, number: int, **data: Any) -> str:
    return journal.create("ticket", named(number, **data)).entry.instance


def edited(**changes: Any) -> Event:
    return Event("noted", HUMAN, evidence=Evidence(data={"type": "edited", **changes}))


def to(state: str) -> Event:
    return Event("handoff", HUMAN, state, reason="it is time")


def rows(journal: Journal, columns: str = "number, title, state, outcome, blockers, parts") -> list[Row]:
    with journal.projected(TICKETS) as found:
        return [tuple(row) for row in found.rows(f"SELECT {columns} FROM tickets ORDER BY number")]


def place_of(address: Address) -> list[Row]:
    return sql(address, "SELECT name, version, seq FROM projections")


# Catching up


def test_nothing_is_projected_until_somebody_asks(journal: Journal, address: Address) -> None:
    ticket(journal, 1)
    assert place_of(address) == []
    assert rows(journal) == [(1, "ticket 1", "Backlog", None, 0, 0)]
    assert place_of(address) == [("tickets", 1, 1)]


def test_an_empty_journal_has_an_empty_table(journal: Journal) -> None:
    assert rows(journal) == []
    assert journal.verify(TICKETS) == []


def test_whoever_asks_finds_everything_that_was_appended_before(journal: Journal) -> None:
    first = ticket(journal, 1)
    assert len(rows(journal)) == 1
    ticket(journal, 2, parent=first, blocked_by=[first])
    journal.append(first, to("Research Needed"))
    assert rows(journal) == [
        (1, "ticket 1", "Research Needed", None, 0, 1),
        (2, "ticket 2", "Backlog", None, 1, 0),
    ]
    journal.append(first, to("Human Needed"))
    journal.append(first, to("Canceled"))
    assert rows(journal, "number, outcome, blockers, parts") == [(1, "canceled", 0, 1), (2, None, 0, 0)]


def test_inside_a_transaction_what_it_appended_is_found_and_forgotten_with_it(journal: Journal) -> None:
    ticket(journal, 1)
    assert len(rows(journal)) == 1

    def work(transaction: Any) -> None:
        transaction.create("ticket", named(2))
        assert transaction.project(TICKETS).rows("SELECT count(*) FROM tickets") == [(2,)]
        raise KeyError

    with pytest.raises(KeyError):
        journal.transact(work)
    assert [row[0] for row in rows(journal)] == [1]


def test_what_a_process_appends_that_does_not_know_the_projection_is_found(journal: Journal, address: Address) -> None:
    assert rows(journal) == []
    with child(making_tickets, address, 1, 5) as other:
        assert other.receive() == "ready"
        other.send("go")
        assert other.receive() == 5
    assert [row[0] for row in rows(journal)] == [1, 2, 3, 4, 5]
    assert journal.verify(TICKETS) == []


def test_entries_of_other_machines_write_nothing_into_it(journal: Journal, address: Address) -> None:
    ticket(journal, 1)
    before = rows(journal)
    kept = place_of(address)
    session = journal.create("session", created(AGENT)).entry.instance
    for _ in range(50):
        journal.append(session, reports("testing"))
    assert rows(journal) == before
    assert place_of(address) == kept, "a look past a few entries of others writes nothing"
    assert journal.verify(TICKETS) == []


def test_the_place_is_kept_once_many_entries_of_others_lie_behind_it(journal: Journal, address: Address) -> None:
    ticket(journal, 1)
    rows(journal)
    session = journal.create("session", created(AGENT)).entry.instance

    def many(transaction: Any) -> None:
        for _ in range(600):
            transaction.append(session, reports("testing"))

    journal.transact(many)
    assert len(rows(journal)) == 1
    assert place_of(address) == [("tickets", 1, journal.head())]


def test_more_entries_than_are_taken_at_once_are_all_taken(journal: Journal) -> None:
    first = ticket(journal, 1)

    def many(transaction: Any) -> None:
        for number in range(2, 602):
            made = transaction.create("ticket", named(number, blocked_by=[first])).entry.instance
            transaction.append(made, edited(set={"title": f"edited {number}"}))
        transaction.append(first, to("Canceled"))

    journal.transact(many)
    found = rows(journal, "number, title, blockers")
    assert len(found) == 601
    assert found[-1] == (601, "edited 601", 0)
    assert journal.verify(TICKETS) == []


# Versions


class _Titles:
    """A projection of our own: the titles of tickets, in the words of a version."""

    name = "titles"
    machine = "ticket"

    def __init__(self, version: int) -> None:
        self.version = version
        column = "title" if version == 1 else "shout"
        self.tables: Mapping[str, tuple[str, ...]] = {
            "titles": (f"CREATE TABLE titles (id TEXT NOT NULL PRIMARY KEY, {column} TEXT NOT NULL) {{rowless}}",)
        }

    def fold(self, sql: Sql, instance: Instance, entries: Sequence[Entry]) -> None:
        for entry in entries:
            title = entry.decoded_evidence().data.get("title")
            if title is not None:
                text = title if self.version == 1 else title.upper()
                sql.rows("INSERT INTO titles VALUES (?, ?)", (instance.id, text))


def _titles(journal: Journal, version: int) -> list[str]:
    with journal.projected(_Titles(version)) as found:
        return sorted(row[1] for row in found.rows("SELECT * FROM titles"))


def test_a_new_version_is_made_anew_and_so_is_an_old_one_that_comes_back(journal: Journal, address: Address) -> None:
    for number in (1, 2):
        ticket(journal, number)
    assert _titles(journal, 1) == ["ticket 1", "ticket 2"]
    assert _titles(journal, 2) == ["TICKET 1", "TICKET 2"]
    ticket(journal, 3)
    assert _titles(journal, 1) == ["ticket 1", "ticket 2", "ticket 3"]
    assert place_of(address) == [("titles", 1, 3)]
    assert journal.verify(_Titles(1)) == []


def test_projections_have_their_own_places(journal: Journal, address: Address) -> None:
    ticket(journal, 1)
    assert _titles(journal, 1) == ["ticket 1"]
    ticket(journal, 2)
    assert len(rows(journal)) == 2
    assert sorted(place_of(address)) == [("tickets", 1, 2), ("titles", 1, 1)]
    assert journal.verify(TICKETS, _Titles(1)) == []


def test_a_journal_of_the_third_schema_gets_the_table_of_projections(
    address: Address, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(schema, "MIGRATIONS", MIGRATIONS[:3])
        earlier.setattr(schema, "NEWEST", 3)
        old = open_journal(address, now=clock)
        ticket(old, 1)
        old.close()
    with pytest.raises(Exception, match="projections"):
        place_of(address)
    new = open_journal(address, now=clock)
    assert rows(new, "number, title") == [(1, "ticket 1")]
    assert new.verify(TICKETS) == []
    new.close()


# Many at once


def test_threads_that_catch_up_at_once_all_find_everything(journal: Journal) -> None:
    for number in range(1, 40):
        ticket(journal, number)
    found: list[int] = []
    begin = threading.Barrier(4)

    def ask() -> None:
        begin.wait(SECONDS)
        found.append(len(rows(journal)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(SECONDS)
    assert found == [39] * 4
    assert journal.verify(TICKETS) == []


def test_processes_that_append_and_catch_up_at_once_leave_it_right(journal: Journal, address: Address) -> None:
    with child(making_tickets, address, 1, 40) as one, child(making_tickets, address, 101, 40) as two:
        for other in (one, two):
            assert other.receive() == "ready"
        for other in (one, two):
            other.send("go")
        seen = [len(rows(journal)) for _ in range(20)]
        counts = [one.receive(), two.receive()]
    assert seen == sorted(seen)
    assert max(counts) == 80, "who asks last sees all"
    assert len(rows(journal)) == 80
    assert journal.verify(TICKETS) == []


# What somebody did to the tables


DAMAGE = {
    "a changed row": "UPDATE tickets SET title = 'forged' WHERE number = 1",
    "a changed count": "UPDATE tickets SET blockers = 0 WHERE number = 2",
    "a changed state": "UPDATE tickets SET state = 'Done' WHERE number = 2",
    "a missing row": "DELETE FROM tickets WHERE number = 1",
    "an added row": "INSERT INTO ticket_blocks (blocked, blocker) VALUES ('x', 'y')",
    "a missing link": "DELETE FROM ticket_blocks",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_was_done_to_a_table_by_hand_is_found_and_mended(journal: Journal, address: Address, damage: str) -> None:
    first = ticket(journal, 1)
    ticket(journal, 2, blocked_by=[first])
    before = rows(journal, "*")
    assert journal.verify(TICKETS) == []
    sql(address, DAMAGE[damage])
    assert journal.verify() == [], "the journal itself holds"
    problems = journal.verify(TICKETS)
    assert {problem.code for problem in problems} == {"projection_differs"}
    assert journal.rebuild() == 2
    assert journal.verify(TICKETS) == []
    assert rows(journal, "*") == before


def test_a_table_that_was_dropped_is_made_anew_by_a_rebuild(journal: Journal, address: Address) -> None:
    ticket(journal, 1)
    rows(journal)
    sql(address, "DROP TABLE ticket_blocks")
    with pytest.raises(InterlockError) as caught:
        journal.verify(TICKETS)
    assert caught.value.code == "journal_io"
    journal.rebuild()
    assert journal.verify(TICKETS) == []


def test_a_journal_that_does_not_hold_says_so_before_its_projections_are_looked_at(
    journal: Journal, address: Address
) -> None:
    ticket(journal, 1)
    rows(journal)
    sql(address, "UPDATE entries SET reason = 'forged'")
    sql(address, "UPDATE tickets SET title = 'forged'")
    assert "projection_differs" not in {problem.code for problem in journal.verify(TICKETS)}
    assert journal.verify(TICKETS)


# Any history


def _refolded(journal: Journal) -> dict[str, list[Row]]:
    """The tables made of all entries by themselves, each ticket at once and the last one first."""
    with in_memory() as fresh:
        for statements in TICKETS.tables.values():
            make(fresh, statements)
        for instance in reversed(journal.instances("ticket")):
            TICKETS.fold(fresh, instance, journal.history(instance.id))
        return {table: sorted(fresh.rows(f"SELECT * FROM {table}"), key=str) for table in TICKETS.tables}


def _kept(journal: Journal) -> dict[str, list[Row]]:
    with journal.projected(TICKETS) as found:
        return {table: sorted(map(tuple, found.rows(f"SELECT * FROM {table}")), key=str) for table in TICKETS.tables}


class _Histories(RuleBasedStateMachine):
    """Any tickets, written on, linked, moved and ended in any order; some while nobody looks."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.journal = self.opened()
        self.tickets: list[str] = []
        self.looks = True

    def opened(self) -> Journal:
        return open_journal(Path(self.directory.name) / "journal.db", now=self.clock)

    def teardown(self) -> None:
        assert self.journal.verify(TICKETS) == []
        self.journal.close()
        self.directory.cleanup()

    def one(self, place: int) -> str:
        return self.tickets[place % len(self.tickets)]

    @rule(above=st.integers(0, 9), blockers=st.lists(st.integers(0, 9), max_size=2), alone=st.booleans())
    def make(self, above: int, blockers: list[int], alone: bool) -> None:
        data: dict[str, Any] = {}
        if self.tickets and not alone:
            data = {"parent": self.one(above), "blocked_by": list({self.one(one): 0 for one in blockers})}
        self.tickets.append(ticket(self.journal, len(self.tickets) + 1, **data))

    @rule(
        which=st.integers(0, 9),
        fields=st.fixed_dictionaries(
            {},
            optional={
                "title": st.text(max_size=9).filter(lambda text: "\x00" not in text and text.isprintable()),
                "estimate": st.sampled_from(["XS", "L", None]),
                "priority": st.sampled_from(["P0", "P3", None]),
                "labels": st.lists(st.sampled_from(["bug", 'a","b', "é"]), max_size=2, unique=True),
            },
        ),
    )
    def edit(self, which: int, fields: dict[str, Any]) -> None:
        if self.tickets:
            self.journal.append(self.one(which), edited(set=fields))

    @rule(which=st.integers(0, 9), other=st.integers(0, 9), how=st.sampled_from(["add", "remove", "parent", "orphan"]))
    def link(self, which: int, other: int, how: str) -> None:
        if not self.tickets or self.one(which) == self.one(other):
            return
        changes: dict[str, dict[str, Any]] = {
            "add": {"add": {"blocked_by": [self.one(other)]}},
            "remove": {"remove": {"blocked_by": [self.one(other)]}},
            "parent": {"set": {"parent": self.one(other)}},
            "orphan": {"set": {"parent": None}},
        }
        self.journal.append(self.one(which), edited(**changes[how]))

    @rule(
        which=st.integers(0, 9),
        state=st.sampled_from(["Research Needed", "Ready for Plan", "Canceled", "Human Needed", "Done"]),
    )
    def move(self, which: int, state: str) -> None:
        if self.tickets:
            code = code_of(lambda: self.journal.append(self.one(which), to(state)))
            assert code in (None, "terminal", "target_not_allowed")

    @rule(which=st.integers(0, 9), holder=st.sampled_from(["person:ada", "person:bob"]))
    def claim(self, which: int, holder: str) -> None:
        if self.tickets:
            lock = Event("lock", HUMAN, evidence=Evidence(holder=holder))
            assert code_of(lambda: self.journal.append(self.one(which), lock)) in (None, "terminal", "not_allowed")

    @rule()
    def other_work(self) -> None:
        self.journal.create("session", created(AGENT))

    @rule()
    def open_again(self) -> None:
        self.journal.close()
        self.journal = self.opened()

    @rule()
    def look_away(self) -> None:
        self.looks = not self.looks

    @invariant()
    def the_tables_are_what_the_entries_add_up_to(self) -> None:
        if self.looks:
            assert _kept(self.journal) == _refolded(self.journal)


def test_after_any_history_the_tables_are_what_the_entries_add_up_to() -> None:
    run_state_machine_as_test(
        _Histories,
        settings=settings(max_examples=examples(90), stateful_step_count=25, suppress_health_check=list(HealthCheck)),
    )


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(counts=st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_in_both_stores_it_does_not_matter_where_somebody_looks(journal: Journal, counts: list[int]) -> None:
    begun = len(journal.instances("ticket"))
    for count in counts:
        for _ in range(count):
            number = len(journal.instances("ticket")) + 1
            others = [one.id for one in journal.instances("ticket")[-2:]]
            made = ticket(journal, number, blocked_by=others)
            if number % 3 == 0:
                journal.append(made, to("Done"))
        assert len(rows(journal)) == len(journal.instances("ticket")) > begun
    assert journal.verify(TICKETS) == []
    with journal.projected(TICKETS) as found:
        assert found.rows("SELECT count(*) FROM tickets WHERE blockers > 2") == [(0,)]


def test_a_row_of_the_table_can_be_read_by_other_programs(journal: Journal, address: Address) -> None:
    ticket(journal, 7, labels=["bug"])
    rows(journal)
    with connected(address) as run:
        assert run("SELECT number, labels FROM tickets") == [(7, '["bug"]')]
