"""A projection that dies: in a process of its own, at one call of the operating system after the other.

    python -m work.threads.mortal DIRECTORY

Each death leaves its files in a directory of its own, named by the number of the call. The last one died at none.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from interlock.work.formats.hashing import sha256_of
from interlock.work.threads.phases import Iterated, Phase, ThreadFile, written
from interlock.work.threads.projection import ThreadProjection, project
from interlock.work.threads.store import ThreadFiles
from interlock.world.folder import Folder
from work.threads.views import ANSWERED, ASKED, HEADING, RUN, view
from world.failing import failing

__all__ = ["AFTER", "BEFORE", "MOST", "start", "whole"]

DIED = 86
MOST = 300
"""More calls than there are."""
BEFORE = view(phase=Phase("Running", Iterated(3)))
AFTER = view(phase=Phase("Verifying", Iterated(3)))
OURS = {sha256_of(written(BEFORE)), sha256_of(written(AFTER))}


def whole(one: ThreadFile = AFTER) -> ThreadProjection:
    """All that can be projected of a thread."""
    return ThreadProjection(one, {1: "# One\n", 2: "# Two\n"}, (RUN,), (HEADING, (ASKED, ANSWERED)), OURS.__contains__)


def start(path: Path) -> ThreadFiles:
    """Files of a thread before its move, with an edit of somebody's in them, and one of them gone."""
    files = ThreadFiles(Folder(path))
    project(files, [whole(BEFORE)], lambda _: None)
    files.folder.write("threads/abc123/spec/v1.md", b"# Edited\n")
    files.folder.remove("runs/run-001/run.json")
    return files


def _die(files: ThreadFiles, at: int) -> int:
    """Project in a child that dies at the n-th call; gives its exit status."""
    child = os.fork()
    if not child:
        with pytest.MonkeyPatch.context() as patch:
            system = failing(patch, at, lambda: os._exit(DIED))
            failed = project(files, [whole(AFTER)], lambda _: None)
        os._exit(0 if system.calls < at and not failed else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _main(directory: Path) -> None:
    for at in range(1, MOST):
        status = _die(start(directory / str(at)), at)
        if status != DIED:
            sys.exit(status)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
