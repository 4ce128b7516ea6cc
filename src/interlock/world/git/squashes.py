"""One commit of exactly one tree, in the place of all that a thread's branch has gathered."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from interlock.errors import InterlockError
from interlock.world.git.branches import create_branch, move_branch, our_branch, the_commit, tip_of
from interlock.world.git.commits import Identity, commit_tree, identity
from interlock.world.git.kept import OURS, about, keep_all, kept_series, ref_of, refuse_half_done
from interlock.world.git.locks import locked
from interlock.world.git.objects import parents_and_tree, read, the_tree
from interlock.world.git.private import Repository, opened
from interlock.world.git.status import branch_of, statuses
from interlock.world.git.trees import take_up

__all__ = ["commit_approved", "squash"]


def squash(
    root: Path,
    branch: str,
    base: str,
    tree: str,
    message: str,
    keep: str,
    *,
    author: Identity | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Make one commit of a tree on top of `base`, and have the branch at it; gives its hash.

    The files must be that tree, and are not touched; the index is made to match. The commits that the branch had, and
    the index, are kept under `refs/ralf/<keep>`, for `undo`. Called again after a crash it finds its own commit.
    Refuses with `git_conflict` where the files are another tree, another branch is checked out, or a merge or the like
    is under way. Hooks do not run.
    """
    who = author or identity(root)
    with opened(root) as repository, locked(repository, sleep) as lock:
        our_branch(repository, branch)
        the_commit(repository, base)
        tip = tip_of(repository, branch)
        if tip is None or branch_of(repository) != branch:
            text = f"The branch {branch!r} is not checked out in {repository.work_tree}."
            raise InterlockError("git_conflict", text, f"Check it out with `git switch {branch}`.")
        said = {"verb": "squash", "branch": branch, "head": branch, "base": base, "tree": tree, "message": message}
        made = _made_before(repository, keep, said, tip)
        if made == tip:
            return tip
        changed = statuses(repository)
        refuse_half_done(repository, changed, "a commit of the thread")
        index = repository.private / "index.squash"
        if repository.index.exists():
            shutil.copy2(repository.index, index)
        take_up(repository, changed, index)
        if repository.line("write-tree", index=index) != tree:
            text = f"The files in {repository.work_tree} are not the tree {tree[:12]} that is to be committed."
            raise InterlockError("git_conflict", text, "Look at what changed with `git status`, and review it again.")
        if made is None:
            made = commit_tree(repository, tree, base, message, who)
            keep_all(repository, keep, changed, said | {"tip": tip, "made": made}, also=(tip, made))
        lock.write(index, made)
        try:
            move_branch(repository, branch, made, tip, "squash by ralph")
        except BaseException:
            if tip_of(repository, branch) == made:
                lock.install()
            raise
        lock.install()
        return made


def commit_approved(
    root: Path, branch: str, base: str, tree: str, message: str, keep: str, *, author: Identity | None = None
) -> str:
    """Make one commit of a tree on top of `base`, and have the branch at it; gives its hash.

    No file and no index is read or touched. The commits that the branch had are kept under `refs/ralf/<keep>`. Called
    again after a crash it finds its own commit. Hooks do not run.
    """
    who = author or identity(root)
    with opened(root) as repository:
        our_branch(repository, branch)
        the_commit(repository, base)
        the_tree(repository, tree)
        tip = tip_of(repository, branch)
        if tip is not None and _is_made(repository, tip, base, tree, message):
            return tip
        made = commit_tree(repository, tree, base, message, who)
        if tip is None:
            create_branch(repository, branch, made)
            return made
        if tip != base:
            _keep_tip(repository, ref_of(repository, keep), tip)
        move_branch(repository, branch, made, tip, "squash by ralph")
        return made


def _keep_tip(repository: Repository, ref: str, tip: str) -> None:
    """Keep a commit under a name that holds nothing else."""
    for number in range(1, 1 << 16):
        name = ref if number == 1 else f"{ref}-{number}"
        there = repository.found("rev-parse", "--verify", "--quiet", name)
        if there is None:
            repository.run("update-ref", "-m", "kept by ralph", name, tip, "0" * len(tip), environment=OURS)
        if there in (None, tip):
            return


def _is_made(repository: Repository, commit: str, base: str, tree: str, message: str) -> bool:
    """True if a commit holds that tree on that base, with that message."""
    said = read(repository, [commit])[commit].bytes.partition(b"\n\n")[2]
    return parents_and_tree(repository, commit) == ([base], tree) and said == message.encode("utf-8", "surrogateescape")


def _made_before(repository: Repository, keep: str, said: dict[str, str], tip: str) -> str | None:
    """The commit that a call that died has made for the same, if the branch is at it or still at where it was."""
    for kept in kept_series(repository, keep):
        then = about(repository, kept)
        if said.items() <= then.items() and tip in (then["tip"], then["made"]):
            return then["made"]
    return None
