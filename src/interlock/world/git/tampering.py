"""Whether somebody changed what git would run for the user: settings, hooks, attributes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from interlock.world.git.private import opened

__all__ = ["FINGERPRINT_VERSION", "fingerprint_of_settings"]

FINGERPRINT_VERSION = "2:"
"""Begins each fingerprint; one without it is of an earlier version and cannot be compared."""
_CHUNK = 1 << 16
_DATA = ("objects", "refs", "logs", "rr-cache", "lfs")


def fingerprint_of_settings(root: Path) -> str:
    """A hash over all that decides which programs the user's own git runs here: the repository's settings with the
    files that they include, its hooks and its attributes, and the same of its submodules; the user's settings are
    left out, and so is what git itself notes of a branch, such as its upstream. Nothing of it is run, and a link in it
    is not followed.
    """
    with opened(root) as repository:
        found = hashlib.sha256()
        for one in repository.settings:
            if not one.is_users and not one.name.startswith("branch."):
                _add(found, "setting", one.scope, one.name, one.value)
        common = repository.common
        for path in (repository.git_directory / "config.worktree", common / "info" / "attributes"):
            _add_file(found, path, common)
        for place in (common / "hooks", common / "modules"):
            for path in _files(place):
                if place.name == "hooks" or _decides(path.relative_to(place)):
                    _add_file(found, path, common)
        return f"{FINGERPRINT_VERSION}{found.hexdigest()}"


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
