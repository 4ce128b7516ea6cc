"""Sessions brought up to date with what happened outside the journal; where nothing did, `upkeep` is not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.work.driver.lease_holders import is_present
from interlock.world.inbox import waiting

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.journal import Journal

__all__ = ["refresh"]


def refresh(journal: Journal, state_directory: Path | None) -> None:
    """Take in what hooks saw, and end every session whose agent is gone."""
    if state_directory is not None and waiting(str(state_directory)):
        from interlock.work.sessions.upkeep import take_in

        take_in(journal, state_directory)
    if journal.lost("session:", is_present):
        from interlock.work.sessions.upkeep import end_lost

        end_lost(journal)
