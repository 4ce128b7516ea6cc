"""Files that are looked at again and again: read only where they may have changed since.

A file is told by its inode, its size and its times, of which nobody can put back the last. One that was changed so
shortly before it was looked at that its next change could bear the same time is read again.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable

import msgspec

from interlock.work.driver.ports import Files, real_ports
from interlock.world.files import FileMark

__all__ = ["FileHashes", "stamp"]


class FileHashes(msgspec.Struct):
    """The hashes of files."""

    files: Files = msgspec.field(default_factory=lambda: real_ports().files)
    _known: dict[str, tuple[FileMark, str]] = msgspec.field(default_factory=dict)

    def hash(self, path: str) -> str | None:
        """Return the hash of a file; None if it is missing, or is not a regular file."""
        directory, _, name = path.rpartition("/")
        return self.hashes(directory, [name])[name]

    def hashes(self, root: str, names: Iterable[str]) -> dict[str, str | None]:
        """Return `hash` of each file below a directory."""
        found: dict[str, str | None] = {}
        mark_of = self.files.mark
        for name in names:  # kept simple: it is done for every story, several times in an iteration
            path = f"{root}/{name}"
            mark, known = mark_of(path), self._known.get(path)
            found[name] = known[1] if known is not None and known[0] == mark else self._read(path, mark)
        return found

    def _read(self, path: str, mark: FileMark | None) -> str | None:
        if mark is None or not stat.S_ISREG(mark[0]):
            return None
        is_settled = self.files.is_settled(mark)
        content = self.files.read_file(path)
        if content is None:
            return None
        found = hashlib.sha256(content).hexdigest()
        self._known.pop(path, None)
        if is_settled:
            self._known[path] = (mark, found)
        return found


def stamp(directories: Iterable[str], files: Files | None = None) -> tuple[tuple[str, FileMark | None], ...] | None:
    """Return a value that changes when a name in one of these directories does; None if one has changed just now."""
    files = files or real_ports().files
    found = tuple((path, files.mark(path)) for path in directories)
    return found if all(mark is None or files.is_settled(mark) for _, mark in found) else None
