"""A work tree of its own for a thread, made and removed without running anything of the repository.

`git worktree add` starts further gits in the real git directory, with its settings; so the few files that make a linked
work tree (`gitrepository-layout`) are written here. They appear in one step and say `locked` until the work tree is
whole, so that no other git takes a half-made one for a dead one.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from interlock.errors import InterlockError, UsageError
from interlock.world.git.branches import (
    create_branch,
    our_branch,
    refuse_checked_out_elsewhere,
    refuse_reftable,
    taken,
    the_commit,
    tip_of,
)
from interlock.world.git.exports import checkout_index
from interlock.world.git.kept import KeptWork, about, entries_of, keep_all, kept_series, refuse_half_done
from interlock.world.git.locks import locked
from interlock.world.git.moves import Fingerprint, exchange, fingerprint, refuse_blocked, staging
from interlock.world.git.private import Repository, opened
from interlock.world.git.status import PathStatus, branch_of, head_of, statuses
from interlock.world.git.switches import prepare
from interlock.world.git.underway import MAKING, MoveInProgress, begin, underway

__all__ = ["Removed", "add_work_tree", "remove_work_tree"]


class Removed(msgspec.Struct, frozen=True):
    """A work tree that is gone: what was kept of it, and what was left at its place because nobody keeps it."""

    kept: KeptWork | None
    left: tuple[str, ...]


def add_work_tree(
    root: Path,
    path: Path,
    branch: str,
    at: str,
    *,
    leaving_out: Collection[str] = (),
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Make a work tree at a path, with the branch `ralf/…` checked out in it, made at a commit or there already.

    A work tree of that branch that is there already is left as it is. What else lies at the path stays, and is a reason
    to refuse (`git_conflict`) where a file has to go. Raises `git_branch_exists` where the branch is at another commit.
    Files that are left out are in its index and not on the disk. After a crash it can be called again.
    """
    place = _place(path)
    with opened(root) as repository:
        our_branch(repository, branch)
        the_commit(repository, at)
        refuse_reftable(repository)
        directory = _registered(repository, place) or _name(repository, branch)
        if _is_whole(directory, place, branch):
            return
        tip = tip_of(repository, branch)
        if tip not in (None, at):
            raise taken(repository, branch, branch)
        _refuse_in_the_way(directory, place)
        if branch_of(repository) == branch:
            message = f"The branch {branch!r} is checked out in {repository.work_tree}."
            raise InterlockError("git_conflict", message, "Check out another one there with `git switch`.")
        if not directory.exists():
            refuse_checked_out_elsewhere(repository, branch)
            refuse_blocked(place, entries_of(repository, at).keys() - leaving_out, ())
            checkout_index(repository, at)  # which refuses what cannot be written
        if tip is None:
            create_branch(repository, branch, at)
        _register(repository, directory, place, branch)
    with opened(place) as repository, locked(repository, sleep) as lock:
        with staging(repository) as stage:
            switch = prepare(repository, stage, at, "a work tree", may_go=(), leaving_out=leaving_out)
            switch.make()
            lock.write(switch.index)
            lock.install()
        (repository.git_directory / "locked").unlink(missing_ok=True)


def _registered(repository: Repository, place: Path) -> Path | None:
    """The git directory of the work tree at a path, if the repository knows one there."""
    for directory in sorted((repository.common / "worktrees").glob("*")):
        if _pointer(directory / "gitdir") == place / ".git":
            return directory
    return None


def _name(repository: Repository, branch: str) -> Path:
    """A name for a new one, which nobody has."""
    plain = re.sub(r"[^A-Za-z0-9-]+", "-", branch)
    places = repository.common / "worktrees"
    numbered = (places / (plain if number == 1 else f"{plain}-{number}") for number in range(1, 1 << 16))
    return next(one for one in numbered if not os.path.lexists(one))


def _is_whole(directory: Path, place: Path, branch: str) -> bool:
    return (
        (place / ".git").is_file()
        and not (directory / "locked").exists()
        and (directory / "index").is_file()
        and _text(directory / "HEAD") == f"ref: refs/heads/{branch}"
    )


def _refuse_in_the_way(directory: Path, place: Path) -> None:
    if directory.exists() and _text(directory / "locked") != MAKING.strip():
        message = f"{place} is a work tree already, or was one."
        hint = "Take another place, or end it with `git worktree remove` or `git worktree prune`."
        raise InterlockError("git_conflict", message, hint)
    if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
        raise UsageError("invalid_argument", f"{place} is no directory.", "Give one that is empty or missing.")
    if os.path.lexists(place / ".git") and _pointer(place / ".git") != directory:
        raise InterlockError("git_conflict", f"{place} is a repository already.", "Take another place.")


def _register(repository: Repository, directory: Path, place: Path, branch: str) -> None:
    if not directory.exists():
        making = repository.common / f"ralph-making-{directory.name}"
        shutil.rmtree(making, ignore_errors=True)  # what a crash left
        (making / "logs").mkdir(parents=True)
        _write(making / "locked", MAKING)
        _write(making / "gitdir", f"{place / '.git'}\n")
        _write(making / "commondir", "../..\n")
        _write(making / "HEAD", f"ref: refs/heads/{branch}\n")
        directory.parent.mkdir(exist_ok=True)
        making.rename(directory)
    place.mkdir(parents=True, exist_ok=True)
    _write(place / ".git", f"gitdir: {directory}\n")


