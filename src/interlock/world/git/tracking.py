"""Paths that a repository tracks, found without starting git where that is possible."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

__all__ = ["is_tracked"]

_PATHSPECS = {"GIT_LITERAL_PATHSPECS": "0", "GIT_ICASE_PATHSPECS": "1"}
"""Without regard to case: `.Ralf` is `.ralf` on many file systems."""
_HEADER = 12
_COMPRESSED = 4
"""The version of an index in which a path holds only what differs from the path before it."""


def is_tracked(root: Path, git_directory: Path, name: str) -> bool:
    """True if the index of a work tree holds the directory `name`, or anything in it."""
    try:
        found = (git_directory / "index").stat()
    except OSError:
        return False
    return _is_tracked(root, git_directory, name, (found.st_ino, found.st_size, found.st_mtime_ns))


@lru_cache(maxsize=8)
def _is_tracked(root: Path, git_directory: Path, name: str, index: tuple[int, ...]) -> bool:
    return _may_hold(git_directory, name) and _holds(root, name)


def _may_hold(git_directory: Path, name: str) -> bool:
    """False if the bytes of the index rule it out, which spares most commands a process."""
    try:
        paths = [git_directory / "index", *git_directory.glob("sharedindex.*")]
        for path in paths:
            raw = path.read_bytes()
            version = int.from_bytes(raw[4:8], "big")
            if raw[:4] != b"DIRC" or version >= _COMPRESSED or name.encode() in raw[_HEADER:].lower():
                return True
    except OSError:
        return True
    return False


def _holds(root: Path, name: str) -> bool:
    from interlock.world.git.private import opened

    with opened(root) as repository:
        answer = repository.ask("ls-files", "-z", "--", name, most=1, environment=_PATHSPECS)
    return bool(answer.output) or answer.status != 0
