"""What a page is: where it is found, what it looks at, and which of its parts live.

A page is one template. Its blocks whose names begin with `live_` are its regions: the server makes them anew when
something happened that concerns the page, and sends those that changed. So a page that was open the whole time and one
that is loaded now say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from interlock.journal import Instance, Journal
from interlock.machine import Machine
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.settings.values import Settings
from interlock.work.views.gate import GateView

__all__ = ["EVERYTHING", "NEEDED", "PageKind", "PageRequest", "Sight"]

EVERYTHING: frozenset[str] = frozenset()
"""Topics of a page that anything may concern."""
NEEDED: Final = "/needed"
"""The part of every page that tells how many wait for a person; its region is called `needed`."""


class Sight(msgspec.Struct, frozen=True):
    """What pages look at. They read, and change nothing."""

    journal: Journal
    state_directory: Path
    work_tree: Path | None
    settings: Settings
    machines: Callable[[str], Machine]
    gate: Callable[[str, str], GateView | None] = lambda id_, event: None
    """What a person would be asked for a move of a thread, named by its id and the event."""
    trouble: Callable[[Instance], str] = lambda instance: ""
    """Why the last driver of something failed; empty where it did not."""
    watch: RecordCaches = msgspec.field(default_factory=RecordCaches)
    """What was read before, so that nothing long is read twice."""

    @property
    def now(self) -> float:
        return self.journal.now()


class PageRequest(msgspec.Struct, frozen=True):
    """Which page of its kind, and what else the address says."""

    path: str
    """The whole address, as the browser has it: two with the same show the same."""
    names: Mapping[str, str]
    """The parts of the path that have a name."""
    query: Mapping[str, str]


def _anything(asked: PageRequest) -> frozenset[str]:
    return EVERYTHING


class PageKind(msgspec.Struct, frozen=True):
    """One kind of page."""

    route: str
    """As Starlette writes routes: `/thread/{id}`."""
    template: str
    look: Callable[[Sight, PageRequest], Mapping[str, Any]]
    """What the template is given. Raises `NotFound` where there is nothing to be shown."""
    topics: Callable[[PageRequest], frozenset[str]] = _anything
    """The machines, or ids of instances, whose entries concern it."""
    heading: str = ""
    """What it is called in the navigation; empty where it is not there."""
    key: str = ""
    """What leads to it from the keyboard, after `g`."""
    ages: bool = False
    """Whether it says something else after a while, though nothing happened: that somebody is silent, for one."""