def remove_work_tree(root: Path, path: Path, keep: str, *, sleep: Callable[[float], None] = time.sleep) -> Removed:
    """Remove a linked work tree; its index, changed and untracked files and its commit are kept under a ref first.

    Its branch stays; `delete_branch` removes it. Ignored files, repositories inside and what is in submodules are kept
    by nobody, so they are left where they are and named in the answer; without any, the directory goes too. `undo`
    brings everything back. Refuses with `git_conflict` in
    a merge or the like, and where the work tree is locked. After a crash it can be called again.
    """
    place = _place(path)
    with opened(root) as repository:
        directory = _registered(repository, place)
        if directory is None:
            _refuse_unknown(repository, place, keep)
        elif _text(directory / "locked") != MAKING.strip() and (directory / "locked").exists():
            message = f"The work tree {place} is locked: {_text(directory / 'locked')[:200] or 'no reason given'}."
            raise InterlockError("git_conflict", message, f"`git worktree unlock {place}` unlocks it.")
    if directory is not None and (place / ".git").is_file():
        _empty(place, keep, sleep)
    with opened(root) as repository:
        _unregister(repository, directory, place)
        kept = _kept_of(repository, place, keep)
    return Removed(kept, _left(place))


def _kept_of(repository: Repository, place: Path, keep: str) -> KeptWork | None:
    found = [one for one in kept_series(repository, keep) if about(repository, one).get("place") == str(place)]
    return found[-1] if found else None


def _refuse_unknown(repository: Repository, place: Path, keep: str) -> None:
    """Refuse what is no work tree of this repository, unless it was one and a call that died removed it."""
    pointer = _pointer(place / ".git")
    is_ours = pointer is None or (pointer.parent == repository.common.resolve() / "worktrees" and not pointer.exists())
    if (place / ".git").is_dir() or not is_ours or _kept_of(repository, place, keep) is None:
        message = f"{place} is no linked work tree of {repository.root or repository.common}."
        raise UsageError("invalid_argument", message, "`git worktree list` lists them.")


def _empty(place: Path, keep: str, sleep: Callable[[float], None]) -> None:
    """Keep everything of a work tree, then remove what is kept and what its commit has."""
    with opened(place) as repository, locked(repository, sleep):
        begun = _begun(repository, keep)
        changed = [one for one in statuses(repository) if not one.is_nested]
        if begun is not None:
            # A file that was ignored may look untracked by now, because the file that said so is gone; it stays.
            changed = [one for one in changed if not one.is_untracked or one.path in begun.paths]
        refuse_half_done(repository, changed, "removing the work tree")
        seen = _going(repository, changed)
        branch, head = branch_of(repository) or "", head_of(repository) or ""
        if begun is None:
            said = {"verb": "remove", "place": str(place), "branch": branch, "tip": head}
            begun = keep_all(repository, keep, changed, said, files=seen)
        elif any(not one.is_absent for one in changed):
            keep_all(repository, f"{keep}-rest", changed)
        begin(repository, MoveInProgress("remove", branch, head, begun.ref))
        with staging(repository) as stage:
            exchange(place, stage, remove=seen, put=())


def _begun(repository: Repository, keep: str) -> KeptWork | None:
    """What a call that died has kept of this work tree, if it was on its way."""
    move = underway(repository)
    if move is None or (move.verb, move.commit) != ("remove", head_of(repository)):
        return None
    said = {"verb": "remove", "place": str(repository.work_tree), "tip": move.commit}
    series = kept_series(repository, keep)
    return next((one for one in series if one.ref == move.ref and said.items() <= about(repository, one).items()), None)


def _going(repository: Repository, changed: Sequence[PathStatus]) -> dict[str, Fingerprint]:
    """Every file that is tracked or untracked, and there."""
    root = repository.work_tree
    tracked = {os.fsdecode(name) for name in repository.run("ls-files", "-z").split(b"\0") if name}
    there = {one.path for one in changed if not one.is_absent}
    absent = {one.path for one in changed if one.is_absent} - there
    paths = (tracked | there) - absent - {one.path for one in changed if one.is_submodule}
    return {path: fingerprint(root, path) for path in sorted(paths) if _is_file(root / path)}


def _unregister(repository: Repository, directory: Path | None, place: Path) -> None:
    """In one step the repository knows it no longer; then it goes."""
    if directory is not None:
        gone = repository.common / f"ralph-removed-{directory.name}"
        shutil.rmtree(gone, ignore_errors=True)
        directory.rename(gone)
    (place / ".git").unlink(missing_ok=True)
    for gone in repository.common.glob("ralph-removed-*"):
        shutil.rmtree(gone, ignore_errors=True)
    with suppress(OSError):
        (repository.common / "worktrees").rmdir()


def _left(place: Path) -> tuple[str, ...]:
    """What is still at a place, when every directory that is empty is gone; a repository inside is not entered."""
    empty: list[Path] = []
    for directory, names, files in os.walk(place):
        if ".git" in (*names, *files):
            names.clear()
        else:
            empty.append(Path(directory))
    for one in reversed(empty):
        with suppress(OSError):
            one.rmdir()
    return tuple(sorted(one.name for one in place.iterdir())) if os.path.lexists(place) else ()


def _place(path: Path) -> Path:
    return path.absolute().parent.resolve() / path.absolute().name


def _is_file(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _pointer(path: Path) -> Path | None:
    """Where a `gitdir` or `.git` file leads."""
    text = _text(path).removeprefix("gitdir:").strip()
    return (path.parent / text) if text else None


def _text(path: Path) -> str:
    try:
        return os.fsdecode(path.read_bytes()).strip()
    except OSError:
        return ""


def _write(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.ralph-new")
    with new.open("w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
