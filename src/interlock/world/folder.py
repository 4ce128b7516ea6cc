"""A directory of ours, with everything below it: nothing in it is reached through a symbolic link.

Agents can write where we write. One that puts a link in the place of a file or a directory must neither make us read
what lies behind it nor write there, so each part of a name is opened by itself, without following.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from interlock.errors import InterlockError, UsageError
from interlock.world.files import create_at, replace_at, sweep_at, unwritable, write_all
from interlock.world.repository import make_private

__all__ = ["Folder"]

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOG: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_UNSAFE: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO})
_REJECTED: Final = "rejected"
_MOST: Final = 16 * 1024 * 1024


class Folder:
    """Names are relative, with `/`. What is missing is None or nothing; the first write makes the directories.

    Errors are `file_unsafe` for a link or what is no file, `file_unreadable` and `file_unwritable`.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = path

    def read(self, name: str, most: int = _MOST) -> bytes | None:
        """A file's content; more than so many bytes are an error."""
        with self._errors(name, "r"), self._opened(name) as handle:
            if handle is None:
                return None
            if os.fstat(handle).st_size > most:
                message = f"{self.path / name} has more than {most} bytes."
                raise InterlockError("file_unreadable", message, "Move it away; it is made anew.")
            with os.fdopen(os.dup(handle), "rb") as file:
                return file.read(most)

    def tail(self, name: str, most: int) -> bytes | None:
        """The end of a file, however long the file is."""
        with self._errors(name, "r"), self._opened(name) as handle:
            if handle is None:
                return None
            start = max(0, os.fstat(handle).st_size - most)
            with os.fdopen(os.dup(handle), "rb") as file:
                file.seek(start)
                return file.read(most)

    def write(self, name: str, content: bytes) -> None:
        """Replace a file as a whole."""
        with self._errors(name, "w"), self._place(name) as (place, last):
            replace_at(place, last, content)

    def create(self, name: str, content: bytes) -> bool:
        """Make a file that is not there yet, whole at once; False where it is there."""
        with self._errors(name, "w"), self._place(name) as (place, last):
            return create_at(place, last, content)

    def append(self, name: str, content: bytes, *, is_line: bool = False) -> None:
        """Put all of it at the end of a file, or nothing.

        With `is_line`, half a line that a crash left there is ended first, so that it spoils nothing but itself.
        """
        with self._errors(name, "w"), self._place(name) as (place, last):
            handle = os.open(last, _LOG, 0o666, dir_fd=place)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                seen = os.fstat(handle)
                if not stat.S_ISREG(seen.st_mode) or seen.st_nlink > 1:
                    raise self._unsafe(name)  # a second name of it may lie anywhere
                _append(handle, content, seen.st_size, is_line=is_line)
            finally:
                os.close(handle)
            os.fsync(place)

    def names(self, name: str) -> list[str]:
        """What is in a directory, in order."""
        with self._errors(name, "r"), self._directory(name) as place:
            return [] if place is None else sorted(os.listdir(place))  # noqa: PTH208 - by its descriptor

    def sweep(self, name: str) -> int:
        """Remove what writers that are gone left in a directory, and say how many files that were."""
        with self._errors(name, "w"), self._directory(name) as place:
            return 0 if place is None else sweep_at(place)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._errors(name, "w"), self._known(name) as (place, last):
            if place is not None:
                with suppress(FileNotFoundError):
                    os.unlink(last, dir_fd=place)
                os.fsync(place)

    def set_aside(self, name: str) -> str | None:
        """Move whatever has this name to `rejected/<name>-<n>`, with the next number, and say where it is now."""
        with self._errors(name, "w"), self._known(name) as (place, last):
            return None if place is None else self._take(place, last, name)

    def take_in(self, path: Path, name: str) -> str | None:
        """The same for something that lies elsewhere on this disk; None where there is nothing."""
        with self._errors(name, "w"):
            try:
                place = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except (FileNotFoundError, NotADirectoryError):
                return None
            try:
                return self._take(place, path.name, name)
            finally:
                os.close(place)

    def _take(self, source: int, last: str, name: str) -> str | None:
        try:
            seen = os.stat(last, dir_fd=source, follow_symlinks=False)
        except FileNotFoundError:
            return None
        with self._directory(_REJECTED, is_made=True) as place:
            assert place is not None
            kept = _reserved(place, name.replace("/", "-"), is_directory=stat.S_ISDIR(seen.st_mode))
            os.rename(last, kept, src_dir_fd=source, dst_dir_fd=place)
            os.fsync(place)
            return f"{_REJECTED}/{kept}"

    # Ways down

    @contextmanager
    def _opened(self, name: str) -> Iterator[int | None]:
        with self._known(name) as (place, last):
            try:
                handle = None if place is None else os.open(last, _FILE, dir_fd=place)
            except FileNotFoundError:
                handle = None
            try:
                if handle is not None and not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise self._unsafe(name)
                yield handle
            finally:
                if handle is not None:
                    os.close(handle)

    @contextmanager
    def _known(self, name: str) -> Iterator[tuple[int | None, str]]:
        """The directory of a file, if it is there, and the file's own name."""
        *above, last = _parts(name)
        with self._directory("/".join(above)) as place:
            yield place, last

    @contextmanager
    def _place(self, name: str) -> Iterator[tuple[int, str]]:
        """The directory of a file, made where it is missing, and the file's own name."""
        *above, last = _parts(name)
        with self._directory("/".join(above), is_made=True) as place:
            assert place is not None
            yield place, last

    @contextmanager
    def _directory(self, name: str, *, is_made: bool = False) -> Iterator[int | None]:
        if is_made:
            self.path.mkdir(0o700, exist_ok=True)
            make_private(str(self.path))
        reached: int | None = None
        try:
            try:
                reached = os.open(self.path, _DIRECTORY)
                for part in _parts(name) if name else ():
                    below = _below(reached, part, is_made=is_made)
                    os.close(reached)
                    reached = below
            except FileNotFoundError:
                if is_made:
                    raise
                yield None
            else:
                yield reached
        finally:
            if reached is not None:
                os.close(reached)

    @contextmanager
    def _errors(self, name: str, mode: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in _UNSAFE or isinstance(error, FileExistsError):
                raise self._unsafe(name) from None
            if mode == "w":
                raise unwritable(self.path / name, error) from None
            message = f"{self.path / name} cannot be read: {error.strerror or error}."
            raise InterlockError("file_unreadable", message, "Give yourself permission to read it.") from None

    def _unsafe(self, name: str) -> InterlockError:
        message = f"{self.path / name}, or a directory above it, is a link or no plain file. It was not followed."
        return InterlockError("file_unsafe", message, "Look who put it there, and remove it.")


def _parts(name: str) -> list[str]:
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise UsageError("invalid_argument", f"{name[:80]!r} is no name of a file of ours.", "Name one below it.")
    return parts


def _below(place: int, name: str, *, is_made: bool) -> int:
    if is_made:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=place)
            os.fsync(place)
    return os.open(name, _DIRECTORY, dir_fd=place)


def _append(handle: int, content: bytes, size: int, *, is_line: bool) -> None:
    is_torn = is_line and size > 0 and os.pread(handle, 1, size - 1) != b"\n"
    try:
        write_all(handle, b"\n" + content if is_torn else content)
        os.fsync(handle)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(handle, size)
        raise


def _reserved(place: int, name: str, *, is_directory: bool) -> str:
    """A name in a directory that nobody else has, with an empty file or directory in it to be moved over."""
    number = 1 + max((_number(one, name) for one in os.listdir(place)), default=0)
    while True:
        kept = f"{name}-{number}"
        try:
            if is_directory:
                os.mkdir(kept, dir_fd=place)
            else:
                os.close(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=place))
        except FileExistsError:
            number += 1
        else:
            return kept


def _number(one: str, name: str) -> int:
    digits = one.removeprefix(f"{name}-")
    return int(digits) if digits != one and digits.isascii() and digits.isdigit() and len(digits) < 10 else 0
