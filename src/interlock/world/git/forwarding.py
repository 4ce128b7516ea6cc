"""A branch of the person's that work is committed to: moved forward to a commit of ours, and back into our tree.

The commits of a loop are made on a branch of its own, in the tree of its agents. `forward_branch` lets the person's
branch follow, with their checkout if that is clean; `adopt_commits` takes what the person committed into the tree.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from interlock.errors import InterlockError
from interlock.world.git.branches import refuse_checked_out_elsewhere, tip_of
from interlock.world.git.checkouts import merge_trees, put_tree
from interlock.world.git.kept import OURS
from interlock.world.git.locks import IndexLock, locked
from interlock.world.git.moves import clear_stage, same_as_staged, staging
from interlock.world.git.objects import differences, parents_and_tree, tree_of
from interlock.world.git.own_trees import show_commit
from interlock.world.git.private import GitRoot, Repository, opened
from interlock.world.git.status import branch_of, head_of, operation_of
from interlock.world.git.switches import Switch, prepare
from interlock.world.git.taking import TreeTaking
from interlock.world.git.underway import MoveInProgress, begin, end, underway

__all__ = ["adopt_commits", "forward_branch"]

_VERB = "forward"
_NAMED = 3


def forward_branch(root: Path, branch: str, ours: str, *, sleep: Callable[[float], None] = time.sleep) -> str | None:
    """Move a branch forward to a branch of ours that follows it, with the checkout at `root` if it is on that branch.

    Return None once the branch is there. Otherwise return why it is not, and nothing was touched: the branch is gone
    or has other commits, a merge or the like is under way, or the checkout has changes that are not in the commit.
    After a crash it can be called again.
    """
    with opened(root) as repository, locked(repository, sleep) as lock:
        tip, commit, move = tip_of(repository, branch), tip_of(repository, ours), underway(repository)
        is_begun = move is not None and (move.verb, move.branch) == (_VERB, branch)
        clear_stage(repository)  # what a crash left
        if tip == commit:
            if is_begun:
                end(repository)
            return None
        if tip is None or commit is None:
            return f"the branch {branch if tip is None else ours} is gone"
        if not _follows(repository, commit, tip):
            return f"{branch} has other commits"
        operation = operation_of(repository)
        if operation is not None:
            return f"a {operation} is under way in {repository.work_tree}"
        try:
            refuse_checked_out_elsewhere(repository, branch)
            if branch_of(repository) != branch:
                _move(repository, branch, commit, tip)
                return None
            return _check_out(repository, lock, branch, commit, tip, is_begun=is_begun)
        except InterlockError as error:
            if not error.code.startswith("git_"):
                raise
            return error.message.rstrip(".")


def _follows(repository: Repository, commit: str, tip: str) -> bool:
    words = ("merge-base", "--is-ancestor", "--end-of-options", tip, commit)
    return tip in parents_and_tree(repository, commit)[0] or repository.ask(*words).status == 0


def _move(repository: Repository, branch: str, commit: str, tip: str) -> None:
    about = "forward by ralph"
    repository.run("update-ref", "-m", about, f"refs/heads/{branch}", commit, tip, environment=OURS)


def _check_out(
    repository: Repository, lock: IndexLock, branch: str, commit: str, tip: str, *, is_begun: bool
) -> str | None:
    """Put the files of the commit in place, then move the branch and the index; or return why not."""
    with staging(repository) as stage:
        new = _new_in(repository, commit, tip)
        switch = prepare(repository, stage, commit, "a commit", may_go=new, index=_with_stat_data(repository))
        edited = _edited(switch, stage, is_begun=is_begun)
        if edited:
            named = ", ".join(edited[:_NAMED]) + (", …" if len(edited) > _NAMED else "")
            return f"{repository.work_tree} has changes that are not committed: {named}"
        begin(repository, MoveInProgress(_VERB, branch, commit))
        switch.make()
        lock.write(switch.index, commit)
        _move(repository, branch, commit, tip)
        lock.install()
    end(repository)
    return None


def _with_stat_data(repository: Repository) -> Path | None:
    """A copy of the person's index. It decides only whether a file of theirs was edited, as in a merge by git."""
    if not repository.users_index.exists():
        return None
    copy = repository.private / "index.forward"
    shutil.copy2(repository.users_index, copy)
    return copy


def _new_in(repository: Repository, commit: str, tip: str) -> set[str]:
    """The files of a commit that were not in another: in the checkout, they may be there untracked."""
    changes = differences(repository, tree_of(repository, tip), tree_of(repository, commit))
    return {os.fsdecode(one.path) for one in changes if one.old is None}


def _edited(switch: Switch, stage: Path, *, is_begun: bool) -> list[str]:
    """The changed files of a checkout that are not as the commit has them."""
    put = set(switch.put)
    ours = [one for one in switch.changed if not one.is_submodule and (not one.is_untracked or one.path in put)]
    same = same_as_staged(switch.repository.work_tree, stage, [one.path for one in ours if one.path in put])
    absent = {one.path for one in ours if one.is_absent and (is_begun or one.path not in put)}
    return [one.path for one in ours if one.path not in same and one.path not in absent]


def adopt_commits(root: GitRoot, branch: str) -> bool:
    """Let an agent's tree continue on what the person committed to their branch since; True if there was anything.

    What the person changed comes into the files; where the agent changed the same lines, the person's count. Raises
    `git_conflict`, and touches nothing, if the two branches have different commits. The agent must not be running.
    After a crash it can be called again.
    """
    with opened(root) as repository:
        files = repository.work_tree
        ours, head, tip = branch_of(repository), head_of(repository), tip_of(repository, branch)
        if tip is None or tip == head or ours is None or head is None or _follows(repository, head, tip):
            return False
        if not _follows(repository, tip, head):
            message = f"{branch} and {ours} have different commits."
            raise InterlockError("git_conflict", message, f"Merge {ours} into {branch} with `git merge {ours}`.")
        taken = TreeTaking().take(repository).tree
        before, after = tree_of(repository, head), tree_of(repository, tip)
    put_tree(files, merge_trees(files, before, taken, after), taken)
    show_commit(files, tip)
    with opened(files) as repository:
        _move(repository, ours, tip, head)
    return True
