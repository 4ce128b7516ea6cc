"""Where a verification is done: a checkout of the exact tree in a temporary directory, or the work tree itself.

A checkout is named after the process that made it, so that what a crash left is found by whoever comes next, and
nobody's who is still at work is touched.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from interlock.world.git import export_tree, state, sweep_private
from interlock.world.processes import MARK_PATTERN, is_marked_alive, mark

__all__ = ["Snapshot", "checkout", "committed", "snapshot", "sweep"]

_PREFIX = "ralph-verify"
_NAME = re.compile(rf"{_PREFIX}-(?P<mark>{MARK_PATTERN})-[0-9a-f]+")

Snapshot = Mapping[str, str]
"""What the files of a directory are, by hash: made to be compared."""


@contextmanager
def checkout(root: Path, tree: str | None) -> Iterator[Path]:
    """The exact files of a tree or commit, in a directory that is gone afterwards; no files if there is no tree.

    It is not a repository, and in none.
    """
    whole = Path(tempfile.gettempdir()) / f"{_PREFIX}-{mark()}-{secrets.token_hex(8)}"
    whole.mkdir(mode=0o700)
    try:
        place = whole / root.name
        place.mkdir()
        if tree is not None:
            export_tree(root, tree, place, as_stored=True)
        yield place
    finally:
        _remove(whole)


def committed(root: Path) -> AbstractContextManager[Path]:
    """The files of the last commit of a checkout, in a directory that is gone afterwards."""
    return checkout(root, state(root).head)


def sweep() -> None:
    """Remove the checkouts and git directories of this user's processes that are certainly gone."""
    sweep_private()
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}-*"):
        found = _NAME.fullmatch(path.name)
        if found is None or is_marked_alive(found["mark"]) is not False:
            continue
        with suppress(OSError):
            seen = path.lstat()
            if stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid():
                _remove(path)


def _remove(whole: Path) -> None:
    """Remove a directory with everything below it, also what was made read-only, as package caches are."""
    for directory, names, _ in os.walk(whole):
        for name in names:
            path = Path(directory) / name
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(whole, ignore_errors=True)


def snapshot(directory: Path, paths: Iterable[str] | None = None) -> Snapshot:
    """What files below a directory are now: those paths, or all that there are."""
    return {path: _digest(directory / path) for path in (_files(directory) if paths is None else paths)}


def _files(directory: Path) -> Iterator[str]:
    for place, names, files in os.walk(directory):
        for name in [*files, *(one for one in names if (Path(place) / one).is_symlink())]:
            yield os.path.relpath(Path(place) / name, directory)


def _digest(path: Path) -> str:
    try:
        seen = path.lstat()
        if stat.S_ISLNK(seen.st_mode):
            return f"link {os.fsencode(path.readlink()).hex()}"
        if not stat.S_ISREG(seen.st_mode):
            return "no file"
        with path.open("rb") as file:
            return f"{seen.st_mode & 0o100:o} {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        return f"unreadable: {error.strerror}"
