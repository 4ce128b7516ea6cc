"""What the history says: commits, what they changed, and which files there are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from interlock.errors import InterlockError
from interlock.world.git.objects import TreeDifference, differences, parents_and_tree, tree_of
from interlock.world.git.patches import patch
from interlock.world.git.private import GitRoot, Repository, opened
from interlock.world.git.status import head_of
from interlock.world.git.trees import take_up_everything

__all__ = [
    "Commit",
    "Diff",
    "PathChange",
    "changed_between",
    "changed_by",
    "diff",
    "file_names",
    "files",
    "log",
    "merged_at",
]

_FORM = "--format=%H%x00%P%x00%an%x00%ae%x00%ct%x00%B"


class PathChange(msgspec.Struct, frozen=True):
    """A path that differs between two trees: `A`dded, `M`odified, `D`eleted, or another `T`ype of file."""

    path: str
    status: str


class Commit(msgspec.Struct, frozen=True):
    """One commit; `at` is when it was committed, in seconds since the epoch."""

    hash: str
    parents: tuple[str, ...]
    author: str
    email: str
    at: int
    message: str


class Diff(msgspec.Struct, frozen=True):
    """A patch as text, and whether its end was cut off."""

    text: str
    is_cut: bool


def files(root: GitRoot) -> list[str]:
    """Every file of a work tree that is not ignored, relative to it, tracked or not."""
    return [os.fsdecode(name) for name in file_names(root)]


def file_names(root: GitRoot) -> list[bytes]:
    """The same as bytes, for a caller that needs few of many."""
    with opened(root) as repository:
        listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        whole = repository.work_tree
        below = (root.absolute() if isinstance(root, Path) else whole).relative_to(whole)
        names = repository.run(*listing).split(b"\0")
        if below != Path():
            prefix = os.fsencode(f"{below}/")
            names = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
        return [name for name in dict.fromkeys(names) if name]


def merged_at(directory: Path, commit: str, branch: str) -> float | None:
    """When a commit was made that a branch has, here or at the origin as last fetched; None where neither has it."""
    if re.fullmatch(r"[0-9a-f]{7,64}", commit) is None:
        return None
    try:
        with opened(directory) as repository:
            for reference in (f"refs/heads/{branch}", f"refs/remotes/origin/{branch}"):
                if repository.ask("merge-base", "--is-ancestor", commit, reference).status == 0:
                    return float(repository.line("show", "--no-patch", "--format=%ct", commit, "--"))
    except InterlockError as error:
        if error.code != "no_repository":
            raise
    return None


def changed_between(root: GitRoot, before: str, after: str) -> list[PathChange]:
    """The paths that differ between two commits or trees."""
    with opened(root) as repository:
        return _changes(differences(repository, tree_of(repository, before), tree_of(repository, after)))


def changed_by(root: GitRoot, commit: str) -> list[PathChange]:
    """The paths that a commit changed, given by its whole hash; of a merge, none."""
    if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit) is None:
        raise InterlockError("git_failed", f"{commit[:80]!r} is no hash of a commit.", "Give all of it.")
    with opened(root) as repository:
        parents, tree = parents_and_tree(repository, commit)
        if len(parents) > 1:
            return []
        return _changes(differences(repository, tree_of(repository, parents[0]) if parents else None, tree))


def _changes(found: Iterable[TreeDifference]) -> list[PathChange]:
    return [PathChange(os.fsdecode(one.path), one.status) for one in found]


def diff(root: GitRoot, before: str | None = None, after: str | None = None, *, most: int = 1 << 20) -> Diff:
    """The patch between two commits or trees, of at most so many bytes.

    Without `before`, from HEAD; without `after`, to the files as they are, untracked ones too. It is made of the
    objects of the two trees alone: no file of the work tree, no attribute and no setting has a say in it.
    """
    with opened(root) as repository:
        start = before or head_of(repository)
        old = tree_of(repository, start) if start is not None else None
        if after is None:
            take_up_everything(repository)
        new = tree_of(repository, after) if after else repository.line("write-tree")
        text = patch(repository, differences(repository, old, new))
        return Diff(text[:most].decode("utf-8", "replace"), len(text) > most)


def log(root: GitRoot, revision: str = "HEAD", *, most: int = 50) -> list[Commit]:
    """The last commits up to a revision, newest first; empty where there is none yet."""
    with opened(root) as repository:
        if revision == "HEAD" and head_of(repository) is None:
            return []
        start = _resolve(repository, revision, "commit")
        listed = repository.run("log", "-z", f"--max-count={most}", "--no-show-signature", _FORM, start, "--")
        return [_commit(fields) for fields in _records(listed)]


def _records(listed: bytes) -> list[list[str]]:
    """The fields of each commit. `-z` also ends a record with NUL, so that six fields follow six."""
    parts = listed.decode("utf-8", "replace").split("\0")
    return [parts[start : start + 6] for start in range(0, len(parts) - 5, 6)]


def _commit(fields: list[str]) -> Commit:
    found, parents, author, email, at, message = fields
    return Commit(found, tuple(parents.split()), author, email, int(at), message.rstrip("\n"))


def _resolve(repository: Repository, revision: str, kind: str) -> str:
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{{kind}}}")
    answer = repository.ask(*words)
    if answer.status != 0:
        message = f"There is no commit or tree {revision[:200]!r} in {repository.root or repository.common}."
        raise InterlockError("git_failed", message, "Name one that is there; `git log` lists them.")
    return answer.output.decode("ascii").strip()
