"""The locks on the user's index and on HEAD, held as git holds them, and recognisable as ours if we die with them.

`index.lock` is a second name of `index.ralph-<mark>-<token>[-<commit>]`. Who finds it knows which process made it; if
that is certainly gone, the lock is ended: where its commit is on the branch the new index takes effect, else it is
dropped. `HEAD.lock` is made in the same way and is only ever dropped. The lock of a process that cannot be seen from
here, such as one in another container, stays until its maker or a person ends it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from interlock.errors import InterlockError
from interlock.world.git.private import Repository, take_index
from interlock.world.git.status import head_of
from interlock.world.processes import MARK_PATTERN, is_marked_alive, mark

__all__ = ["IndexLock", "end_dead_locks", "locked", "replace_head"]

_MADE = re.compile(rf"(?:index|HEAD)\.ralph-(?P<mark>{MARK_PATTERN})-\w+(?:-(?P<commit>[0-9a-f]+))?")
_TRIES = 25
_PAUSE = 0.2


class IndexLock:
    """The user's index, held: it changes only by `install`."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = repository.git_directory / "index.lock"
        self._mark = repository.git_directory / f"index.ralph-{mark()}-{_token(repository)}"
        self._mark.touch()

    def take(self) -> bool:
        """Take the lock; False where another has it."""
        try:
            self._lock.hardlink_to(self._mark)
        except FileExistsError:
            return False
        take_index(self._repository)  # again, now that nobody else can change it
        return True

    def write(self, new: Path, commit: str | None = None) -> None:
        """Have the new index ready; with a commit, it takes effect even after our death, if that is on the branch."""
        with new.open("rb") as source, self._mark.open("wb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        if commit is not None:
            self._mark = self._mark.rename(self._mark.with_name(f"{self._mark.name}-{commit}"))

    def install(self) -> None:
        """Let the new index take effect."""
        self._lock.rename(self._repository.git_directory / "index")

    def drop(self) -> None:
        """End the lock, if it is ours and still there."""
        if _is_same(self._lock, self._mark):
            self._lock.unlink()
        self._mark.unlink(missing_ok=True)


def end_dead_locks(repository: Repository) -> None:
    """End a lock whose holder is gone, in the way that holder would have."""
    for made, found in _left(repository, "index"):
        lock, commit = repository.git_directory / "index.lock", found["commit"]
        if _is_same(lock, made):
            if commit and head_of(repository) == commit:
                lock.rename(repository.git_directory / "index")
            else:
                lock.unlink(missing_ok=True)
        made.unlink(missing_ok=True)
    for made, _ in _left(repository, "HEAD"):
        lock = repository.git_directory / "HEAD.lock"
        if _is_same(lock, made):
            lock.unlink(missing_ok=True)
        made.unlink(missing_ok=True)


def _left(repository: Repository, what: str) -> Iterator[tuple[Path, re.Match[str]]]:
    """The files of makers that are certainly gone. Those of an older version do not say where their maker ran."""
    for path in repository.git_directory.glob(f"{what}.ralph-*"):
        found = _MADE.fullmatch(path.name)
        if found is not None and is_marked_alive(found["mark"]) is False:
            yield path, found


@contextmanager
def locked(repository: Repository, sleep: Callable[[float], None]) -> Iterator[IndexLock]:
    """Hold the index; raises `git_failed` with who holds it, when another does for too long."""
    lock = IndexLock(repository)
    try:
        for attempt in range(_TRIES):
            end_dead_locks(repository)
            if lock.take():
                break
            if attempt + 1 == _TRIES:
                raise _held(repository)
            sleep(_PAUSE)
        yield lock
    finally:
        lock.drop()


def replace_head(repository: Repository, seen: str, new: str) -> None:
    """Make HEAD name another branch, if it still names the one that was seen."""
    directory, lock = repository.git_directory, repository.git_directory / "HEAD.lock"
    made = directory / f"HEAD.ralph-{mark()}-{_token(repository)}"
    try:
        with made.open("w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"ref: refs/heads/{new}\n")
            file.flush()
            os.fsync(file.fileno())
        lock.hardlink_to(made)
        if os.fsdecode((directory / "HEAD").read_bytes()).strip() != f"ref: refs/heads/{seen}":
            message = f"HEAD of {repository.work_tree} is on {seen!r} no longer: somebody has just switched."
            raise InterlockError("git_conflict", message, "Look at where it is now, then try again.")
        lock.rename(directory / "HEAD")
    except FileExistsError:
        message = f"{lock} is held: another git is moving HEAD."
        hint = "Wait until it is done; if nobody uses the repository, the file was left over: remove it."
        raise InterlockError("git_failed", message, hint, {"lock": str(lock)}) from None
    finally:
        if _is_same(lock, made):
            lock.unlink()
        made.unlink(missing_ok=True)


def _held(repository: Repository) -> InterlockError:
    lock = repository.git_directory / "index.lock"
    try:
        since = datetime.fromtimestamp(lock.stat().st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OSError:
        since = "just now"
    made = [path for path in repository.git_directory.glob("index.ralph-*") if _is_same(lock, path)]
    ours = [f"ralph (pid {path.name.split('-')[1]}{_elsewhere(path)})" for path in made]
    holders = ", ".join(ours or _gits_in(repository.work_tree)) or "no process that can be seen"
    message = f"{lock} is held since {since} by {holders}."
    hint = "Wait until it is done; if nobody uses the repository, the file was left over: remove it."
    return InterlockError("git_failed", message, hint, {"lock": str(lock), "since": since, "holders": holders})


def _gits_in(root: Path) -> list[str]:
    """The git processes at work in a work tree, where the system shows them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().startswith("git") and (process / "cwd").readlink().is_relative_to(root):
                found.append(f"git (pid {process.name})")
        except OSError:
            continue
    return found


def _elsewhere(path: Path) -> str:
    found = _MADE.fullmatch(path.name)
    is_seen = found is not None and is_marked_alive(found["mark"]) is not None
    return "" if is_seen else ", which cannot be seen from here"


def _token(repository: Repository) -> str:
    return repository.private.name.rpartition("-")[2]


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
