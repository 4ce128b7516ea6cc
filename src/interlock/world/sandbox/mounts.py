"""The mounts of a sandbox of bubblewrap, as its arguments.

They are made in their order, so a cover must come before what is shown below it. A mount point has to exist where the
file system is read-only, and must not be a link: its target is not there yet while the mounts are made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Set
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["Mounts", "whole", "wholes"]

_ROOT: Final = Path("/")
_COVER: Final = 1 << 20
"""Bytes of a directory that covers another: room for mount points, and read-only in the end."""


def whole(path: Path) -> Path:
    """Return the path without links."""
    return Path(os.path.realpath(path))


def wholes(paths: Iterable[Path]) -> list[Path]:
    """Return the paths without links, each directory before what is in it; a parent of several is looked at once."""
    directories: dict[Path, Path] = {}
    found = set()
    for path in paths:
        parent = path.parent
        if parent not in directories:
            directories[parent] = whole(parent)
        place = directories[parent] / path.name
        is_link = os.path.islink(place)  # noqa: PTH114 Path raises where we may not look
        found.add(whole(path) if is_link or path.name == ".." else place)
    return sorted(found)


def _upwards(path: Path | str) -> list[str]:
    """The path, which is absolute, and every directory above it."""
    text = str(path)
    return [text, *(text[: at or 1] for at, one in enumerate(text) if one == "/")]


def _children(directory: Path) -> set[Path]:
    """The names in a directory that can be looked at; mounts whose server is gone cannot."""
    found = set()
    with suppress(OSError):
        for path in directory.iterdir():
            with suppress(OSError):
                path.lstat()
                found.add(path)
    return found


class Mounts:
    """A growing list of mounts."""

    def __init__(self) -> None:
        self.arguments: list[str] = []
        self.in_memory: list[tuple[Path, int]] = []
        """The directories of `temporary`, and their sizes."""
        self._places: dict[str, tuple[int, bool]] = {}
        """The last mount at each path: its number, and whether it shows what is there."""
        self._closing: dict[str, int] = {}
        """The covers that become read-only, each with the number of arguments after which nothing is put below it."""

    def is_visible(self, path: Path) -> bool:
        """True if the last mount at a path or above it shows it; the whole machine is shown at first."""
        found = [self._places[one] for one in _upwards(path) if one in self._places]
        return max(found)[1] if found else True

    def add(self, *arguments: str | Path) -> None:
        """Add arguments as they are."""
        self.arguments += map(str, arguments)

    def temporary(self, path: Path, size: int, mode: str) -> None:
        """Add an empty directory in memory that can be written."""
        self._cover(path, size, mode)
        self.in_memory.append((path, size))

    def empty(self, path: Path) -> None:
        """Add an empty directory that becomes read-only once everything below it is there."""
        self._cover(path, _COVER, "0755")
        self._closing[str(path)] = len(self.arguments)

    def _cover(self, path: Path, size: int, mode: str) -> None:
        self.add("--perms", mode, "--size", str(size), "--tmpfs", path)
        self._put(path, is_shown=False)

    def hide(self, path: Path) -> None:
        """Cover what is at a path, which has no links, if anything is and can be seen."""
        if not os.path.lexists(path) or not self.is_visible(path) or path == _ROOT:
            return
        if path.is_dir():
            self.empty(path)
        else:
            self.add("--dev-bind", "/dev/null", path)
            self._put(path, is_shown=False)

    def rebuild(self, directory: Path, without: Set[Path]) -> None:
        """Put an empty directory in the place of one, with everything of it but some names.

        A file that is only covered is uncovered when the person's programs replace it while the agent runs.
        """
        directory = whole(directory)
        if not self.is_visible(directory):
            return
        self.empty(directory)
        self._note(directory, is_shown=True)
        for path in sorted(_children(directory) - without):
            if path.is_symlink():
                self.add("--symlink", os.readlink(path), path)  # noqa: PTH115 as it is
            else:
                self.add("--ro-bind-try", path, path)
        self._closing[str(directory)] = len(self.arguments)

    def show(self, source: Path, target: Path, *, is_writable: bool = False) -> None:
        """Show something of the machine at a path, covered or not."""
        self.add("--bind" if is_writable else "--ro-bind", source, target)
        self._put(target, is_shown=True)

    def _put(self, path: Path, *, is_shown: bool) -> None:
        """Note a mount, under which every earlier one at its path and below it is gone."""
        self._note(path, is_shown=is_shown)
        for one in [one for one in self._closing if str(path) in _upwards(one)]:
            del self._closing[one]
        self._closing |= {one: len(self.arguments) for one in _upwards(path) if one in self._closing}

    def _note(self, path: Path, *, is_shown: bool) -> None:
        self._places[str(path)] = len(self.arguments), is_shown

    def close(self) -> None:
        """Make the covers read-only, each as soon as it can be: bubblewrap reads the list of all mounts each time."""
        for path, after in sorted(self._closing.items(), key=lambda one: one[1], reverse=True):
            self.arguments[after:after] = ("--remount-ro", path)
