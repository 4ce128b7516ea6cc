"""Where a command finds the journal: beside the repository, or at RALPH_DATABASE_URL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.faces.cli.command import Call
from interlock.world.repository import state_directory

if TYPE_CHECKING:
    from interlock.journal import Journal

__all__ = ["DATABASE_URL", "journal_path", "opened"]

DATABASE_URL = "RALPH_DATABASE_URL"


def journal_path(call: Call) -> Path:
    """Where the journal's file is, or would be."""
    return state_directory(call.directory) / "journal.db"


@contextmanager
def opened(call: Call) -> Iterator[Journal | None]:
    """The journal to read; None where there is none yet, so that reading makes nothing."""
    url = call.environment.get(DATABASE_URL)
    path = None if url else journal_path(call)
    if path is not None and not os.path.lexists(path):
        yield None
        return
    from interlock.journal import open_journal
    from interlock.world.machines import machine_finder

    journal = open_journal(url or journal_path(call), machine_finder(call.environment))
    try:
        yield journal
    finally:
        journal.close()
