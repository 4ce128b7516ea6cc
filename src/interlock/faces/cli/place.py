"""Where a command finds the journal: beside the repository, or at RALPH_DATABASE_URL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.faces.cli.command import Call
from interlock.world.repository import exclude_state, find_root, state_directory

if TYPE_CHECKING:
    from interlock.journal import Journal
    from interlock.machine import Machine

__all__ = ["DATABASE_URL", "Place", "journal_path", "opened", "writable"]

DATABASE_URL = "RALPH_DATABASE_URL"


@dataclass(frozen=True, slots=True)
class Place:
    """A repository with its journal open, to read and to write."""

    journal: Journal
    state_directory: Path
    work_tree: Path | None
    machines: Callable[[str], Machine]
    timeout: float


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


@contextmanager
def writable(call: Call) -> Iterator[Place]:
    """The journal to write to, made where there is none; its directory is kept out of git's sight."""
    from interlock.journal import open_journal
    from interlock.work.settings import in_force
    from interlock.world.machines import machine_finder

    start = call.directory
    root, _ = find_root(start)
    directory = state_directory(start)
    settings = in_force(root)
    find = machine_finder(call.environment, settings.enforcement)
    journal = open_journal(call.environment.get(DATABASE_URL) or directory / "journal.db", find)
    try:
        exclude_state(start)
        yield Place(journal, directory, _work_tree(start) or root, find, settings.timeout_minutes * 60.0)
    finally:
        journal.close()


def _work_tree(start: Path) -> Path | None:
    """The work tree around a directory: the main one, or one that is linked to it."""
    return next((one for one in (start, *start.parents) if (one / ".git").exists()), None)
