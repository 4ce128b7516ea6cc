"""The pages of the dashboard, in the order of the navigation. Each module has the pages of one concept."""

from __future__ import annotations

from typing import Final

from interlock.faces.web.page import PageKind
from interlock.faces.web.pages import acting, journal, loops, machines, now, sessions, stats, threads, tickets, travel

__all__ = ["PAGES"]

PAGES: Final[tuple[PageKind, ...]] = (
    *now.PAGES,
    *tickets.PAGES,
    *threads.PAGES,
    *loops.PAGES,
    *sessions.PAGES,
    *journal.PAGES,
    *travel.PAGES,
    *machines.PAGES,
    *stats.PAGES,
    *acting.PAGES,
)
