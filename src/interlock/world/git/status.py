"""What git says of a work tree now: where HEAD is, what is under way, and what differs from what."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
from collections.abc import Collection
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

import msgspec

from interlock.errors import InterlockError
from interlock.world.git.entries import has_unseen_entries
from interlock.world.git.private import GitRoot, Repository, opened
from interlock.world.git.references import HASH, REF_NAME, has_files, loose_ref

__all__ = [
    "UNUSUAL",
    "Operation",
    "PathStatus",
    "WorkTreeStatus",
    "branch_in",
    "branch_of",
    "head_of",
    "hidden_of",
    "ignored_among",
    "nested_files",
    "operation_of",
    "raw_hash",
    "state",
    "statuses",
    "unusual_among",
]


UNUSUAL = "unusual.json"
"""The file of an agent's tree with the files that git would store in another way than the base does."""


class Operation(StrEnum):
    """What somebody began in a work tree and has not ended."""

    MERGE = "merge"
    REBASE = "rebase"
    CHERRY_PICK = "cherry-pick"
    REVERT = "revert"


_ON_A_BRANCH = re.compile(rb"ref: refs/heads/" + REF_NAME + rb"\n?")
"""HEAD on a branch whose name leaves no doubt; of any other git is asked."""
_MARKS = {
    "MERGE_HEAD": Operation.MERGE,
    "rebase-merge": Operation.REBASE,
    "rebase-apply": Operation.REBASE,
    "CHERRY_PICK_HEAD": Operation.CHERRY_PICK,
    "REVERT_HEAD": Operation.REVERT,
}


class WorkTreeStatus(msgspec.Struct, frozen=True):
    """A work tree as it is now. Paths are relative to it, and every byte of a name survives in them."""

    head: str | None
    """The commit checked out; None where the branch has none yet."""
    branch: str | None
    """The branch checked out; None where HEAD is detached."""
    operation: Operation | None
    conflicts: tuple[str, ...]
    staged: tuple[str, ...]
    unstaged: tuple[str, ...]
    untracked: tuple[str, ...]
    nested: tuple[str, ...]
    """Repositories inside the work tree that it does not know; they are never committed, kept or removed."""
    hidden: tuple[str, ...]
    """Changed files that git was told not to look at (`--assume-unchanged`, `--skip-worktree`)."""

    @property
    def is_clean(self) -> bool:
        """True if the work tree and the index are what HEAD has."""
        return not self.changed

    @property
    def changed(self) -> tuple[str, ...]:
        """Every path that is not as it was committed, sorted."""
        return tuple(sorted({*self.conflicts, *self.staged, *self.unstaged, *self.untracked}))


class PathStatus(msgspec.Struct, frozen=True):
    """How one path differs: in the index from HEAD, and in the work tree from the index; `.` is not at all."""

    path: str
    in_index: str
    in_tree: str
    is_submodule: bool = False

    @property
    def is_conflict(self) -> bool:
        return self.in_index == "U"

    @property
    def is_absent(self) -> bool:
        """Whether the work tree has no such file, or has it under another entry, as untracked."""
        return self.in_tree == "D" or (self.in_index == "D" and self.in_tree == ".")

    @property
    def is_untracked(self) -> bool:
        return self.in_tree == "?"

    @property
    def is_nested(self) -> bool:
        return self.is_untracked and self.path.endswith("/")


def state(root: GitRoot) -> WorkTreeStatus:
    """The state of a work tree."""
    with opened(root) as repository:
        all_of_them = statuses(repository)
        found = [one for one in all_of_them if not one.is_nested]
        return WorkTreeStatus(
            head=head_of(repository),
            branch=branch_of(repository),
            operation=operation_of(repository),
            conflicts=tuple(one.path for one in found if one.is_conflict),
            staged=tuple(one.path for one in found if one.in_index not in "U?."),
            unstaged=tuple(one.path for one in found if not one.is_conflict and one.in_tree not in "?."),
            untracked=tuple(one.path for one in found if one.is_untracked),
            nested=tuple(one.path for one in all_of_them if one.is_nested),
            hidden=hidden_of(repository),
        )


