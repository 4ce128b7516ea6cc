"""Tickets: the next one, one handoff, and the board, and what each costs when there are many."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from itertools import cycle
from pathlib import Path

from bench.timing import Comparison, Effort, Side, alone, at_least, at_most, by_turns, compare, grown
from interlock.journal import Journal, Transaction, open_journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence, load_shipped
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.dashboard import dashboard
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.locks import expire_lost
from interlock.work.tickets.ticket_table import TICKETS
from interlock.work.tickets.upcoming import next_ticket

__all__ = ["add_tickets", "measure"]

_ANN = Actor(ActorKind.HUMAN, "ann@example.org", Channel.CLI)
_CALLER = Caller(_ANN)
_MACHINE = load_shipped("ticket")
_BATCH = 1000
_WAYS = (
    (),
    ("Research Needed",),
    ("Ready for Plan",),
    ("Human Needed",),
    ("Human Needed", "In Progress"),
    ("Done",),
)
"""The moves that the tickets have behind them, by turns."""
_NEXT_MILLISECONDS = at_most(5)


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """The same with few, many and very many tickets."""
    sizes = (100, 10_000, effort.sizes[2])
    with ExitStack() as stack:
        journals = {f"{size:,}": _made(directory / f"tickets-{size}.db", size, stack) for size in dict.fromkeys(sizes)}
        few, *more = journals
        for subject, make in (("next", _next), ("board", _board), ("handoff", _handoff)):
            seconds = 0 if make is _handoff else effort.seconds
            rates = by_turns({size: make(one) for size, one in journals.items()}, effort.rounds, seconds)
            for many in more:
                yield grown(f"{subject}, {many} tickets", f"{few} tickets", rates[many], rates[few])
            if make is _next:
                took = 1000 / statistics.median(rates[more[0]])
                yield alone(f"{subject}, {more[0]} tickets", took, " ms", aim=_NEXT_MILLISECONDS)
        journal = journals[more[0]]
        rates = by_turns({"ours": _handoff(journal), "bare": _append(journal)}, effort.rounds, 0)
        title = f"handoff, {more[0]} tickets"
        yield compare(title, "a bare journal append", rates["ours"], rates["bare"], aim=at_least(0.5))


def _next(journal: Journal) -> Side:
    def side() -> int:
        expire_lost(journal)
        next_ticket(journal, _MACHINE, command="research")
        return 1

    return side


def _board(journal: Journal) -> Side:
    def side() -> int:
        expire_lost(journal)
        dashboard(journal, _MACHINE)
        return 1

    return side


def _handoff(journal: Journal) -> Side:
    """Ticket 5 waits In Progress: it is claimed and given back, by turns."""
    intents = cycle(("lock", "release"))

    def side() -> int:
        journal.transact(handoff(_CALLER, 5, command="impl", intent=next(intents), reason="measured"))
        return 1

    return side


def _append(journal: Journal) -> Side:
    """The same events on ticket 11, straight into the journal."""
    ticket = journal.named("ticket", f"number:{11:012d}")
    assert ticket is not None
    holder = Evidence(holder="person:ann@example.org")
    events = cycle([Event(name, _ANN, None, "impl", "measured", holder) for name in ("lock", "release")])

    def side() -> int:
        journal.append(ticket.id, next(events))
        return 1

    return side


def _made(path: Path, size: int, stack: ExitStack) -> Journal:
    journal = stack.enter_context(closing(open_journal(path)))
    add_tickets(journal, size)
    return journal


def add_tickets(journal: Journal, size: int) -> None:
    """Put so many tickets into a journal that has none."""
    ids: list[str] = []
    for start in range(0, size, _BATCH):
        ids = journal.transact(partial(_batch, min(_BATCH, size - start), ids))
    with journal.projected(TICKETS):
        pass


def _batch(number: int, before: list[str], transaction: Transaction) -> list[str]:
    """Tickets of every size and priority, all over the pipeline; every third waits for one or two before it."""
    made = [*before]
    for place in range(len(before), len(before) + number):
        blocked_by = [made[place - back] for back in (7, 40) if place % 3 == 2 and place >= back]
        data = {
            "title": f"Ticket {place + 1}",
            "body": "What is to be done. " * 10,
            "estimate": ("XS", "S", "M")[place % 3],
            "priority": ("P0", "P1", "P2", "P3")[place * 7 % 4],
            "labels": ["bench"],
            **({"blocked_by": blocked_by} if blocked_by else {}),
        }
        evidence = Evidence(data=data, names=(f"number:{place + 1:012d}",))
        ticket = transaction.create("ticket", Event("created", _ANN, evidence=evidence)).entry.instance
        for state in _WAYS[place % len(_WAYS)]:
            transaction.append(ticket, Event("handoff", _ANN, to=state, reason="measured"))
        made.append(ticket)
    return made
