"""Refs that are files of their own, read and written without starting git.

A ref is written as git writes it: into `<ref>.lock`, which no other git may have, then moved into its place. Where refs
are kept in another way, or anything is unusual, git does it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.world.git.private import Repository

__all__ = ["HASH", "REF_NAME", "has_files", "loose_ref", "protect_tree"]

HASH: Final = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\n?")
REF_NAME: Final = rb"((?!.*\.\.)(?:[\w-][\w.+#=-]*(?<!\.lock)/)*[\w-][\w.+#=-]*(?<!\.)(?<!\.lock))"
_PLAIN: Final = re.compile(rb"refs/" + REF_NAME)


def has_files(repository: Repository) -> bool:
    """True if the refs are files, as they are in nearly every repository."""
    return (repository.setting("extensions.refstorage") or "files") == "files"


def loose_ref(repository: Repository, ref: str) -> str | None:
    """The commit of a ref that is a file of its own; None if git has to be asked."""
    if not has_files(repository) or _PLAIN.fullmatch(ref.encode()) is None:
        return None
    try:
        written = (repository.private / "plain" / ref).read_bytes()
    except OSError:
        return None
    found = HASH.fullmatch(written)
    return found[1].decode("ascii") if found else None


def protect_tree(repository: Repository, name: str, tree: str) -> None:
    """Keep a tree that git has just written from being collected, by a ref of the agent's tree; it has no log."""
    ref = f"{repository.own_refs}/{name}"
    if loose_ref(repository, ref) == tree:
        return
    if not (has_files(repository) and _is_written(repository.common / ref, tree)):
        repository.run("update-ref", ref, tree)


def _is_written(path: Path, content: str) -> bool:
    """Write a ref, if it can be locked at once."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("ascii") + b"\n")
            file.flush()
            os.fsync(handle)
        lock.rename(path)
    except OSError:
        with suppress(OSError):
            lock.unlink()
        return False
    return True
