"""Refs that are files of their own, read without starting git; where anything is unusual, git is asked."""

from __future__ import annotations

import re
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
    if loose_ref(repository, ref) != tree:
        repository.run("update-ref", ref, tree)
