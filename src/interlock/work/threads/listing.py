"""The threads of a repository: those of the journal, and what else lies where their files lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interlock.journal import Journal
from interlock.work.threads.active import active_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.store import ThreadFiles
from interlock.world.folder import Folder

__all__ = ["listed"]


def listed(journal: Journal, state_directory: Path) -> list[dict[str, Any]]:
    """Every thread, the one that changed last first; then what is no thread of this journal, with what it is.

    The journal says all of it in two queries. The files of its threads are not read: they follow from it.
    """
    active = active_thread(journal, state_directory)
    known = {one.id: one for one in journal.instances("thread")}
    first = journal.first_entries(list(known))
    rows: list[dict[str, Any]] = [
        {
            "id": one.id,
            "title": str(first[one.id].decoded_evidence().data.get("title", "")),
            "state": one.state,
            "mode": str(one.snapshot.settings.get("mode", Thread().mode)),
            "updated_at": one.updated,
            "is_active": active is not None and one.id == active.id,
        }
        for one in sorted(known.values(), key=lambda one: (one.updated, one.id), reverse=True)
    ]
    found = ThreadFiles(Folder(state_directory)).list_threads(beside=known)
    broken = [{"id": one.id, "corrupt": one.error.message} for one in found.unreadable]
    strange = [
        {"id": one.id, "corrupt": f"{one.title!r} has a file and is not in the journal; it is left alone"}
        for one in found.threads
    ]
    return rows + broken + strange
