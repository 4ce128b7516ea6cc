"""One look over the whole journal: what a person should know now, and everything that is under way."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from interlock.journal import Instance, Journal
from interlock.work.attention.tree import Tree, tree
from interlock.work.attention.values import Attention, Spending, WaitingItem, counted
from interlock.work.attention.waiting import newest_open, waiting
from interlock.work.attention.working import stuck, working
from interlock.work.budget import RUNS_OF_AGENTS, day_usage, limits_of
from interlock.work.formats.times import day_of
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.settings.values import Settings
from interlock.work.tickets.locks import expire_lost
from interlock.work.tickets.ticket_table import TICKETS

__all__ = ["asking", "attention", "overview", "spending"]

_MOST: Final = 50
"""So many instances of a machine, open ones and the newest, are looked at for a day."""
_ASKED = (TICKETS, RUNS_OF_AGENTS)
"""The projections that a look over everything asks."""


def attention(journal: Journal, watch: RecordCaches, settings: Settings, root: Path | None) -> Attention:
    """Return what a person should know now. `root` is the work tree, whose settings may wait to be accepted."""
    expire_lost(journal)
    with watch.lock, journal.look(*_ASKED):
        return _attention(journal, watch, settings, root)


def overview(journal: Journal, watch: RecordCaches, settings: Settings, root: Path | None) -> tuple[Attention, Tree]:
    """Return what a person should know now, and everything that is under way."""
    expire_lost(journal)
    with watch.lock, journal.look(*_ASKED):
        seen = _attention(journal, watch, settings, root)
        return seen, tree(journal, watch, seen.waiting)


def _attention(journal: Journal, watch: RecordCaches, settings: Settings, root: Path | None) -> Attention:
    now = journal.now()
    asks, more = waiting(journal, watch, settings, root)
    busy, others = working(journal, watch, now)
    return Attention(
        waiting=asks,
        more=more,
        working=busy,
        more_working=others,
        stuck=stuck(journal, watch, busy, now),
        spending=spending(journal, watch, settings, day_of(now)),
    )


def asking(
    journal: Journal, watch: RecordCaches, settings: Settings, root: Path | None
) -> tuple[list[WaitingItem], int]:
    """Return the items that wait for a person, and their number including those that are not listed."""
    with watch.lock:
        found, more = waiting(journal, watch, settings, root)
    return [one for one in found if one.is_gate], counted(found, more)


def spending(journal: Journal, watch: RecordCaches, settings: Settings, day: str) -> tuple[Spending, ...]:
    """What was used on a day, of each kind of work that there was."""
    found = (
        _all(journal, settings, day),
        _loops(journal, watch, settings, day),
        _threads(journal, watch, day),
        _runs(journal, watch, day),
    )
    return tuple(one for one in found if one is not None)


def _all(journal: Journal, settings: Settings, day: str) -> Spending | None:
    """All runs of agents, whoever drove them; one that is under way with what is reserved for it."""
    books, most = day_usage(journal, day), limits_of(settings)
    if not books.runs:
        return None
    used = books.used
    limits = {"most_seconds": most.seconds, "most_tokens": float(most.tokens), "most_usd": most.usd}
    return Spending("all work", used.seconds, used.tokens, used.usd, books.runs, **limits)


def _loops(journal: Journal, watch: RecordCaches, settings: Settings, day: str) -> Spending | None:
    """All loops of a day: the last one knows of those before it."""
    last = next(iter(journal.recent("story", 1)), None)
    if last is None:
        return None
    books = watch.loops.of(journal, last).books
    used = books.of_day(day)
    return Spending(
        what="story loops",
        seconds=used.seconds,
        tokens=used.tokens,
        usd=used.usd,
        runs=books.iterations.get(day, 0),
        most_seconds=settings.number("story.day_minutes") * 60.0,
        most_tokens=settings.number("story.day_tokens"),
        most_usd=settings.number("story.day_usd"),
        most_runs=settings.number("story.day_iterations"),
    )


def _threads(journal: Journal, watch: RecordCaches, day: str) -> Spending | None:
    """The threads' own agents; what their loops and runs use is counted there."""
    touched = _touched(journal, "thread", day)
    with journal.look() as look:
        look.read_histories(watch.threads.unread(touched))
        threads = [watch.threads.of(journal, instance) for instance in touched]
    used = [one for thread in threads for one in thread.iterations if one.at[:10] == day]
    if not used:
        return None
    seconds, usd, tokens = (sum(getattr(one, name) for one in used) for name in ("seconds", "cost_usd", "tokens"))
    return Spending("threads", seconds, tokens, usd, len(used))


def _runs(journal: Journal, watch: RecordCaches, day: str) -> Spending | None:
    runs = [watch.runs.of(journal, one) for one in _touched(journal, "orchestrator", day)]
    used = [one.books.of_day(day) for one in runs]
    asked = sum(1 for run in runs for one in run.invocations if one.at[:10] == day)
    if not asked:
        return None
    seconds, usd, tokens = (sum(getattr(one, name) for one in used) for name in ("seconds", "usd", "tokens"))
    return Spending("orchestrator runs", seconds, tokens, usd, asked)


def _touched(journal: Journal, machine: str, day: str) -> list[Instance]:
    """The instances that something happened to on a day: open ones and the newest are looked at."""
    _, found = newest_open(journal, machine, _MOST)
    known = {one.id: one for one in (*found, *journal.recent(machine, _MOST))}
    return [one for one in known.values() if one.updated[:10] >= day]
