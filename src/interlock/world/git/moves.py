"""Files put in the place of others: checked first, then removed and moved in, never through a symbolic link."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from interlock.errors import InterlockError
from interlock.world.git.private import Repository
from interlock.world.repository import STATE_DIRECTORY

__all__ = [
    "Fingerprint",
    "clear_stage",
    "exchange",
    "fingerprint",
    "make_directories",
    "refuse_blocked",
    "same_as_staged",
    "staging",
]

Fingerprint = tuple[int, int, int, int]
"""What tells a file from a later one of the same name: its inode, size and times."""
_CHUNK = 1 << 16
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def fingerprint(root: Path, path: str) -> Fingerprint:
    return _fingerprint((root / path).lstat())


def _fingerprint(seen: os.stat_result) -> Fingerprint:
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


@contextmanager
def staging(repository: Repository) -> Iterator[Path]:
    """An empty directory on the disk of the work tree, from where a file moves into place in one step."""
    stage = clear_stage(repository)
    stage.mkdir(parents=True)
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def clear_stage(repository: Repository) -> Path:
    """Where the stage is made; what a crash left there is removed. The lock on the index must be ours."""
    root = repository.work_tree
    is_near = repository.git_directory.stat().st_dev == root.stat().st_dev
    stage = (repository.git_directory if is_near else root / STATE_DIRECTORY) / "ralph-stage"
    shutil.rmtree(stage, ignore_errors=True)
    return stage


def exchange(root: Path, stage: Path, *, remove: Mapping[str, Fingerprint], put: Sequence[str]) -> None:
    """Remove files of a work tree, then move those of the stage in. Refuses where that would touch another file."""
    refuse_blocked(root, put, remove)
    place = os.open(root, os.O_RDONLY | os.O_DIRECTORY)  # the root itself may be reached by a link
    try:
        staying = set(put)
        for path, seen in remove.items():
            if path not in staying:
                _remove(place, path, seen)
        for path, seen in remove.items():
            if path in staying and _is_other(place, path, seen):
                raise _changed(path)
        for path in put:
            _put(place, stage / path, path)
    finally:
        os.close(place)


def refuse_blocked(root: Path, put: Iterable[str], remove: Collection[str]) -> None:
    """Refuse where a file that is not to be removed is in the place of one that is to be put."""
    for path in put:
        _refuse_if_blocked(root, path, remove)


def same_as_staged(root: Path, stage: Path, put: Iterable[str]) -> dict[str, Fingerprint]:
    """Those that are in their place already, as a call that died has put them: the same to the byte."""
    return {path: seen for path in put if (seen := _same(root / path, stage / path)) is not None}


def _same(there: Path, staged: Path) -> Fingerprint | None:
    try:
        seen, wanted = there.lstat(), staged.lstat()
        if stat.S_IFMT(seen.st_mode) != stat.S_IFMT(wanted.st_mode):
            return None
        if stat.S_ISLNK(seen.st_mode):
            is_same = there.readlink() == staged.readlink()
        else:
            is_same = stat.S_ISREG(seen.st_mode) and seen.st_size == wanted.st_size and _is_equal(there, staged)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _fingerprint(seen) if is_same else None


def _is_equal(one: Path, other: Path) -> bool:
    with one.open("rb") as first, other.open("rb") as second:
        while (chunk := first.read(_CHUNK)) == second.read(_CHUNK):
            if not chunk:
                return True
    return False


def make_directories(root: Path, paths: Iterable[str]) -> None:
    """Make directories that are not there, where nothing else is in their place."""
    place = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for path in paths:
            with suppress(OSError), _parent(place, f"{path}/*", is_made=True):
                pass
    finally:
        os.close(place)


def _refuse_if_blocked(root: Path, path: str, remove: Collection[str]) -> None:
    above = [str(one) for one in Path(path).parents if str(one) != "." and _is_file(root / one)]
    blocking = [one for one in above or _files_at(root, path) if one not in remove]
    if blocking:
        message = f"{blocking[0]!r} in {root} is where {path!r} has to go, and it is kept nowhere."
        raise InterlockError("git_conflict", message, "Move it away, then try again.", {"paths": blocking})


def _files_at(root: Path, path: str) -> list[str]:
    """The file of a path, or all files below it."""
    target = root / path
    if _is_directory(target):
        return [str(one.relative_to(root)) for one in target.rglob("*") if _is_file(one)]
    return [path] if _is_file(target) else []


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_file(path: Path) -> bool:
    return os.path.lexists(path) and not _is_directory(path)


@contextmanager
def _parent(place: int, path: str, *, is_made: bool = False) -> Iterator[int]:
    """The directory of a path below another, reached without following a symbolic link."""
    reached = os.dup(place)
    try:
        for name in Path(path).parts[:-1]:
            if is_made:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=reached)
            below = os.open(name, _DIRECTORY, dir_fd=reached)
            os.close(reached)
            reached = below
        yield reached
    finally:
        os.close(reached)


def _is_other(place: int, path: str, seen: Fingerprint) -> bool:
    try:
        with _parent(place, path) as parent:
            return _fingerprint(os.stat(Path(path).name, dir_fd=parent, follow_symlinks=False)) != seen
    except (FileNotFoundError, NotADirectoryError):
        return False


def _remove(place: int, path: str, seen: Fingerprint) -> None:
    if _is_other(place, path, seen):
        raise _changed(path)
    with suppress(FileNotFoundError, NotADirectoryError), _parent(place, path) as parent:
        os.unlink(Path(path).name, dir_fd=parent)
    for directory in Path(path).parents[:-1]:
        try:
            with _parent(place, str(directory)) as above:
                os.rmdir(directory.name, dir_fd=above)
        except OSError:
            return


def _put(place: int, source: Path, path: str) -> None:
    try:
        with _parent(place, path, is_made=True) as parent:
            name = Path(path).name
            with suppress(OSError):
                _remove_empty(parent, name)
            os.replace(source, name, dst_dir_fd=parent)
    except OSError as error:
        raise InterlockError("git_failed", f"{path!r} cannot be written: {error.strerror}.", "Try again.") from None


def _remove_empty(parent: int, name: str) -> None:
    """Empty directories may be where a file has to go."""
    for directory, _, _, descriptor in os.fwalk(name, topdown=False, dir_fd=parent):
        del descriptor
        os.rmdir(directory, dir_fd=parent)


def _changed(path: str) -> InterlockError:
    message = f"{path!r} changed while it was being kept; it was left alone."
    return InterlockError("git_conflict", message, "Stop what writes it, then try again.", {"paths": [path]})
