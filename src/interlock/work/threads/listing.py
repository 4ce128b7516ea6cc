"""The threads of a repository: those of the journal, and what else lies where their files lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interlock.journal import Journal
from interlock.work.threads.active import active_thread
from interlock.work.threads.reading import read_thread
from interlock.work.threads.store import ThreadFiles

__all__ = ["listed"]


def listed(journal: Journal, state_directory: Path) -> list[dict[str, Any]]:
    """Every thread, the one that changed last first; then what is no thread of this journal, with what it is."""
    files = ThreadFiles(state_directory)
    active, found = active_thread(journal, state_directory), files.list_threads()
    known = {one.id for one in journal.instances("thread")}
    threads = [read_thread(journal, id_) for id_ in known]
    rows: list[dict[str, Any]] = [
        {
            "id": one.id,
            "title": one.title,
            "phase": one.state,
            "mode": one.mode,
            "updated_at": one.updated,
            "is_active": active is not None and one.id == active.id,
        }
        for one in sorted(threads, key=lambda one: (one.updated, one.id), reverse=True)
    ]
    broken = [{"id": one.id, "corrupt": one.error.message} for one in found.unreadable]
    strange = [
        {"id": one.id, "corrupt": f"{one.title!r} has a file and is not in the journal; it is left alone"}
        for one in found.threads
        if one.id not in known
    ]
    return rows + broken + strange
