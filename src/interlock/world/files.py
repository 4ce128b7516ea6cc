"""Files replaced as a whole: whoever reads one, or comes after a crash, finds the old content or the new one.

The content goes into a scratch file of its own beside the place, `thread.json.<random>.tmp`, to the disk, and then into
place by one rename; the directory goes to the disk as well. A scratch file is locked while its writer lives, so what a
crash left behind can be told from what somebody is about to use.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.errors import InterlockError

__all__ = [
    "FILE_CLOCK_LAG",
    "FileMark",
    "create_at",
    "file_clock",
    "has_changed_since",
    "is_settled",
    "mark",
    "read_below",
    "read_file",
    "remove_file",
    "replace_at",
    "sweep",
    "sweep_at",
    "unwritable",
    "write_all",
    "write_bytes",
]

_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SCRATCH: Final = re.compile(r".+\.[0-9a-f]{16}\.tmp", re.DOTALL)
FILE_CLOCK_LAG: Final = 0.05
"""Seconds that the time of a file may lie before that of an entry which was written earlier.

The kernel's clock for files ticks: usually every 4 to 10 ms, later on a busy machine.
"""
FileMark = tuple[int, int, int, int, int]
"""The mode, inode, size and times of a file: they tell it from a later one of the same name."""
_COARSEST: Final = 3.0
"""Seconds until the clock of any file system ticks; FAT has the slowest, with 2."""


def write_bytes(path: Path, content: bytes, *, is_durable: bool = True) -> None:
    """Replace a file as a whole, keep its mode, and make the directory that it is in.

    What can be made anew need not wait for the disk.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        place = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            replace_at(place, path.name, content, is_durable=is_durable)
        finally:
            os.close(place)
    except OSError as error:
        raise unwritable(path, error) from None


def remove_file(path: Path) -> None:
    """Remove a file, if it is there."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from None


def sweep(directory: Path) -> None:
    """Remove the scratch files that dead writers left in a directory, where there is one."""
    with suppress(OSError):
        place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sweep_at(place)
        finally:
            os.close(place)


def unwritable(path: Path, error: OSError) -> InterlockError:
    """The error of a file that cannot be written."""
    message = f"{path} cannot be written: {error.strerror or error}."
    return InterlockError("file_unwritable", message, "Make room, or give yourself write permission.")


def mark(path: Path | str) -> FileMark | None:
    """Return the mark of what has this name, without following a link; None if nothing has it."""
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return seen.st_mode, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def is_settled(mark: FileMark) -> bool:
    """True if the next change of a file will have another time than the change in its mark."""
    return max(mark[3:]) + FILE_CLOCK_LAG * 1e9 < time.time_ns()


def read_file(path: Path | str) -> bytes | None:
    """Return the content of a file; None if there is no file, or it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def read_below(root: Path, name: str, most: int) -> bytes | None:
    """Return the beginning of a file, at most so many bytes; None if it is not a file, or lies outside the root."""
    found = (root / name).resolve()
    if not found.is_relative_to(root.resolve()) or not found.is_file():
        return None
    with found.open("rb") as file:
        return file.read(most)


def file_clock(directory: Path) -> int:
    """Return the time, in nanoseconds, of the clock of the file system that a directory is on, just after a tick.

    Every change before the call has an earlier time, and every change after it the same time or a later one. The
    system's clock does not tell that: the times of files lag behind it, by up to 10 ms or more on a busy machine.
    """
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=directory) as scratch:
            before, until = _touched(scratch.fileno()), time.monotonic() + _COARSEST
            while (now := _touched(scratch.fileno())) <= before and time.monotonic() < until:
                time.sleep(0.001)
            return now
    except OSError as error:
        raise unwritable(directory, error) from None


def _touched(handle: int) -> int:
    os.utime(handle)
    return os.fstat(handle).st_ctime_ns


def has_changed_since(root: Path, names: Iterable[str], moment: int) -> bool:
    """True if one of these files was changed, moved or removed at a moment of `file_clock` or later.

    The time of the last change of all counts: a program can set the others.
    """
    return any(_changed_at(f"{root}/{name}") >= moment for name in names)


def _changed_at(path: str) -> int:
    """The time of the last change of a file; if it is gone, that of its directory."""
    try:
        return os.lstat(path).st_ctime_ns
    except (FileNotFoundError, NotADirectoryError):
        return _changed_at(str(Path(path).parent))
    except OSError:
        return 0


def replace_at(place: int, name: str, content: bytes, *, is_durable: bool = True) -> None:
    """Replace a file of a directory, which is given by its descriptor."""
    scratch, handle = _scratch(place, name)
    try:
        _fill(handle, content, _mode(place, name), is_durable=is_durable)
        os.replace(scratch, name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        _unlink(place, scratch)
        raise
    finally:
        os.close(handle)
    if is_durable:
        os.fsync(place)


def create_at(place: int, name: str, content: bytes) -> bool:
    """Make a file of a directory, whole at once; False where there is one already, which stays as it is."""
    scratch, handle = _scratch(place, name)
    try:
        try:
            _fill(handle, content, None)
            os.link(scratch, name, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=False)
        except FileExistsError:
            return False
        finally:
            _unlink(place, scratch)
    finally:
        os.close(handle)
    os.fsync(place)
    return True


def sweep_at(place: int) -> int:
    """Remove the scratch files of a directory whose writers are gone, and say how many."""
    removed = 0
    for name in os.listdir(place):
        if _SCRATCH.fullmatch(name):
            with suppress(OSError):  # somebody else sweeps, or it is no file of ours
                removed += _sweep(place, name)
    return removed


def _sweep(place: int, name: str) -> bool:
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return False
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held by a writer that lives
        os.unlink(name, dir_fd=place)
    finally:
        os.close(handle)
    return True


def _scratch(place: int, name: str) -> tuple[str, int]:
    """A scratch file that nobody else has, locked."""
    while True:
        scratch = f"{name}.{os.urandom(8).hex()}.tmp"
        handle = os.open(scratch, _NEW, 0o666, dir_fd=place)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return scratch, handle
        os.close(handle)  # it was swept away between the two lines


def _fill(handle: int, content: bytes, mode: int | None, *, is_durable: bool = True) -> None:
    write_all(handle, content)
    if mode is not None:
        os.fchmod(handle, mode)
    if is_durable:
        os.fsync(handle)


def write_all(handle: int, content: bytes) -> None:
    """Write every byte: a disk that is nearly full takes some of them and says so only the next time."""
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def _mode(place: int, name: str) -> int | None:
    try:
        seen = os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return stat.S_IMODE(seen.st_mode) if stat.S_ISREG(seen.st_mode) else None


def _unlink(place: int, name: str) -> None:
    with suppress(OSError):  # gone already; or the disk fails, and what failed first is what counts
        os.unlink(name, dir_fd=place)
