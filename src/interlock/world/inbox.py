"""What hooks saw, left for the next process that has the journal open.

Writing an entry means importing the journal, and a hook has no time for that: it runs before and after every
tool call. So it leaves a small file, whole or not at all, and whoever has the journal open takes it in. The
file's name is the entry's key, so that one taken in twice is written once. Every other file that lies there is
taken for nothing and cleared away.
"""

from __future__ import annotations

import os
import time

__all__ = ["drop", "pending", "place", "take", "waiting"]

_DIRECTORY = "inbox"
_MAX_BYTES = 64 * 1024
_MOST = 500
_PART = ".part"
_NO_ROOM = 28  # ENOSPC, everywhere
_ABANDONED_SECONDS = 3600.0
_LATEST = 253_402_300_799 * 1_000_000_000
"""The last second that has a date; beyond it is no time that a clock said."""


def place(state_directory: str) -> str:
    """The directory that they are left in; it is made with the first of them."""
    return os.path.join(state_directory, _DIRECTORY)


def drop(state_directory: str, session: str, note: dict[str, object]) -> None:
    """Leave one observation of a session."""
    import json

    directory = place(state_directory)
    for one in (state_directory, directory):
        os.makedirs(one, mode=0o700, exist_ok=True)
    now = time.time_ns()
    name = os.path.join(directory, f"{now:020d}-{os.getpid()}")
    content = json.dumps({"session": session, "at": now, "note": note}).encode("utf-8", "replace")
    descriptor = os.open(f"{name}{_PART}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if os.write(descriptor, content) != len(content):
            raise OSError(_NO_ROOM, "there is no room for it")
        os.rename(f"{name}{_PART}", f"{name}.json")
    except OSError:
        take(f"{name}{_PART}")
        raise
    finally:
        os.close(descriptor)


def waiting(state_directory: str) -> list[str]:
    """The files that wait, oldest first, some hundreds at a time; none that is still being written."""
    directory = place(state_directory)
    try:
        with os.scandir(directory) as found:
            names = sorted(one.name for one in found if not one.is_dir(follow_symlinks=False) and _is_over(one))
    except OSError:
        return []
    # Where nothing can be taken away, taking in would never come to an end.
    return [os.path.join(directory, name) for name in names[:_MOST]] if os.access(directory, os.W_OK) else []


def _is_over(one: os.DirEntry[str]) -> bool:
    """Whether a file is whole, or was given up by a hook that was killed."""
    if not one.name.endswith(_PART):
        return True
    try:
        return time.time() - one.stat(follow_symlinks=False).st_mtime > _ABANDONED_SECONDS
    except OSError:
        return False


def pending(path: str) -> tuple[str, int, dict[str, object]] | None:
    """What one file says: the session, when, and the note; None where it is no observation of ours."""
    import json

    try:
        # What is no plain file could lead elsewhere, or make us wait forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        found = json.loads(raw) if raw and len(raw) <= _MAX_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    session, at, note = found.get("session"), found.get("at"), found.get("note")
    if not (isinstance(session, str) and type(at) is int and 0 <= at <= _LATEST and isinstance(note, dict)):
        return None
    is_flat = all(value is None or isinstance(value, str | int | float) for value in note.values())
    return (session, at, note) if is_flat else None


def take(path: str) -> None:
    """It was taken in; another process may have been faster."""
    try:
        os.unlink(path)
    except OSError:
        return
