"""What waits for a person, who is at work, what does not move, and what today cost: one look over the whole journal.

    values    what is told (PURE)
    next_step what anything waits for, and the command that comes next
    waiting   what waits for a person, as a list
    working   who is at work, and what does not move though it should
    spending  what today cost
    tree      everything that is under way, as a tree

Every face that tells people what is going on asks here. It changes nothing but the locks of holders that are gone,
which it ends first. It is flat: each list has an end, and says how much more there is.
"""

from __future__ import annotations

from pathlib import Path

from interlock.journal import Journal
from interlock.work.attention.spending import spending
from interlock.work.attention.tree import Tree, WorkNode, tree
from interlock.work.attention.values import Attention, Spending, StuckItem, WaitingItem, WorkingItem, counted
from interlock.work.attention.waiting import waiting
from interlock.work.attention.working import stuck, working
from interlock.work.formats.times import day_of
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.settings.values import Settings
from interlock.work.tickets.locks import expire_lost

__all__ = [
    "Attention",
    "Spending",
    "StuckItem",
    "Tree",
    "WaitingItem",
    "WorkNode",
    "WorkingItem",
    "asking",
    "attention",
    "tree",
]


def attention(journal: Journal, watch: RecordCaches, settings: Settings, root: Path | None) -> Attention:
    """What a person should know now. `root` is the work tree, whose settings may wait to be accepted."""
    expire_lost(journal)
    with watch.lock:
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
    """What waits for a person, and how much it is with what is not listed: what every page tells."""
    with watch.lock:
        found, more = waiting(journal, watch, settings, root)
    return [one for one in found if one.is_gate], counted(found, more)