def head_of(repository: Repository) -> str | None:
    """The commit checked out; None where the branch has none yet."""
    branch = branch_of(repository)
    if branch is not None and (known := loose_ref(repository, f"refs/heads/{branch}")) is not None:
        return known
    head = repository.found("rev-parse", "--verify", "--quiet", "HEAD")
    if head is None and branch is None:
        message = f"HEAD of {repository.git_directory} leads to no commit."
        raise InterlockError("git_failed", message, "Look at it with `git fsck`.")
    return head


def branch_of(repository: Repository) -> str | None:
    """The branch checked out; None where HEAD is detached."""
    written = (repository.private / "plain" / "HEAD").read_bytes()
    if has_files(repository) and (named := branch_in(written)) is not None:
        return named
    if has_files(repository) and HASH.fullmatch(written):
        return None
    name = repository.found("symbolic-ref", "--quiet", "HEAD") or ""
    return name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None


def branch_in(head: bytes) -> str | None:
    """The branch that the text of HEAD names; None if git has to be asked. With reftables, it names none."""
    found = _ON_A_BRANCH.fullmatch(head)
    return found[1].decode("ascii") if found else None


def operation_of(repository: Repository) -> Operation | None:
    """What is under way in the work tree."""
    return next((what for mark, what in _MARKS.items() if (repository.git_directory / mark).exists()), None)


def statuses(repository: Repository, index: Path | None = None, exclude: Collection[str] = ()) -> list[PathStatus]:
    """Every path that differs, sorted by git. A submodule is looked at from outside: git does not run in it.

    What git finds out about unchanged files is written into the private index, so that it need not read them twice.
    What is excluded by its very path is left out; that is all, and may be much.
    """
    _ = repository.work_tree
    words = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames")
    listed = repository.run(*words, index=index, environment={"GIT_OPTIONAL_LOCKS": "1"})
    paths, untracked = _records_of(tuple(exclude))
    records = [one for one in listed.split(b"\0") if one and one not in untracked]
    if paths:  # a record of a tracked file ends with its path, which has eight fields before it
        records = [one for one in records if one.startswith(b"?") or one.split(b" ", 8)[-1] not in paths]
    found = [_status(repository, record) for record in records]
    return _all_files(repository, found) if repository.is_own else found


def _all_files(repository: Repository, found: list[PathStatus]) -> list[PathStatus]:
    """In an agent's tree, a submodule stays as it is and any other repository is only files."""
    nested = [os.fsencode(one.path) for one in found if one.is_nested]
    files = [PathStatus(os.fsdecode(path), "?", "?") for path in nested_files(repository, nested)] if nested else []
    modified = [os.fsencode(one.path) for one in found if (one.in_index, one.in_tree) == (".", "M")]
    same = {os.fsdecode(path) for path in unusual_among(repository, modified)} if modified else set()
    same |= {one.path for one in found if one.is_submodule and one.in_tree == "M"}
    return [one for one in found if not one.is_nested and one.path not in same] + files


def nested_files(repository: Repository, nested: Collection[bytes]) -> list[bytes]:
    """The files of repositories among the files, without what is git's or ignored."""
    top = os.fsencode(repository.work_tree)
    found = []
    for place in nested:
        for directory, names, files in os.walk(top + b"/" + place.rstrip(b"/")):
            links = [name for name in names if os.path.islink(directory + b"/" + name)]  # noqa: PTH114 bytes
            names[:] = [name for name in names if name != b".git" and name not in links]
            at = directory[len(top) + 1 :]
            found += [at + b"/" + name for name in (*files, *links) if name != b".git"]
    ignored = ignored_among(repository, found)
    return [path for path in found if path not in ignored]


def ignored_among(repository: Repository, paths: Collection[bytes], directory: Path | None = None) -> set[bytes]:
    """Those of the paths that are ignored, by the rules in the work tree or another directory.

    A directory is given with a slash at its end.
    """
    if not paths:
        return set()
    feed = b"".join(b"./" + path + b"\0" for path in paths)
    words = ("check-ignore", "-z", "--stdin", "--no-index")
    answer = repository.ask(*words, feed=feed, directory=directory, environment={"GIT_LITERAL_PATHSPECS": "0"})
    if answer.status not in (0, 1):
        message = f"git check-ignore failed in {repository.work_tree}: {answer.said[-300:]}."
        raise InterlockError("git_failed", message, "Look at it with git.")
    return {path.removeprefix(b"./") for path in answer.output.split(b"\0") if path}


