"""What hooks saw is taken in; a session whose agent is gone ends as a time-out.

Whoever has the journal open does this first, by `refresh`: the MCP server, `ralph serve`, every look, every driver.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from interlock.errors import InterlockError
from interlock.journal import Journal, Transaction, open_journal
from interlock.journal.ids import time_text
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.lease_holders import is_present
from interlock.work.formats.times import seconds_of
from interlock.work.sessions.findings import WrittenFile, may_write
from interlock.work.sessions.record import record_of
from interlock.work.sessions.verbs import MACHINE, complete, end_if_gone, find_session, note
from interlock.world.ancestry import host
from interlock.world.git import Repository, file_names
from interlock.world.inbox import pending, take, waiting
from interlock.world.place import Place
from interlock.world.processes import client_process

__all__ = ["adopt", "end_lost", "take_in", "written_beside", "written_in_state", "written_since"]

_HOOK = Actor(ActorKind.SYSTEM, "ralph-hook", Channel.HOOK)
_MOST_FILES = 200_000
_MOST_BESIDE = 200


def end_lost(journal: Journal, state_directory: Path | None = None) -> list[str]:
    """End every session whose agent is gone; their ids."""
    ended = []
    for resource in journal.lost(f"{MACHINE}:", is_present):
        session = resource.partition(":")[2]
        written = written_since(journal, session, state_directory)

        def work(transaction: Transaction, session: str = session, written: list[WrittenFile] = written) -> bool:
            return end_if_gone(transaction, session, written)

        if journal.transact(work):
            ended.append(session)
    return ended


def take_in(journal: Journal, state_directory: Path) -> int:
    """Every observation that waits becomes an entry, once: its file's name is the entry's key. How many there were."""
    seen: set[str] = set()
    # One that cannot be taken away, a directory for one, is not waited for.
    while paths := [path for path in waiting(str(state_directory)) if path not in seen]:

        def work(transaction: Transaction, paths: list[str] = paths) -> list[str]:
            return [session for path in paths if (session := _enter(transaction, path)) is not None]

        for session in journal.transact(work):
            why = "the agent ended without completing the session"
            written = written_since(journal, session, state_directory)
            _unless_completed(journal, complete(session, "timeout", _HOOK, why, written=written))
        seen.update(paths)
        for path in paths:
            take(path)
    return len(seen)


def _enter(transaction: Transaction, path: str) -> str | None:
    """Write one observation down; the session, where its agent has ended and it has not."""
    found = pending(path)
    if found is None:
        return None
    session, at, seen = found
    type_ = str(seen.pop("type", "progress"))
    ended = seen.pop("ended", False)
    try:
        note(session, type_, _HOOK, seen | {"at": time_text(at)}, key=f"inbox:{Path(path).name}")(transaction)
        return session if ended and find_session(transaction, session).outcome is None else None
    except (InterlockError, ValueError, OverflowError):
        return None  # a file that no hook of ours left: there is no such session, or no such note


def _unless_completed(journal: Journal, work: Callable[[Transaction], object]) -> None:
    try:
        journal.transact(work)
    except InterlockError as error:
        if error.code != "session_completed":
            raise


def adopt(address: str, session: str) -> None:
    """Bind a session to the agent's process above this one, so that the hook finds it by that."""
    process = client_process()
    if process is None:
        return
    journal = open_journal(address if "://" in address else Path(address))
    try:
        told = {"message": "the hook found its agent"}
        journal.transact(note(session, "progress", _HOOK, told, names=[process.name]))
    finally:
        journal.close()


def written_since(
    journal: Journal,
    reference: str,
    state_directory: Path | None,
    repository: Repository | None = None,
    changed: Sequence[str] | None = None,
) -> list[WrittenFile]:
    """The files of a session's work tree that were written since it began; none where that cannot be known.

    `repository` is that of the work tree, where it is open already. With `changed` paths, no others are looked at.
    """
    try:
        record = record_of(journal.history(reference))
        directory = _directory(record.place, state_directory)
        if directory is None or not record.started:
            return []
        if changed is not None:
            return _since(directory, map(os.fsencode, changed), record.started)
        return _written(directory, record.started, repository)
    except InterlockError:
        return []


def written_in_state(journal: Journal, reference: str, state_directory: Path | None) -> list[WrittenFile]:
    """The files that were written since a session came into its state; none where the state allows to write."""
    try:
        session = find_session(journal, reference)
        if session.outcome is not None or may_write(journal.machine_of(session), session.state):
            return []
        record = record_of(journal.history(session.id))
        directory = _directory(record.place, state_directory)
        return [] if directory is None else _written(directory, record.stays[-1].since)
    except InterlockError:
        return []


def written_beside(journal: Journal, reference: str, main: Path) -> list[WrittenFile]:
    """The files of the repository's own work tree that were written while a session worked in another one.

    Whose they are nobody can know; none where another session was at work there in that time.
    """
    try:
        record = record_of(journal.history(reference))
        if record.place is None or record.place.directory(main) == main:
            return []
        others = [one.id for one in journal.recent(MACHINE, _MOST_BESIDE) if one.updated >= record.started]
        begun = [one.decoded_evidence().data for one in journal.first_entries(others).values()]
        if any(place.directory(main) == main for one in begun if (place := Place.of(one)) is not None):
            return []
        return _written(main, record.started)
    except InterlockError:
        return []


def _directory(place: Place | None, state_directory: Path | None) -> Path | None:
    """The directory of a session's place; None if that is unknown, or on another host."""
    if place is None or place.host not in ("", host()):
        return None
    if state_directory is None:
        return Path(place.path) if Path(place.path).is_absolute() else None
    return place.directory(state_directory.parent)


def _written(root: Path, started: str, repository: Repository | None = None) -> list[WrittenFile]:
    """Return the files with a time after a session began.

    They are only for findings, which must never name a file wrongly. The clock of files lags behind that of entries,
    so a file that was written just after the session began may be missing.
    """
    return _since(root, file_names(repository or root)[:_MOST_FILES], started)


def _since(root: Path, names: Iterable[bytes], started: str) -> list[WrittenFile]:
    since, top = seconds_of(started), os.fsencode(root) + b"/"
    written = [WrittenFile(os.fsdecode(name), at) for name in names if (at := _last_written(top + name)) > since]
    return sorted(written, key=lambda one: one.at)


def _last_written(path: bytes) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
