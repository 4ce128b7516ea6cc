"""The tree of an agent in a real repository, and what an agent or a person may do beside us."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from interlock.world.git import Repository, TreeTaking, make_own_tree
from interlock.world.repository import exclude_state, own_tree, state_directory
from world.git.repositories import git, made

__all__ = [
    "BRANCH",
    "OwnTree",
    "again",
    "bounded",
    "listed",
    "lives",
    "made_own",
    "on_disk",
    "settle",
    "taken",
    "tree_of",
]

BRANCH = "ralf/01jb"


class OwnTree(msgspec.Struct, frozen=True):
    """A repository, the tree of an agent in it, and the commit that this was made of."""

    root: Path
    files: Path
    objects: Path
    base: str

    @property
    def clone(self) -> Path:
        """The agent's own git directory."""
        return self.files / ".git"

    def make(self) -> None:
        make_own_tree(self.root, self.files, BRANCH, self.base, self.objects)


def made_own(
    root: Path,
    files: Mapping[str, str | bytes] | None = None,
    *,
    before: Callable[[Path], object] = lambda _: None,
    at: Path | None = None,
) -> OwnTree:
    """A repository of those files, changed by `before`, and the tree of an agent in it; `at` is a work tree of it."""
    if not (root / ".git").exists():
        made(root, files)
    before(root)
    exclude_state(root)
    return again(at or root, root.with_name(f"{root.name}-objects") / "01jb")


def again(root: Path, objects: Path) -> OwnTree:
    """The tree of the agent in a repository, which is made if it is not there."""
    own = OwnTree(root, own_tree(state_directory(root), "01jb"), objects, git("rev-parse", "HEAD", cwd=root))
    own.make()
    return own


def taken(own: OwnTree) -> str:
    """The tree of the files as one who has never looked at them takes it."""
    return TreeTaking().take(own.files).tree


def tree_of(own: OwnTree, revision: str = "") -> str:
    return git("rev-parse", f"{revision or own.base}^{{tree}}", cwd=own.root)


def listed(own: OwnTree, tree: str) -> dict[str, str]:
    """The paths of a tree, each with its mode and hash."""
    lines = git("ls-tree", "-r", "-z", tree, cwd=own.root).split("\0")
    return {line.partition("\t")[2]: " ".join(line.partition("\t")[0].split()[::2]) for line in lines if line}


def lives(own: OwnTree) -> None:
    """The agent's own git works: its history and objects are whole, and it can commit."""
    git("log", "--oneline", cwd=own.files)
    git("fsck", "--connectivity-only", cwd=own.files)
    git("add", "-A", cwd=own.files)
    git("commit", "-q", "--allow-empty", "-m", "agent", cwd=own.files)


def bounded(patch: pytest.MonkeyPatch) -> None:
    """Let no git take an hour where it waits for a file that never ends."""
    ask = Repository.ask

    def soon(repository: Repository, *arguments: str, **how: object) -> object:
        return ask(repository, *arguments, **(how | {"seconds": 4.0}))  # type: ignore[arg-type]

    patch.setattr(Repository, "ask", soon)


def settle(own: OwnTree) -> None:
    """Until the clock of the file system is past the times of every file: only then is a file not read again."""
    place = own.files.parent / "clock"
    place.write_bytes(b"")
    begun = place.stat().st_mtime_ns
    while place.stat().st_mtime_ns < begun + 40_000_000:
        place.write_bytes(b"")
    place.unlink()


@contextmanager
def on_disk() -> Iterator[Path]:
    """A directory that is not in memory: only there a file that did not change is not read again."""
    with TemporaryDirectory(dir="/var/tmp", prefix="interlock-") as directory:
        yield Path(os.path.realpath(directory))
