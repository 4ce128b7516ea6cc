"""What files hold in a commit or tree: read all at once, because each question to git costs a process."""

from __future__ import annotations

import os
from collections.abc import Iterable

from interlock.errors import InterlockError
from interlock.world.git.private import Place, opened

__all__ = ["contents"]


def contents(root: Place, revision: str, paths: Iterable[str], *, most: int = 1 << 23) -> dict[str, bytes]:
    """The content of those of the paths that are files in a commit or tree, of at most so many bytes each.

    What a link holds is where it leads. What is no file there, or is larger, is left out.
    """
    wanted = {os.fsencode(path) for path in paths}
    if not wanted:
        return {}
    with opened(root) as repository:
        listed = repository.run("ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", revision)
        blobs: dict[bytes, bytes] = {}
        for record in listed.split(b"\0")[:-1]:
            described, _, name = record.partition(b"\t")
            _, kind, blob, size = described.split()
            if name in wanted and kind == b"blob" and int(size) <= most:
                blobs[name] = blob
        feed = b"".join(blob + b"\n" for blob in blobs.values())
        answer = repository.run("cat-file", "--batch", feed=feed) if blobs else b""
    found: dict[str, bytes] = {}
    place = 0
    for name in blobs:
        end = answer.index(b"\n", place)
        header = answer[place:end].split()
        if len(header) != 3:
            message = f"Git has not got the content of {os.fsdecode(name)!r} in {root}."
            raise InterlockError("git_failed", message, "Look at it with `git fsck`.")
        place = end + 1 + int(header[2])
        found[os.fsdecode(name)] = answer[end + 1 : place]
        place += 1
    return found
