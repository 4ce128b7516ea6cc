"""Whether somebody changed what git would run for the user: settings, hooks, attributes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from interlock.world.git.private import opened

__all__ = ["fingerprint_of_settings"]

_CHUNK = 1 << 16
_DATA = ("objects", "refs", "logs", "rr-cache", "lfs")


def fingerprint_of_settings(root: Path) -> str:
    """A hash over all that decides which programs the user's own git runs here: the repository's settings with the
    files that they include, its hooks and its attributes, and the same of its submodules; the user's settings are
    left out. Nothing of it is run, and a link in it is not followed.
    """
    with opened(root) as repository:
        found = hashlib.sha256()
        for one in repository.settings:
            if not one.is_users:
                _add(found, "setting", one.scope, one.name, one.value)
        common, own = repository.common, repository.git_directory
        for path in (common / "config", own / "config.worktree", common / "info" / "attributes"):
            _add_file(found, path, common)
        for place in (common / "hooks", common / "modules"):
            for path in _files(place):
                if place.name == "hooks" or _decides(path.relative_to(place)):
                    _add_file(found, path, common)
        return found.hexdigest()


def _decides(path: Path) -> bool:
    return (
        path.name in ("config", "config.worktree") or "hooks" in path.parts or path.parts[-2:] == ("info", "attributes")
    )


def _files(place: Path) -> Iterator[Path]:
    """Everything below a directory that is no directory, but for what is only data of git."""
    for directory, names, files in os.walk(place):
        links = [name for name in names if (Path(directory) / name).is_symlink()]
        names[:] = sorted(name for name in names if name not in _DATA and name not in links)
        yield from (Path(directory) / name for name in sorted([*files, *links]))


# The kind and the length of each part go into the hash, so that no two sets of parts look alike.


def _add(found: hashlib._Hash, *parts: str) -> None:
    for part in parts:
        content = os.fsencode(part)
        found.update(b"%d:" % len(content) + content)


def _add_file(found: hashlib._Hash, path: Path, common: Path) -> None:
    try:
        seen = path.lstat()
    except FileNotFoundError:
        return
    name = str(path.relative_to(common)) if path.is_relative_to(common) else path.name
    _add(found, "file", name, oct(seen.st_mode))
    if stat.S_ISLNK(seen.st_mode):
        _add(found, str(path.readlink()))
    elif stat.S_ISREG(seen.st_mode):
        content = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                content.update(chunk)
        _add(found, content.hexdigest())