@lru_cache(maxsize=4)
def _records_of(paths: tuple[str, ...]) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """The paths as bytes, and the records by which git names them as untracked."""
    encoded = frozenset(map(os.fsencode, paths))
    return encoded, frozenset(b"? " + path for path in encoded)


def _status(repository: Repository, record: bytes) -> PathStatus:
    match record[:1]:
        case b"1":
            _, codes, submodule, _, _, _, _, _, path = record.split(b" ", 8)
            return PathStatus(os.fsdecode(path), chr(codes[0]), chr(codes[1]), submodule.startswith(b"S"))
        case b"u":
            _, codes, submodule, _, _, _, _, _, _, _, path = record.split(b" ", 10)
            in_tree = "M" if os.path.lexists(repository.work_tree / os.fsdecode(path)) else "D"
            return PathStatus(os.fsdecode(path), "U", in_tree, submodule.startswith(b"S"))
        case _:
            return PathStatus(os.fsdecode(record[2:]), "?", "?")


def unusual_among(repository: Repository, paths: Collection[bytes]) -> list[bytes]:
    """Those of the paths in an agent's tree that git would store in another way than the base, and nobody changed."""
    try:
        known = json.loads((repository.git_directory / UNUSUAL).read_text(encoding="ascii"))
    except FileNotFoundError:
        return []
    top = os.fsencode(repository.work_tree)
    noted = [path for path in sorted(paths) if path.hex() in known]
    return [path for path in noted if known[path.hex()] == raw_hash(top + b"/" + path)]


def raw_hash(path: bytes) -> str:
    """The hash of a file as it is."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123 bytes
        return hashlib.file_digest(file, "sha256").hexdigest()


def hidden_of(repository: Repository) -> tuple[str, ...]:
    """Changed files that git was told not to look at, found with a second copy of the index that has it look."""
    if not _has_unseen(repository):
        return ()
    tagged = [line for line in repository.run("ls-files", "-v", "-z").split(b"\0") if line]
    told = {os.fsdecode(line[2:]) for line in tagged if line[:1].islower() or line[:1] == b"S"}
    copy = repository.private / "index.looking"
    shutil.copy2(repository.index, copy)
    # With `core.sparseCheckout`, git takes a file that is there for one that it must look at.
    look = ("-c", "core.sparseCheckout=true")
    repository.ask(*look, "update-index", "-q", "--really-refresh", index=copy)
    listed = repository.run(*look, "diff-files", "-z", "--name-only", "--ignore-submodules=dirty", index=copy)
    changed = {os.fsdecode(name) for name in listed.split(b"\0") if name}
    unseen = {os.fsdecode(line[2:]) for line in tagged if line[:1].islower() and line[:1] != b"s"}
    gone = {path for path in unseen if not _is_there(repository.work_tree, path)}  # git does not say this one
    return tuple(sorted((told & (changed | _staged(repository))) | gone))


def _has_unseen(repository: Repository) -> bool:
    """True unless it is certain that git looks at every file."""
    try:
        return has_unseen_entries(repository.index.read_bytes(), repository.algorithm)
    except FileNotFoundError:
        return False
    except (ValueError, IndexError, struct.error):  # a form that only git reads
        return True


def _staged(repository: Repository) -> set[str]:
    """The paths that the index does not have as HEAD has them; in a file that git does not look at, nobody sees it."""
    head = head_of(repository)
    words = ("diff-index", "--cached", "-z", "--name-only", "--no-renames", "--ignore-submodules=dirty")
    listed = repository.run(*words, head).split(b"\0") if head is not None else []
    return {os.fsdecode(name) for name in listed if name}


def _is_there(root: Path, path: str) -> bool:
    """Whether there is something at a path, and not at the other end of a link above it."""
    above = [root / one for one in Path(path).parents if str(one) != "."]
    return os.path.lexists(root / path) and not any(one.is_symlink() for one in above)
