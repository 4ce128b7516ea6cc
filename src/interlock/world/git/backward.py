"""The way back: from a thread's branch to the branch that it began on, and undone again.

Before a file is touched, the index, the changed and the untracked files and the commits of the branch are kept under
one ref. The order of the steps, each of which the next call finds again after a crash:

    keep everything        refs/ralf/<keep>, with the branch and its commit in `about.json`
    say what is under way  `underway`
    put the files in place what is left of a call that died is kept first, as `<keep>-rest`
    HEAD, then the index   the new index takes effect even if we die in between (`locks`)
    the branch             removed only from the commit that is kept
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from interlock.errors import InterlockError, UsageError
from interlock.world.git.branches import (
    StartingPoint,
    create_branch,
    move_branch,
    our_branch,
    refuse_checked_out_elsewhere,
    remove_branch,
    switch_head,
    taken,
    tip_of,
)
from interlock.world.git.checkouts import put_tree
from interlock.world.git.kept import (
    KeptWork,
    about,
    entries_of,
    keep_all,
    kept_series,
    kept_under,
    nothing_kept,
    put_back,
    ref_of,
)
from interlock.world.git.locks import IndexLock, locked
from interlock.world.git.moves import clear_stage, refuse_blocked, staging
from interlock.world.git.objects import tree_of
from interlock.world.git.own_trees import make_own_tree
from interlock.world.git.private import Repository, opened
from interlock.world.git.status import branch_of, statuses
from interlock.world.git.switches import prepare, tracked_changes
from interlock.world.git.underway import MoveInProgress, begin, end, underway
from interlock.world.git.worktrees import add_work_tree

__all__ = ["go_back", "undo"]


def go_back(
    root: Path, base: StartingPoint, branch: str, keep: str, *, sleep: Callable[[float], None] = time.sleep
) -> KeptWork | None:
    """Leave a thread's branch for the one it began on, and remove it; everything is kept under `refs/ralf/<keep>`.

    The files are then those that the base branch has now, which may be more than at the baseline; that branch does not
    move. Where it is checked out already, no file is touched. Ignored files, submodules and repositories inside the
    work tree stay as they are. Gives what is kept (its `name` is what `undo` wants), or None where there is no such
    branch and nothing is kept. After a crash it can be called again.

    Refuses, and changes nothing: `git_conflict` in a merge or the like, on a third branch, where either branch is
    checked out elsewhere, or where a file is in the way that nobody keeps; `git_detached`; `git_unsafe`; `git_failed`
    where the base branch is gone.
    """
    with opened(root) as repository, locked(repository, sleep) as lock:
        our_branch(repository, branch)
        if base.branch == branch:
            raise UsageError("invalid_argument", f"{branch!r} cannot go back to itself.", "Name where it began.")
        tip, now = tip_of(repository, branch), branch_of(repository)
        begun = _begun(repository, keep, branch, tip)
        if now == branch or (tip is not None and now != base.branch):
            begun = _leave(repository, lock, base, branch, tip, keep, begun)
        elif tip is not None and begun is None:  # somebody else went back: the files are not ours to touch
            begun = keep_all(repository, keep, statuses(repository), _about(branch, tip, base.branch), also=(tip,))
        return _end_going_back(repository, keep, branch, tip, begun)


def _leave(
    repository: Repository,
    lock: IndexLock,
    base: StartingPoint,
    branch: str,
    tip: str | None,
    keep: str,
    begun: KeptWork | None,
) -> KeptWork:
    """Keep everything, unless a call that died has, then check out the base branch; gives what was kept first."""
    if tip is None or branch_of(repository) != branch:
        raise _elsewhere(repository, branch)
    target = _target(repository, base, branch)
    with staging(repository) as stage:
        # A file that was ignored may look untracked by now, because the file that said so is gone; it stays.
        switch = prepare(repository, stage, target, "going back", may_go=set(begun.paths) if begun else None)
        if begun is None:
            begun = keep_all(repository, keep, switch.changed, _about(branch, tip, branch), files=switch.remove)
        elif switch.changed:
            keep_all(repository, f"{keep}-rest", switch.changed)
        begin(repository, MoveInProgress("go_back", branch, tip, begun.ref))
        switch.make()
        if tip_of(repository, base.branch) != target:
            message = f"The branch {base.branch!r} in {repository.work_tree} moved just now."
            raise InterlockError("git_conflict", message, "Try again.")
        lock.write(switch.index, target)
        _check_out(repository, lock, branch, base.branch)
    return begun


def _check_out(repository: Repository, lock: IndexLock, seen: str, name: str) -> None:
    """Move HEAD, and with it the index: if HEAD has moved, whatever went wrong then, the new index takes effect."""
    try:
        switch_head(repository, seen, name)
    finally:
        if os.fsdecode((repository.git_directory / "HEAD").read_bytes()).strip() == f"ref: refs/heads/{name}":
            lock.install()


def _about(branch: str, tip: str, head: str) -> dict[str, str]:
    return {"verb": "go_back", "branch": branch, "tip": tip, "head": head}


def _begun(repository: Repository, keep: str, branch: str, tip: str | None) -> KeptWork | None:
    """What a call that died has kept of exactly this branch, if it was on its way."""
    move = underway(repository)
    if move is None or (move.verb, move.branch) != ("go_back", branch) or tip not in (None, move.commit):
        return None
    for kept in kept_series(repository, keep):
        said = about(repository, kept)
        if kept.ref == move.ref and (said.get("branch"), said.get("tip")) == (branch, move.commit):
            return kept
    return None


def _end_going_back(
    repository: Repository, keep: str, branch: str, tip: str | None, kept: KeptWork | None
) -> KeptWork | None:
    if tip is not None:
        refuse_checked_out_elsewhere(repository, branch)
        remove_branch(repository, branch, tip)
    clear_stage(repository)
    end(repository)
    if kept is not None:
        return kept
    found = [one for one in kept_series(repository, keep) if about(repository, one).get("branch") == branch]
    return found[-1] if found else None


def _target(repository: Repository, base: StartingPoint, branch: str) -> str:
    """The commit whose files are to be there; refuses where HEAD may not go to its branch."""
    target = tip_of(repository, base.branch)
    if target is None:
        message = f"The branch {base.branch!r} that {branch!r} began on is gone from {repository.work_tree}."
        hint = f"Make it again: `git branch {base.branch} {base.commit}`."
        raise InterlockError("git_failed", message, hint)
    refuse_checked_out_elsewhere(repository, base.branch)
    refuse_checked_out_elsewhere(repository, branch)
    return target


def _elsewhere(repository: Repository, branch: str) -> InterlockError:
    now = branch_of(repository)
    hint = f"Commit what you have there, then `git switch {branch}`."
    if now is None:
        message = f"No branch is checked out in {repository.work_tree}, so these are not the files of {branch!r}."
        return InterlockError("git_detached", message, hint)
    if tip_of(repository, branch) is None:
        message = f"The branch {branch!r} is checked out in {repository.work_tree} and has no commit."
        return InterlockError("git_failed", message, "Make it again: `git reflog` has its commits.")
    message = f"{now!r} is checked out in {repository.work_tree}, and not {branch!r}; its files are not touched."
    return InterlockError("git_conflict", message, hint)


def undo(root: Path, keep: str, *, sleep: Callable[[float], None] = time.sleep) -> KeptWork:
    """Put back what was kept under a name: the branch with its commits, HEAD, the index and every file; or, where it
    was removed, the work tree.

    What is kept stays kept. Untracked files of other names stay. Refuses, and changes nothing, where it would
    overwrite other work (`git_conflict`) or where the branch is there with other commits (`git_branch_exists`). After a
    crash it can be called again.
    """
    with opened(root) as repository:
        kept = _wanted(repository, keep)
        said = about(repository, kept)
    if said.get("verb") == "remove":
        return _work_tree_back(root, kept, said, sleep)
    if said.get("verb") == "remove_own":
        return _own_tree_back(root, kept, said)
    with opened(root) as repository, locked(repository, sleep) as lock:
        if said:
            _branch_back(repository, lock, kept, said)
        if said.get("head") != said.get("branch"):
            end(repository)
            return kept
    with opened(root) as repository, locked(repository, sleep) as lock:
        put_back(repository, lock, kept, spares_untracked=bool(said))
        if said:
            end(repository)
        return kept


def _work_tree_back(root: Path, kept: KeptWork, said: dict[str, str], sleep: Callable[[float], None]) -> KeptWork:
    place = Path(said["place"])
    add_work_tree(root, place, said["branch"], said["tip"], leaving_out=set(kept.paths), sleep=sleep)
    with opened(place) as repository, locked(repository, sleep) as lock:
        put_back(repository, lock, kept, spares_untracked=True)
    return kept


def _own_tree_back(root: Path, kept: KeptWork, said: dict[str, str]) -> KeptWork:
    with opened(root) as repository:
        files = repository.work_tree / said["place"]
        began = tree_of(repository, said["tip"])
    make_own_tree(root, files, said["branch"], said["tip"], Path(said["objects"]))
    if not put_tree(files, said["tree"], began):
        message = f"The files in {files} were changed, and undo would overwrite them."
        raise InterlockError("git_conflict", message, f"`git show {kept.ref}:files` has what is kept.")
    return kept


def _wanted(repository: Repository, keep: str) -> KeptWork:
    ref = ref_of(repository, keep)
    kept = kept_under(repository, ref)
    if kept is None:
        raise nothing_kept(repository, ref)
    return kept


def _branch_back(repository: Repository, lock: IndexLock, kept: KeptWork, said: dict[str, str]) -> None:
    """Have the branch at its commit again, and checked out with the files of that commit if it was."""
    branch, tip = said["branch"], said["tip"]
    our_branch(repository, branch)
    current, now = tip_of(repository, branch), branch_of(repository)
    if current not in (None, tip, said.get("made")):
        raise taken(repository, branch, branch)
    if said["head"] != branch:
        if current is None:
            create_branch(repository, branch, tip)
        return
    if now == branch:
        _move_back(repository, kept, said, current)
        return
    if now is None:
        message = f"No branch is checked out in {repository.work_tree}."
        raise InterlockError("git_detached", message, "Check out a branch with `git switch`.")
    refuse_checked_out_elsewhere(repository, branch)
    move = underway(repository)
    with staging(repository) as stage:
        switch = prepare(repository, stage, tip, "undo", may_go=(), leaving_out=set(kept.paths))
        tracked = tracked_changes(switch.changed)
        if move is not None and move.ref == kept.ref:
            if tracked:
                keep_all(repository, f"{kept.name}-rest", switch.changed)
        else:
            _refuse_other_work(repository, kept, tracked)
        begin(repository, MoveInProgress("undo", branch, tip, kept.ref))
        if current is None:
            create_branch(repository, branch, tip)
        elif current != tip:
            move_branch(repository, branch, tip, current, "undo by ralph")
        switch.make()
        lock.write(switch.index, tip)
        _check_out(repository, lock, now, branch)


def _move_back(repository: Repository, kept: KeptWork, said: dict[str, str], current: str | None) -> None:
    """Move the branch that is checked out back to its commit; the files follow when what is kept is put back."""
    if current in (None, said["tip"]):
        return
    _refuse_other_work(repository, kept, tracked_changes(statuses(repository)))
    begin(repository, MoveInProgress("undo", said["branch"], said["tip"], kept.ref))
    move_branch(repository, said["branch"], said["tip"], str(current), "undo by ralph")


def _refuse_other_work(repository: Repository, kept: KeptWork, tracked: list[str]) -> None:
    """Refuse while a tracked file is changed, or where one that is not tracked is in the place of a kept one."""
    if tracked:
        message = f"{tracked[0]!r} in {repository.work_tree} is changed, and undo would overwrite it."
        raise InterlockError("git_conflict", message, "Commit it, or put it away with `git stash`.", {"paths": tracked})
    there = {name for name in repository.run("ls-files", "-z").split(b"\0") if name}
    known = {os.fsdecode(name) for name in there}
    refuse_blocked(repository.work_tree, entries_of(repository, f"{kept.commit}:work"), known)
