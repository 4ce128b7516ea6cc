"""What files hold in a commit or tree: read all at once, because each question to git costs a process."""

from __future__ import annotations

import os
from collections.abc import Iterable

from interlock.world.git.objects import GITLINK, files_of, read, sizes, tree_of
from interlock.world.git.private import GitRoot, opened

__all__ = ["contents"]


def contents(root: GitRoot, revision: str, paths: Iterable[str], *, most: int = 1 << 23) -> dict[str, bytes]:
    """The content of those of the paths that are files in a commit or tree, of at most so many bytes each.

    What a link holds is where it leads. What is no file there, or is larger, is left out.
    """
    wanted = {os.fsencode(path) for path in paths}
    if not wanted:
        return {}
    with opened(root) as repository:
        listed = files_of(repository, tree_of(repository, revision))
        blobs = {path: one.hash for path, one in listed.items() if path in wanted and one.mode != GITLINK}
        small = [name for name, (_, size) in sizes(repository, blobs.values()).items() if size <= most]
        found = read(repository, small)
        return {os.fsdecode(path): found[name].bytes for path, name in blobs.items() if name in found}
