"""The branch that a thread works on, and the one it came from.

Only branches called `ralf/…` are made, moved or removed here. A user's branch is looked at and never touched.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from interlock.errors import InterlockError, UsageError
from interlock.world.git.kept import OURS, is_ref_name
from interlock.world.git.locks import locked, replace_head
from interlock.world.git.private import Repository, opened
from interlock.world.git.references import loose_ref
from interlock.world.git.settings import find
from interlock.world.git.status import branch_in, branch_of, head_of, operation_of
from interlock.world.git.underway import MoveInProgress, begin, end, is_half_made, underway

__all__ = [
    "StartingPoint",
    "baseline",
    "begin_branch",
    "checked_out",
    "create_branch",
    "delete_branch",
    "move_branch",
    "our_branch",
    "refuse_checked_out_elsewhere",
    "refuse_reftable",
    "remove_branch",
    "switch_head",
    "taken",
    "the_commit",
    "tip_of",
]

_PREFIX = "ralf/"


class StartingPoint(msgspec.Struct, frozen=True):
    """Where a thread began: the branch that was checked out, and its commit then."""

    branch: str
    commit: str


def baseline(root: Path) -> StartingPoint:
    """The branch checked out and its commit; raises `git_detached` or, where there is no commit yet, `git_failed`."""
    with opened(root) as repository:
        return _baseline(repository)


def _baseline(repository: Repository) -> StartingPoint:
    branch = branch_of(repository)
    if branch is None:
        message = f"No branch is checked out in {repository.work_tree}, so there is none to come back to."
        raise InterlockError("git_detached", message, "Check out a branch with `git switch`.")
    head = head_of(repository)
    if head is None:
        message = (
            f"The branch {branch!r} in {repository.work_tree} has no commit yet, so there is nothing to go back to."
        )
        raise InterlockError("git_failed", message, "Make a first commit; it may be empty: `git commit --allow-empty`.")
    return StartingPoint(branch, head)


def checked_out(root: Path) -> str | None:
    """The branch that is checked out in a work tree; None if HEAD is detached or the work tree is incomplete."""
    try:
        place = find(root)[1]
        if is_half_made(place):
            return None
        with suppress(OSError):
            if (named := branch_in((place / "HEAD").read_bytes())) is not None:
                return named
        with opened(root) as repository:
            return branch_of(repository)
    except InterlockError:
        return None


def begin_branch(root: Path, name: str, at: str, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Make the branch `ralf/…` at a commit, which must be HEAD's, and check it out; files and index stay as they are.

    Raises `git_branch_exists` where the name is taken. After a crash it can be called again.
    """
    with opened(root) as repository, locked(repository, sleep):
        our_branch(repository, name)
        move = MoveInProgress("begin", name, at)
        now, tip = _baseline(repository), tip_of(repository, name)
        if now == StartingPoint(name, at):
            if move == underway(repository):
                end(repository)
            return
        _refuse_operation(repository, "a new branch")
        if now.commit != the_commit(repository, at):
            message = f"HEAD of {repository.work_tree} is at {now.commit[:12]} and no longer at {at[:12]}."
            raise InterlockError("git_conflict", message, "Take the baseline again.")
        if tip is not None and (tip != at or underway(repository) != move):
            raise taken(repository, name, name)
        begin(repository, move)
        if tip is None:
            create_branch(repository, name, at)
        switch_head(repository, now.branch, name)
        end(repository)


def delete_branch(root: Path, name: str, keep: str) -> None:
    """Remove a branch `ralf/…` whose commits are all kept under `refs/ralf/<keep>`; one that is gone is gone."""
    with opened(root) as repository:
        our_branch(repository, name)
        tip = tip_of(repository, name)
        if tip is None:
            return
        if branch_of(repository) == name:
            message = f"The branch {name!r} is checked out in {repository.work_tree}."
            raise InterlockError("git_conflict", message, "Check out another one with `git switch`.")
        refuse_checked_out_elsewhere(repository, name)
        ref = f"refs/ralf/{keep}"
        kept = repository.ask("merge-base", "--is-ancestor", "--end-of-options", tip, ref)
        if kept.status != 0:
            message = f"The commits of {name!r} are not kept under {ref}, so it was not removed."
            raise InterlockError("git_conflict", message, f"`git branch -d {name}` removes it if it is merged.")
        remove_branch(repository, name, tip)


def our_branch(repository: Repository, name: str) -> str:
    """The ref of a branch that is ours to make, move and remove; refuses every other name."""
    ref = f"refs/heads/{name}"
    if not name.startswith(_PREFIX) or not is_ref_name(repository, ref):
        message = f"{name[:100]!r} is no branch of a thread."
        raise UsageError("invalid_argument", message, "Such branches are called `ralf/` and letters, digits and `-`.")
    return ref


