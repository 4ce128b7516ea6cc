"""Ignored paths that are taken along into a checkout: copied as they are, and known by their hash."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from interlock.work.formats.quoting import shown
from interlock.work.verification.receipt import Carried
from interlock.world.agents.running import StopSignal

__all__ = ["carry"]


def carry(root: Path, path: str, place: Path, stop: StopSignal) -> Carried | str | None:
    """Copy what is at a path of the work tree into a checkout; why it cannot be, or None where it was stopped.

    The hash is of what was copied, name by name: kind, whether it may be run, and content. Links stay links.
    """
    source, target = root / path, place / path
    if not os.path.lexists(source):
        return f"{path} cannot be carried: it is not there"
    if os.path.lexists(target):
        return f"{path} cannot be carried: the tree itself has it, so it is not ignored"
    digest, files, size = hashlib.sha256(), 0, 0
    try:
        if not source.parent.resolve().is_relative_to(root.resolve()):
            return f"{path} cannot be carried: it lies outside of the repository"
        if not target.parent.resolve().is_relative_to(place.resolve()):
            return f"{path} cannot be carried: a link in the tree leads out of it"
        target.parent.mkdir(parents=True, exist_ok=True)
        for name in _names(source):
            if stop.is_set():
                return None
            kind, content = _copied(source / name, target / name)
            digest.update(b"%s\0%s\0%s\n" % (kind, os.fsencode(name), content))
            files += kind != b"directory"
            size += 0 if kind in (b"directory", b"link") else (target / name).lstat().st_size
    except OSError as error:
        return f"{path} cannot be carried: {error.strerror or error} ({shown(str(error.filename))})"
    return Carried(path, digest.hexdigest(), files, size)


def _names(source: Path) -> Iterator[str]:
    """Everything at and below a path, relative to it, always in the same order."""
    yield "."
    if source.is_symlink() or not source.is_dir():
        return
    for directory, names, files in os.walk(source, onerror=_raise):
        names.sort()
        for name in sorted([*names, *files]):
            yield os.path.relpath(Path(directory) / name, source)


def _raise(error: OSError) -> None:
    raise error


def _copied(source: Path, target: Path) -> tuple[bytes, bytes]:
    """Copy one thing; what it is, and its content by hash."""
    seen = source.lstat()
    if stat.S_ISLNK(seen.st_mode):
        leads = os.readlink(source)  # noqa: PTH115 - as it is written
        target.symlink_to(leads)
        return b"link", os.fsencode(leads).hex().encode()
    if stat.S_ISDIR(seen.st_mode):
        target.mkdir(exist_ok=True)
        return b"directory", b""
    if not stat.S_ISREG(seen.st_mode):
        raise OSError(0, "it is no file, directory or link", str(source))
    shutil.copy2(source, target)
    with target.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest().encode()
    return b"program" if seen.st_mode & stat.S_IXUSR else b"file", content
