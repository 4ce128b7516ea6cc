"""A loop, found and read; for whoever only looks."""

from __future__ import annotations

from interlock.errors import NotFound
from interlock.journal import Journal
from interlock.work.stories.record import Loop
from interlock.work.stories.replay import loop_of

__all__ = ["MACHINE", "known_loop", "open_loop"]

MACHINE = "story"


def open_loop(journal: Journal) -> str | None:
    """The loop that has not ended; there is one at a time, besides those that threads drive."""
    found = [one for one in journal.open_instances(MACHINE) if one.parent is None]
    return found[-1].id if found else None


def known_loop(journal: Journal) -> Loop:
    """The loop that has not ended, or else the last one."""
    id_ = open_loop(journal) or next((one.id for one in journal.recent(MACHINE, 1)), None)
    if id_ is None:
        raise NotFound("unknown_loop", "There is no loop here.", "`ralph story run` begins one.")
    return loop_of(journal.history(id_))