def the_commit(repository: Repository, given: str) -> str:
    """A commit by its whole hash, and by nothing else; refuses one that is not there."""
    is_hash = re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", given) is not None
    if not is_hash or repository.ask("cat-file", "-e", f"{given}^{{commit}}").status != 0:
        message = f"{given[:100]!r} is no commit of {repository.root or repository.common}."
        raise InterlockError("git_failed", message, "Give the whole hash of a commit; `git log` lists them.")
    return given


def tip_of(repository: Repository, name: str) -> str | None:
    """The commit of a branch; None where there is no such branch."""
    ref = f"refs/heads/{name}"
    known = loose_ref(repository, ref)
    return known or repository.found("rev-parse", "--verify", "--quiet", "--end-of-options", ref)


def create_branch(repository: Repository, name: str, at: str) -> None:
    """Make a branch that is not there; raises `git_branch_exists` where it is, or where another is in its way."""
    above = [str(one) for one in Path(name).parents if str(one) != "."]
    for other in above:
        if tip_of(repository, other) is not None:
            raise taken(repository, name, other)
    below = repository.run("for-each-ref", "--count=1", "--format=%(refname)", f"refs/heads/{name}/")
    if below.strip():
        raise taken(repository, name, os.fsdecode(below).strip().removeprefix("refs/heads/"))
    _update(repository, "branch: Created by ralph", name, at, "0" * len(at))


def move_branch(repository: Repository, name: str, new: str, old: str, why: str) -> None:
    """Move a branch of ours from where it was seen."""
    _update(repository, why, name, new, old)


def _update(repository: Repository, why: str, name: str, new: str, old: str) -> None:
    for place in (repository.common / "logs" / "refs", repository.git_directory / "logs"):
        place.mkdir(parents=True, exist_ok=True)
    repository.run("update-ref", "-m", why, our_branch(repository, name), new, old, environment=OURS)


def remove_branch(repository: Repository, name: str, tip: str) -> None:
    """Remove a branch of ours that is still where it was seen; its commits are kept elsewhere."""
    repository.run("update-ref", "-d", our_branch(repository, name), tip, environment=OURS)


def switch_head(repository: Repository, seen: str, name: str) -> None:
    """Make HEAD name another branch, if it names the one that was seen; the reflog says it as `git switch` does."""
    refuse_reftable(repository)
    replace_head(repository, seen, name)
    (repository.git_directory / "logs").mkdir(exist_ok=True)
    about = f"checkout: moving from {seen} to {name}"
    repository.run("symbolic-ref", "-m", about, "HEAD", f"refs/heads/{name}", environment=OURS)


def refuse_reftable(repository: Repository) -> None:
    """Refuse where HEAD is not a file."""
    if repository.setting("extensions.refstorage") == "reftable":
        message = f"{repository.common} keeps its refs as a reftable, and HEAD is not moved there yet."
        raise InterlockError("git_failed", message, "Use a repository that was made with `--ref-format=files`.")


def _refuse_operation(repository: Repository, what: str) -> None:
    """Refuse while a merge or the like is under way."""
    operation = operation_of(repository)
    if operation is not None:
        message = f"A {operation} is under way in {repository.work_tree}; {what} would leave it half done."
        raise InterlockError("git_conflict", message, f"End it first: `git {operation} --continue` or `--abort`.")


def refuse_checked_out_elsewhere(repository: Repository, name: str) -> None:
    """Refuse a branch that another work tree has checked out: it would change under that one's feet."""
    for place, head in _other_heads(repository):
        if head == f"ref: refs/heads/{name}":
            message = f"The branch {name!r} is checked out in {place}."
            hint = f"Switch that work tree to another branch, or end it with `git worktree remove {place}`."
            raise InterlockError("git_conflict", message, hint, {"work_tree": str(place)})


def _other_heads(repository: Repository) -> Iterator[tuple[Path, str]]:
    """The other work trees of the repository that are there, and what their HEADs say."""
    is_bare = (repository.setting("core.bare") or "false").lower() == "true"
    mine = repository.git_directory.resolve()
    if mine != repository.common.resolve() and not is_bare:
        yield repository.common.parent, _text(repository.common / "HEAD")
    for directory in sorted((repository.common / "worktrees").glob("*")):
        pointer = directory / Path(_text(directory / "gitdir") or "nowhere")
        is_there = os.path.lexists(pointer) or (directory / "locked").exists()
        if directory.resolve() != mine and is_there:
            yield pointer.parent, _text(directory / "HEAD")


def _text(path: Path) -> str:
    try:
        return os.fsdecode(path.read_bytes()).strip()
    except OSError:
        return ""


def taken(repository: Repository, name: str, other: str) -> InterlockError:
    what = "is there already" if name == other else f"cannot be made beside the branch {other!r}"
    message = f"The branch {name!r} {what}, in {repository.root or repository.common}."
    hint = f"Rename that one, if it is yours: `git branch -m {other} NEW`."
    return InterlockError("git_branch_exists", message, hint, {"branch": other})
