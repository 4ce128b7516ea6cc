"""What is being done to a work tree in several steps, so that the next call after a crash knows its own beginning.

It is a file of ours in the git directory of the work tree, there from before the first step until after the last. It is
a hint and no authority: whoever writes a false one changes which beginning is looked for, and nothing is ever removed
on its word that is not kept.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
from msgspec.structs import asdict

from interlock.world.git.private import Repository

__all__ = ["MAKING", "MoveInProgress", "begin", "end", "is_half_made", "underway"]

MAKING = "ralph is making it\n"
"""The reason for which a linked work tree is locked until all of its files are there."""
_NAME = "ralph-move"
_MOST = 1 << 16


class MoveInProgress(msgspec.Struct, frozen=True):
    """A verb that has begun: on which branch, with which commit, and under which ref everything was kept first."""

    verb: str
    branch: str
    commit: str
    ref: str = ""


def underway(repository: Repository) -> MoveInProgress | None:
    """What somebody began here and has not ended."""
    try:
        opened = os.open(repository.git_directory / _NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(opened, "rb") as file:
            return MoveInProgress(**json.loads(file.read(_MOST)))
    except (OSError, ValueError, TypeError):
        return None


def begin(repository: Repository, move: MoveInProgress) -> None:
    """Say what is about to be done; it is on the disk when this returns."""
    place = repository.git_directory / _NAME
    new = place.with_name(f"{_NAME}.new")
    new.unlink(missing_ok=True)
    with new.open("x", encoding="ascii") as file:
        json.dump(asdict(move), file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(place)
    directory = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def end(repository: Repository) -> None:
    """Say that it is done."""
    (repository.git_directory / _NAME).unlink(missing_ok=True)


def is_half_made(git_directory: Path) -> bool:
    """True if the process that made a linked work tree died before all files were there."""
    try:
        return (git_directory / "locked").read_text(encoding="utf-8", errors="replace") == MAKING
    except OSError:
        return False
