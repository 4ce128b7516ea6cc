"""One look over the whole journal: what a person should know now, and everything that is under way."""

from __future__ import annotations

from pathlib import Path

from interlock.journal import Journal
from interlock.work.attention.spending import spending
from interlock.work.attention.tree import Tree, tree
from interlock.work.attention.values import Attention, WaitingItem, counted
from interlock.work.attention.waiting import waiting
from interlock.work.attention.working import stuck, working
from interlock.work.budget import RUNS_OF_AGENTS
from interlock.work.formats.times import day_of
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.settings.values import Settings
from interlock.work.tickets.locks import expire_lost
from interlock.work.tickets.ticket_table import TICKETS

__all__ = ["asking", "attention", "overview"]


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
