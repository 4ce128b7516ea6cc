"""The journal and a tracker's board, kept in step. The journal is the truth, and it is the outbox as well.

What the board has to show are the entries since the last one that it shows; a crash, a limit or a tracker that is away
leaves them to the next time, and each comment has a line by which it is posted once. What somebody changed on the board
becomes an entry, where the machine lets the system make it; a move that needs a person, or that nobody may make, waits
for a person (`settle`), and the board stays as it is until then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError, Refusal, TrackerError
from interlock.journal import Instance, Journal, Lease, Transaction
from interlock.machine import Event, Evidence, Machine
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.sessions.verbs import Caller
from interlock.work.settings.values import Settings
from interlock.work.tickets.fields import plain_fields
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.numbers import MACHINE, new_name
from interlock.work.tickets.outside import GONE, TRACKER, asked_for, gone, news_of, verdict_on
from interlock.work.tickets.record import TicketRecord, Tracked
from interlock.work.tickets.settle import BoardDifference, remember, waiting
from interlock.work.tickets.ticket_table import TICKETS, card_of
from interlock.work.tickets.tracker import (
    ESTIMATE,
    PRIORITY,
    STATE,
    board_fields,
    compared,
    linked,
    marked_ticket,
    plain_there,
    said_since,
    ticket_marker,
    written,
)
from interlock.work.tickets.verbs import edit
from interlock.world.github import Board, BoardItem, GitHub, SetUp, connect, place

__all__ = ["SyncFailure", "SyncReport", "newcomers", "set_up", "synchronise", "tracker_of", "unshown"]

_LEASE = "tracker:github"
_LEASE_SECONDS = 600.0
_STOPS = frozenset({"tracker_limited", "tracker_unreachable", "tracker_unauthorized", "tracker_unconfigured"})
"""What no other ticket would fare better with."""


class SyncFailure(msgspec.Struct, frozen=True, rename="camel"):
    """A ticket that the board could not be brought in step with."""

    number: int
    code: str
    message: str


class SyncReport(msgspec.Struct):
    """What a synchronisation did."""

    made: list[int] = msgspec.field(default_factory=list)
    """Tickets that came from the board."""
    moved: list[int] = msgspec.field(default_factory=list)
    """Tickets that were moved as their cards were."""
    edited: list[int] = msgspec.field(default_factory=list)
    shown: list[int] = msgspec.field(default_factory=list)
    """Tickets that the board now shows as they are."""
    waiting: list[BoardDifference] = msgspec.field(default_factory=list)
    trouble: list[SyncFailure] = msgspec.field(default_factory=list)


def tracker_of(settings: Settings, environment: Mapping[str, str], *, quick: bool = False) -> GitHub | None:
    """The board that the settings name; None where tickets are shown nowhere else."""
    if settings.text("ticket.tracker") != "github":
        return None
    owner, _, repository = settings.text("github.repository").partition("/")
    project, project_owner = settings.number("github.project"), settings.text("github.project_owner")
    return connect(place(owner, repository, project, project_owner or None), environment, quick=quick)


def set_up(board: Board, machine: Machine) -> SetUp:
    """Make the fields of a board that tickets need."""
    return board.set_up(board_fields(machine))


def synchronise(
    journal: Journal, board: Board, machine: Machine, *, only_show: bool = False, only_new: bool = False
) -> SyncReport:
    """Bring in what changed on the board, then show there what happened here; one process at a time.

    With `only_new`, nothing but the issues that are no tickets yet is brought in.
    """
    lease = journal.acquire(_LEASE, process_holder(), _LEASE_SECONDS, is_present)
    sync = _Sync(journal, board, machine, lease, SyncReport())
    try:
        if only_new:
            for item in newcomers(journal, board):
                sync.each(item.number, partial(sync.take_in, item))
            return sync.report
        if not only_show:
            items = board.items()
            for item in items:
                sync.each(item.number, partial(sync.take_in, item))
            for ticket, card in _missing(journal, {item.issue for item in items}):
                sync.each(card.number, partial(sync.look_for, ticket))
        for ticket, number in unshown(journal):
            sync.each(number, partial(sync.show, ticket))
        sync.report.waiting = waiting(journal)
    finally:
        journal.release(lease)
    return sync.report


def newcomers(journal: Journal, board: Board) -> list[BoardItem]:
    """What is on the board and no ticket yet."""
    return [item for item in board.items() if not any(journal.named(MACHINE, name) for name in _names(item))]


def unshown(journal: Journal) -> list[tuple[str, int]]:
    """The tickets of which the board does not show everything yet, each with its number."""
    with journal.projected(TICKETS) as sql:
        rows = sql.rows("SELECT id, number FROM tickets WHERE to_show > 0 ORDER BY number")
    return [(row[0], row[1]) for row in rows]


def _missing(journal: Journal, issues: set[str]) -> list[tuple[str, TicketRecord]]:
    """The tickets that have not ended and whose cards are not among those, though nobody was told so yet."""
    with journal.projected(TICKETS) as sql:
        rows = sql.rows("SELECT id FROM tickets WHERE outcome IS NULL ORDER BY number")
        cards = [(row[0], card_of(sql, row[0])) for row in rows]
    return [(ticket, card) for ticket, card in cards if card.tracked and _is_missed(card.tracked, issues)]


def _is_missed(tracked: Tracked, issues: set[str]) -> bool:
    return tracked.issue not in issues and tracked.outside != GONE and not tracked.stale


def _names(item: BoardItem) -> tuple[str, ...]:
    return (f"github:{item.issue}",)


class _Sync(msgspec.Struct):
    journal: Journal
    board: Board
    machine: Machine
    lease: Lease
    report: SyncReport
    renewed: float = 0.0

    def each(self, number: int, work: Callable[[], None]) -> None:
        """Do something for one ticket; what goes wrong with it alone holds up no other."""
        if self.journal.now() - self.renewed > _LEASE_SECONDS / 10:
            self.journal.renew(self.lease, _LEASE_SECONDS)
            self.renewed = self.journal.now()
        try:
            work()
        except InterlockError as error:
            if error.code in _STOPS or not isinstance(error, TrackerError | Refusal):
                raise
            self.report.trouble.append(SyncFailure(number, error.code, error.message))

    def _card(self, ticket: str) -> TicketRecord:
        with self.journal.projected(TICKETS) as sql:
            return card_of(sql, ticket)

    # From the board

    def take_in(self, item: BoardItem) -> None:
        """Bring in one item as somebody left it on the board."""
        ticket = self.journal.named(MACHINE, f"github:{item.issue}")
        if ticket is not None:
            self._take_in(item, ticket)
        elif not self._is_being_shown(item):
            self._make(item)

    def _is_being_shown(self, item: BoardItem) -> bool:
        """Whether it says that it is for a ticket that has no issue yet: showing that one finds out if it is true."""
        marked = marked_ticket(item)
        try:
            ticket = self.journal.instance(marked) if marked else None
        except InterlockError:
            return False
        return ticket is not None and ticket.machine == MACHINE and self._card(ticket.id).tracked is None

    def _take_in(self, item: BoardItem, ticket: Instance) -> None:
        card = self._card(ticket.id)
        if card.tracked is None or card.tracked.issue != item.issue:
            return  # the ticket has another issue by now
        news = news_of(item, ticket, card, self.machine, ())
        if not news.edits and news.asked is None and news.seen == card.tracked:
            return

        def work(transaction: Transaction) -> tuple[bool, bool]:
            ticket_now = transaction.instance(ticket.id)
            card = card_of(transaction.project(TICKETS), ticket.id)
            history = transaction.history(ticket.id)
            news = news_of(item, ticket_now, card, self.machine, history)
            seen, was_moved = news.seen, False
            if news.edits:
                entry = edit(TRACKER, card.number, set_=news.edits)(transaction).entry
                is_all = card.shown <= seen.upto
                seen = replace(seen, upto=entry) if is_all else seen
            if news.asked is not None:
                seen, was_moved = self._move(transaction, ticket_now, card.number, seen, news.asked)
            if seen != card.tracked:
                remember(transaction, ticket.id, seen)
            return bool(news.edits), was_moved

        was_edited, was_moved = self.journal.transact(work)
        self.report.edited += [card.number] if was_edited else []
        self.report.moved += [card.number] if was_moved else []

    def _make(self, item: BoardItem) -> None:
        """A ticket for an issue that came from elsewhere. It begins in Backlog, wherever its card stands."""

        def work(transaction: Transaction) -> tuple[int, bool]:
            theirs = plain_there(item, self.machine)
            data = plain_fields(transaction.current(MACHINE), {name: value for name, value in theirs.items() if value})
            names = (new_name(transaction), *_names(item))
            event = Event("created", TRACKER, evidence=Evidence(data=data, names=names))
            ticket = transaction.instance(transaction.create(MACHINE, event).entry.instance)
            number = card_of(transaction.project(TICKETS), ticket.id).number
            blank = linked(item, theirs)
            seen = replace(blank, state=item.fields.get(STATE), is_open=item.is_open)
            asked, was_moved = asked_for(item, blank, ticket.state, has_ended=False), False
            if asked is not None:
                seen, was_moved = self._move(transaction, ticket, number, seen, asked)
            remember(transaction, ticket.id, seen)
            return number, was_moved

        number, was_moved = self.journal.transact(work)
        self.report.made.append(number)
        self.report.moved += [number] if was_moved else []

    def _move(
        self, transaction: Transaction, ticket: Instance, number: int, seen: Tracked, target: str
    ) -> tuple[Tracked, bool]:
        """Make a move that was made on the board, if it is the system's to make; else let it wait for a person."""
        said = f"moved on the board ({seen.url})"
        plan_review = str(ticket.snapshot.settings.get("plan_review", "human"))
        move = handoff(Caller(TRACKER), number, to=target, reason=said, plan_review=plan_review)
        try:
            move(transaction)
        except Refusal:
            now = transaction.instance(ticket.id)
            verdict = verdict_on(transaction.machine_of(now), now.snapshot, target, number)
            return replace(seen, outside=target, verdict=verdict), False
        return replace(seen, outside=None, verdict=None), True

    def look_for(self, ticket: str) -> None:
        """See what became of a ticket's card that was not among the others."""
        tracked = self._card(ticket).tracked
        item = self.board.item(tracked.issue) if tracked else None
        if item is None:
            self._miss(ticket)
        else:
            self.take_in(item)

    def _miss(self, ticket: str) -> None:
        """Its issue is not on the board: a person is told. A ticket that has ended may well be gone from there."""

        def work(transaction: Transaction) -> None:
            card, history = card_of(transaction.project(TICKETS), ticket), transaction.history(ticket)
            if card.tracked is None:
                return
            has_ended = transaction.instance(ticket).outcome is not None
            now = replace(card.tracked, upto=history[-1].seq) if has_ended else gone(card.tracked, card.number)
            if now != card.tracked:
                remember(transaction, ticket, now)

        self.journal.transact(work)

    # To the board

    def show(self, ticket: str) -> None:
        """Let the board show a ticket as it is: what was said and done, its fields, its state."""
        item = self._item(ticket)
        if item is None:
            self._miss(ticket)
            return
        self.take_in(item)  # somebody may have touched it since it was last looked at
        history, instance, card = self.journal.history(ticket), self.journal.instance(ticket), self._card(ticket)
        tracked = card.tracked
        assert tracked is not None
        for said in said_since(history, tracked.upto):
            self.board.comment(item, said.body, said.marker)
        self._show_fields(item, card, ticket)
        if tracked.outside is None:
            self._show_state(item, instance)
        # Labels and assignees come from the board and are not written there.
        there = {name: plain_there(item, self.machine)[name] for name in ("labels", "assignees")}
        fields = compared(written(card) | there)

        def work(transaction: Transaction) -> None:
            now = card_of(transaction.project(TICKETS), ticket).tracked
            assert now is not None
            if tracked.outside is None:
                now = replace(now, state=instance.state, is_open=instance.outcome is None, stale=False)
            remember(transaction, ticket, replace(now, upto=history[-1].seq, fields=fields))

        self.journal.transact(work)
        self.report.shown.append(card.number)

    def _item(self, ticket: str) -> BoardItem | None:
        """The ticket's item, made where there is none yet; None where it was taken from the board."""
        card = self._card(ticket)
        tracked = card.tracked
        item = None if tracked is None else self.board.item(tracked.issue)
        if item is None and tracked is not None:
            if not tracked.stale:
                return None
            item = self.board.add(tracked.issue)
        if item is not None:
            return item
        ours = written(card)
        item = self.board.create(card.title, ours["body"], ticket_marker(ticket))
        bare: dict[str, Any] = {"estimate": None, "priority": None, "labels": [], "assignees": []}
        made = linked(item, ours | bare)
        if tracked is not None:
            made = replace(made, upto=tracked.upto, stale=True)
        self.journal.transact(lambda transaction: remember(transaction, ticket, made, names=_names(item)))
        return item

    def _show_fields(self, item: BoardItem, card: TicketRecord, ticket: str) -> None:
        there, ours = plain_there(item, self.machine), written(card)
        title = ours["title"] if ours["title"] != there["title"] else None
        body = None
        if ours["body"] != there["body"]:
            hidden = ticket_marker(ticket)
            body = f"{ours['body']}\n\n{hidden}" if hidden in item.body else ours["body"]
        if title is not None or body is not None:
            self.board.edit(item, title=title, body=body)
        for name, key in ((PRIORITY, "priority"), (ESTIMATE, "estimate")):
            if there[key] != ours[key]:
                self.board.set(item, name, ours[key])

    def _show_state(self, item: BoardItem, instance: Instance) -> None:
        if item.fields.get(STATE) != instance.state:
            self.board.set(item, STATE, instance.state)
        if instance.outcome is not None and item.is_open:
            self.board.close(item, completed=instance.outcome != "canceled")
        elif instance.outcome is None and not item.is_open:
            self.board.reopen(item)
