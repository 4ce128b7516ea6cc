"""The threads of a repository: those of the journal, and what else lies where their files lie."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interlock.journal import Journal
from interlock.journal.entry import decode_evidence, decode_snapshot
from interlock.journal.reading import read_begun
from interlock.work.threads.active import MACHINE, active_thread
from interlock.work.threads.store import ThreadFiles
from interlock.world.folder import Folder

__all__ = ["listed"]


def listed(journal: Journal, state_directory: Path) -> list[dict[str, Any]]:
    """Every thread, the one that changed last first; then what is no thread of this journal, with what it is.

    The journal says all of it in one query. The files of its threads are not read: they follow from it.
    """
    active = active_thread(journal, state_directory)
    active_id = active.id if active is not None else None
    known = {row[0]: row for row in journal.ask(read_begun, MACHINE)}
    newest = sorted(known.values(), key=lambda row: (row[2], row[0]), reverse=True)
    rows: list[dict[str, Any]] = [
        {
            "id": id_,
            "title": str(decode_evidence(evidence).data.get("title", "")),
            "state": state,
            "mode": _mode(decode_snapshot(data).settings),
            "updated_at": updated,
            "is_active": id_ == active_id,
        }
        for id_, state, updated, data, evidence in newest
    ]
    found = ThreadFiles(Folder(state_directory)).list_threads(beside=known)
    broken = [{"id": one.id, "corrupt": one.error.message} for one in found.unreadable]
    strange = [
        {"id": one.id, "corrupt": f"{one.title!r} has a file and is not in the journal; it is left alone"}
        for one in found.threads
    ]
    return rows + broken + strange


def _mode(settings: Mapping[str, Any]) -> str:
    if "mode" in settings:
        return str(settings["mode"])
    from interlock.work.threads.record import Thread

    return Thread().mode
