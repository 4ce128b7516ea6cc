"""Threads, found and read, for whoever only looks: one by its id, the active one, and all of them.

A verb without an id is about the active thread. The journal names it; the file `active_thread` is a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from interlock.errors import NotFound, Refusal
from interlock.journal import Instance, Journal
from interlock.journal.entry import decode_evidence, decode_snapshot
from interlock.journal.reading import read_begun
from interlock.work.threads.store import ThreadFiles
from interlock.world.folder import Folder
from interlock.world.repository import WORK_TREES, own_tree

if TYPE_CHECKING:
    from interlock.work.threads.record import Thread

__all__ = [
    "ACTIVE",
    "MACHINE",
    "active_thread",
    "decided_thread",
    "find_thread",
    "listed",
    "named_thread",
    "read_thread",
]

MACHINE: Final = "thread"
ACTIVE: Final = "active"
"""The name that a thread takes when a person begins or chooses it."""
_LISTED: Final = 10


def find_thread(journal: Journal, reference: str) -> Instance:
    """A thread by its id or a suffix of it."""
    found = journal.instance(reference)
    if found.machine != MACHINE:
        message = f"{found.id} is a {found.machine}, not a thread."
        raise NotFound("unknown_instance", message, "`ralph thread list` shows the threads.")
    return found


def read_thread(journal: Journal, id_: str) -> Thread:
    from interlock.work.threads.replay import thread_of  # a list of threads replays none

    return thread_of(journal.history(id_))


def named_thread(journal: Journal) -> Instance | None:
    """The thread that the journal names as active; None in a journal older than that name."""
    return journal.named(MACHINE, ACTIVE)


def active_thread(journal: Journal, state_directory: Path) -> Instance | None:
    """The active thread, to look at. Where the journal names none, the file is believed."""
    return named_thread(journal) or _in_file(journal, state_directory)


def decided_thread(journal: Journal, state_directory: Path, work_tree: Path | None) -> str:
    """The id of the thread that a verb without an id changes; refuses where more than one can be meant.

    Where the journal names none, it is the only open thread, if the file does not say otherwise.
    """
    named = named_thread(journal)
    own = _of_work_tree(journal, state_directory, work_tree)
    if named is not None and (own is None or own.id == named.id):
        return named.id
    if named is not None and own is not None:
        why = f"The active thread is another one than that of this work tree, {work_tree}"
        raise _ambiguous(journal, why, (named, own))
    known = journal.instances(MACHINE)
    if not known:
        raise NotFound("unknown_thread", "There is no thread here.", 'Begin one: `ralph thread new "TITLE"`.')
    candidates = [one for one in known if one.outcome is None] or known
    if len(candidates) == 1:
        in_file = _in_file(journal, state_directory)
        if len(known) == 1 or (in_file is not None and in_file.id == candidates[0].id):
            return candidates[0].id
    raise _ambiguous(journal, "The journal does not say which thread is active", reversed(candidates))


def _in_file(journal: Journal, state_directory: Path) -> Instance | None:
    id_ = ThreadFiles(Folder(state_directory)).active()
    return next((one for one in journal.instances(MACHINE) if one.id == id_), None) if id_ else None


def _of_work_tree(journal: Journal, state_directory: Path, work_tree: Path | None) -> Instance | None:
    """The thread that has this work tree for itself."""
    if work_tree is None:
        return None
    here, state = work_tree.resolve(), state_directory.resolve()
    id_ = here.name if here.parent == state / WORK_TREES else here.parent.name
    if here not in (state / WORK_TREES / id_, own_tree(state, id_)):
        return None
    return next((one for one in journal.open_instances(MACHINE) if one.id == id_), None)


def _ambiguous(journal: Journal, why: str, candidates: Iterable[Instance]) -> Refusal:
    found = list(candidates)
    lines = [f"…{one.id[-8:]} {read_thread(journal, one.id).title!r} ({one.state})" for one in found[:_LISTED]]
    more = [f"{len(found) - _LISTED} more"] if len(found) > _LISTED else []
    hint = "Name it after the verb, or choose it with `ralph thread use ID`."
    return Refusal("ambiguous_thread", f"{why}: {', '.join([*lines, *more])}.", hint)


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
