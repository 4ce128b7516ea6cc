"""Files that are looked at again and again: read only where they may have changed since.

A file is told by its inode, its size and its times, of which nobody can put back the last. One that was changed so
shortly before it was looked at that its next change could bear the same time is read again.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from interlock.work.formats.times import FILE_CLOCK_LAG

__all__ = ["FileHashes", "stamp"]

_MARGIN = int(FILE_CLOCK_LAG * 1e9)
"""Nanoseconds after a change until the next change has another time."""
Mark = tuple[int, int, int, int, int]


class FileHashes(msgspec.Struct):
    """The hashes of files."""

    _known: dict[str, tuple[Mark, str]] = msgspec.field(default_factory=dict)

    def hash(self, path: str) -> str | None:
        """The hash of a file; None where there is none, or it is something else than a file."""
        try:
            mark = _mark(os.lstat(path))
            known = self._known.get(path)
            if known is not None and known[0] == mark:
                return known[1]
            began = time.time_ns()
            content = Path(path).read_bytes() if stat.S_ISREG(mark[0]) else None
        except OSError:
            return None
        if content is None:
            return None
        found = hashlib.sha256(content).hexdigest()
        self._known.pop(path, None)
        if max(mark[3], mark[4]) + _MARGIN < began:
            self._known[path] = (mark, found)
        return found


def _mark(seen: os.stat_result) -> Mark:
    return seen.st_mode, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def stamp(directories: Iterable[str]) -> tuple[tuple[str, Mark | None], ...] | None:
    """What changes when a name appears in one of these directories or goes; None where one has changed just now."""
    now = time.time_ns()
    found: list[tuple[str, Mark | None]] = []
    for path in directories:
        try:
            mark = _mark(os.lstat(path))
        except OSError:
            found.append((path, None))
            continue
        if max(mark[3], mark[4]) + _MARGIN >= now:
            return None
        found.append((path, mark))
    return tuple(found)
