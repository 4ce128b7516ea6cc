"""What today has cost: all work by the runs of its agents, and of it loops, threads and runs by their own books."""

from __future__ import annotations

from typing import Final

from interlock.journal import Instance, Journal
from interlock.work.attention.values import Spending
from interlock.work.attention.waiting import standing_in
from interlock.work.budget import limits_of, standing
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.settings.values import Settings

__all__ = ["spending"]

_MOST: Final = 50
"""So many instances of a machine, open ones and the newest, are looked at for a day."""


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
    books, most = standing(journal, day), limits_of(settings)
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
    _, standing = standing_in(journal, machine, _MOST)
    known = {one.id: one for one in (*standing, *journal.recent(machine, _MOST))}
    return [one for one in known.values() if one.updated[:10] >= day]
