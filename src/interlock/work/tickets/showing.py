"""A tracker's board shows what was done here as soon as it was done, if there is one, and holds nobody up."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.errors import InterlockError
from interlock.journal import Journal
from interlock.work.settings.values import Settings

__all__ = ["show"]


def show(journal: Journal, settings: Settings, environment: Mapping[str, str]) -> list[str]:
    """Let the board show what it does not show yet; what it could not, in sentences: the next time does it."""
    if settings.text("ticket.tracker") == "local":
        return []
    from interlock.work.tickets.sync import synchronise, tracker_of, unshown

    try:
        board = tracker_of(settings, environment, quick=True) if unshown(journal) else None
        if board is None:
            return []
        with board:
            report = synchronise(journal, board, journal.current("ticket"), only_show=True)
    except InterlockError as error:
        return [f"GitHub does not show it yet: {error.message} `ralph ticket sync` will."]
    return [f"#{one.number} is not shown on GitHub yet: {one.message}" for one in report.trouble]
