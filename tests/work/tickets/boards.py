"""Tickets in a real journal and a board on a server that plays GitHub, for the tests that bring them in step."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from interlock.errors import TrackerError
from interlock.journal import Journal, open_journal
from interlock.machine import Accepted, Actor, ActorKind, Channel, Event, Snapshot, load_shipped, start, step
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.record import TicketRecord
from interlock.work.tickets.settle import accept, restore
from interlock.work.tickets.sync import SyncReport, set_up, synchronise
from interlock.work.tickets.ticket_table import TICKETS, TicketRow, card_of, line_of
from interlock.work.tickets.tracker import ESTIMATE, PRIORITY, STATE, said_since, written
from interlock.work.tickets.verbs import comment, create, edit
from interlock.world.github import BoardAddress, GitHub
from interlock.world.github.transport import Transport
from world.github_lines import connected
from world.github_server import Check, GitHubServer
from world.github_state import US, GitHubState

__all__ = ["MACHINE", "PERSON", "PLACE", "Office", "office_at", "opened_office", "way_to"]

PLACE = BoardAddress("acme", "rocket", "acme", 7)
MACHINE = load_shipped("ticket")
PERSON = Caller(Actor(ActorKind.HUMAN, "ada@example.org", Channel.CLI))


@cache
def way_to(state: str) -> tuple[str, ...]:
    """The states by which a person moves a new ticket to one."""
    begun = start(MACHINE, Event("created", PERSON.actor))
    assert isinstance(begun, Accepted)
    queue: deque[tuple[Snapshot, tuple[str, ...]]] = deque([(begun.snapshot, ())])
    seen: set[str] = set()
    while queue:
        snapshot, way = queue.popleft()
        if snapshot.state == state:
            return way
        if snapshot.state in seen:
            continue
        seen.add(snapshot.state)
        for target in MACHINE.states:
            result = step(MACHINE, snapshot, Event("handoff", PERSON.actor, target))
            if isinstance(result, Accepted):
                queue.append((result.snapshot, (*way, target)))
    raise AssertionError(f"no way to {state}")


class Office(msgspec.Struct):
    """A journal, and a board with the fields that tickets need."""

    journal: Journal
    server: GitHubServer
    transport: Transport

    @property
    def there(self) -> GitHubState:
        return self.server.state

    @property
    def board(self) -> GitHub:
        return GitHub(self.transport, PLACE)

    def set_up(self) -> None:
        set_up(self.board, MACHINE)

    def sync(self, *, only_show: bool = False) -> SyncReport:
        return synchronise(self.journal, self.board, MACHINE, only_show=only_show)

    def quiet_sync(self) -> SyncReport:
        """Bring in step what is in step already: nothing is written, here or there."""
        head, there = self.journal.head(), self.there.snapshot()
        report = self.sync()
        assert (self.journal.head(), self.there.snapshot()) == (head, there)
        assert (report.made, report.moved, report.edited, report.shown, report.trouble) == ([], [], [], [], [])
        return report

    def recover(self) -> None:
        """Let GitHub be well again, and bring in step what was not: once for what is known, once for what came late."""
        self.server.work_again()
        self.server.catch_up()
        for _ in range(2):
            with suppress(TrackerError):
                self.sync()
            self.server.catch_up()

    # What is done here

    def create(self, title: str = "Parse dates", **fields: Any) -> int:
        return self.journal.transact(create(PERSON.actor, title, **fields)).number

    def created(self, state: str, **fields: Any) -> int:
        """A ticket that a person brought to a state."""
        number = self.create(**fields)
        for target in way_to(state):
            self.move(number, target)
        return number

    def move(self, number: int, to: str, reason: str = "because") -> None:
        self.journal.transact(handoff(PERSON, number, to=to, reason=reason))

    def edit(self, number: int, **fields: Any) -> None:
        self.journal.transact(edit(PERSON.actor, number, set_=fields))

    def comment(self, number: int, body: str) -> None:
        self.journal.transact(comment(PERSON.actor, number, body))

    def accept(self, number: int) -> None:
        accept(self.journal, PERSON, number)

    def restore(self, number: int) -> None:
        restore(self.journal, number, PERSON.actor)

    # What is seen here and there

    def id(self, number: int) -> str:
        return known_ticket(self.journal, number).id

    def line(self, number: int) -> TicketRow:
        ticket = self.id(number)
        with self.journal.projected(TICKETS) as sql:
            return line_of(sql, ticket)

    def card(self, number: int) -> TicketRecord:
        ticket = self.id(number)
        with self.journal.projected(TICKETS) as sql:
            return card_of(sql, ticket)

    def state(self, number: int) -> str:
        return self.line(number).state

    def outside(self, number: int) -> str | None:
        return self.line(number).outside

    def issue(self, number: int) -> int:
        """The number on GitHub of the ticket with a number here."""
        tracked = self.card(number).tracked
        assert tracked is not None
        return tracked.number

    def moved_there(self, number: int, to: str) -> None:
        self.there.move(self.issue(number), STATE, to)

    def shown(self, number: int) -> str | None:
        return self.there.value(self.issue(number), STATE)

    def posted(self, number: int) -> list[str]:
        """Our comments on a ticket's issue."""
        return [one.body for one in self.there.issue(self.issue(number)).comments if one.author == US]

    def numbers(self) -> list[int]:
        with self.journal.projected(TICKETS) as sql:
            return [row[0] for row in sql.rows("SELECT number FROM tickets ORDER BY number")]

    def assert_in_step(self, *, closed_by_us: bool = True) -> None:
        """Every ticket is on the board once, as it is, with each of its comments once; and nothing else is there.

        Where somebody else may have closed an issue, their reason for it stays.
        """
        for number in self.numbers():
            self._assert_shown(number, closed_by_us)
        assert len(self.there.issues) == len(self.there.cards) == len(self.numbers())
        assert self.journal.verify(TICKETS) == []

    def _assert_shown(self, number: int, closed_by_us: bool) -> None:
        card, line = self.card(number), self.line(number)
        tracked = card.tracked
        assert tracked is not None
        [issue] = [one for one in self.there.issues if one.id == tracked.issue]
        shown = {name: self.there.value(issue.number, name) for name in (STATE, PRIORITY, ESTIMATE)}
        assert shown == {STATE: line.state, PRIORITY: card.priority, ESTIMATE: card.estimate}, number
        reason = "NOT_PLANNED" if line.outcome == "canceled" else "COMPLETED"
        assert issue.state == ("OPEN" if line.outcome is None else "CLOSED"), number
        assert line.outcome is None or issue.reason == reason or not closed_by_us, number
        assert issue.title == card.title
        assert re.sub(r"\s*<!-- ralph-ticket: \w{26} -->$", "", issue.body) == written(card)["body"], number
        said = Counter(one.body for one in said_since(self.journal.history(line.id), 0))
        assert Counter(self.posted(number)) == said, number


@contextmanager
def opened_office(address: Path, check: Check | None = None) -> Iterator[Office]:
    """An office with a journal at an address; no request of it may have been against the schema."""
    with ExitStack() as stack:
        journal = open_journal(address)
        stack.callback(journal.close)
        server = stack.enter_context(GitHubServer(check=check))
        transport = stack.enter_context(connected(server, sleep=lambda _: None))
        yield Office(journal, server, transport)
        assert server.violations == []


@contextmanager
def office_at(address: Path, check: Check | None = None) -> Iterator[Office]:
    """Such an office, set up."""
    with opened_office(address, check) as office:
        office.set_up()
        yield office
