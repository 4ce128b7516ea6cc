"""Growth: what an append and a read cost when the journal is long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, cycle, islice
from pathlib import Path

import msgspec

from bench.timing import Comparison, Effort, Side, alone, at_least, by_turns, grown
from bench.workload import BEGIN, CREATED, LOOP, appender, begin
from interlock.journal import Journal, Transaction, open_journal
from interlock.machine import Event

__all__ = ["measure"]

_HISTORY = 50
"""Entries of the instance whose history is read; they lie all over the journal."""
_TAIL = 100
_LENGTH = 25
"""Entries of every other instance."""
_APPENDS = 5
"""In one round: few, so that a short journal stays short."""
_BEGUN = 1 + len(BEGIN)
_FLAT = at_least(0.8)


class Grown(msgspec.Struct, frozen=True):
    """A journal of a certain length, and the instance in it whose history is read."""

    journal: Journal
    instance: str
    head: int


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """Reads and appends at three lengths of the journal: the longest against the others."""
    short, middle, long = (f"{size:,}" for size in effort.sizes)
    with ExitStack() as stack:
        journals = {f"{size:,}": _grow(directory / f"{size}.db", size, stack) for size in effort.sizes}
        for subject, make, seconds in (
            (f"history of {_HISTORY} entries", _reading_history, effort.seconds / 3),
            (f"last {_TAIL} entries", _reading_tail, effort.seconds / 3),
            ("append, 1 thread", _appending, 0),
        ):
            rates = by_turns({size: make(one) for size, one in journals.items()}, effort.rounds, seconds)
            title = f"{subject}, journal of {long}"
            yield grown(title, f"journal of {middle}", rates[long], rates[middle], aim=_FLAT)
            yield grown(title, f"journal of {short}", rates[long], rates[short])
        yield _verified(journals[long], long)


def _reading_history(one: Grown) -> Side:
    return lambda: len(one.journal.history(one.instance))


def _reading_tail(one: Grown) -> Side:
    return lambda: len(one.journal.entries(max(one.head - _TAIL, 0), most=_TAIL))


def _appending(one: Grown) -> Side:
    append = appender(one.journal)
    return lambda: sum(append() for _ in range(_APPENDS))


def _grow(path: Path, size: int, stack: ExitStack) -> Grown:
    """A journal with so many entries of others between those of the instance that is read."""
    with closing(open_journal(path)) as journal:
        instance, head = journal.transact(begin), _BEGUN
        for number in range(_HISTORY - _BEGUN):
            others = size * (number + 1) // (_HISTORY - _BEGUN) - size * number // (_HISTORY - _BEGUN)
            head = journal.transact(partial(_stretch, instance, LOOP[number % len(LOOP)], others))
    journal = stack.enter_context(closing(open_journal(path)))
    return Grown(journal, instance, head)


def _stretch(instance: str, event: Event, others: int, transaction: Transaction) -> int:
    """One entry of the instance that is read, then so many of others; the number of the last entry."""
    last = transaction.append(instance, event).entry.seq
    for written in range(0, others, _LENGTH):
        other = transaction.create("session", CREATED).entry
        for move in islice(chain(BEGIN, cycle(LOOP)), min(_LENGTH, others - written) - 1):
            transaction.append(other.instance, move)
    return last + others


def _verified(one: Grown, size: str) -> Comparison:
    began = time.perf_counter()
    problems = list(one.journal.verify())
    rate = one.journal.entries(one.head)[-1].seq / (time.perf_counter() - began)
    note = "the journal does not hold" if problems else ""
    return alone(f"verify, journal of {size}", rate, " entries/s", note=note)
