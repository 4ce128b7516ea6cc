"""The active thread: the one that a verb without an id is about. The journal names it; `active_thread` is a copy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from interlock.errors import NotFound, Refusal
from interlock.journal import Instance, Journal
from interlock.work.threads.store import ThreadFiles
from interlock.world.folder import Folder
from interlock.world.repository import WORK_TREES

__all__ = ["ACTIVE", "MACHINE", "active_thread", "decided_thread", "named_thread"]

MACHINE: Final = "thread"
ACTIVE: Final = "active"
"""The name that a thread takes when a person begins or chooses it."""
_LISTED: Final = 10


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
    if work_tree is None or work_tree.parent.resolve() != (state_directory / WORK_TREES).resolve():
        return None
    return next((one for one in journal.open_instances(MACHINE) if one.id == work_tree.name), None)


def _ambiguous(journal: Journal, why: str, candidates: Iterable[Instance]) -> Refusal:
    found = list(candidates)
    from interlock.work.threads.reading import read_thread

    lines = [f"…{one.id[-8:]} {read_thread(journal, one.id).title!r} ({one.state})" for one in found[:_LISTED]]
    more = [f"{len(found) - _LISTED} more"] if len(found) > _LISTED else []
    hint = "Name it after the verb, or choose it with `ralph thread use ID`."
    return Refusal("ambiguous_thread", f"{why}: {', '.join([*lines, *more])}.", hint)
