"""The mounts of a sandbox of bubblewrap, as its arguments.

They are made in their order, so a cover must come before what is shown below it. A mount point has to exist where the
file system is read-only, and must not be a link: its target is not there yet while the mounts are made.
"""

from __future__ import annotations

import os
from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["Mounts", "whole"]

_COVER: Final = 1 << 20
"""Bytes of a directory that covers another: room for mount points, and read-only in the end."""


def whole(path: Path) -> Path:
    """Return the path without links."""
    return Path(os.path.realpath(path))


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
        self._places: list[tuple[Path, bool]] = []
        self._closing: list[Path] = []

    def is_visible(self, path: Path) -> bool:
        """True if the last mount at a path or above it shows it; the whole machine is shown at first."""
        found = [is_shown for place, is_shown in self._places if path.is_relative_to(place)]
        return found[-1] if found else True

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
        self._closing.append(path)

    def _cover(self, path: Path, size: int, mode: str) -> None:
        self.add("--perms", mode, "--size", str(size), "--tmpfs", path)
        self._put(path, is_shown=False)

    def hide(self, path: Path) -> None:
        """Cover what is at a path, if anything is and can be seen."""
        path = whole(path)
        if not self.is_visible(path) or path == Path("/"):
            return
        if path.is_dir():
            self.empty(path)
        elif os.path.lexists(path):
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
        self._places.append((directory, True))
        for path in sorted(_children(directory) - without):
            if path.is_symlink():
                self.add("--symlink", os.readlink(path), path)  # noqa: PTH115 as it is
            else:
                self.add("--ro-bind-try", path, path)

    def show(self, source: Path, target: Path, *, is_writable: bool = False) -> None:
        """Show something of the machine at a path, covered or not."""
        self.add("--bind" if is_writable else "--ro-bind", source, target)
        self._put(target, is_shown=True)

    def _put(self, path: Path, *, is_shown: bool) -> None:
        """Note a mount, under which every earlier one at its path and below it is gone."""
        self._places.append((path, is_shown))
        self._closing = [one for one in self._closing if not one.is_relative_to(path)]

    def close(self) -> None:
        """Make the covers read-only."""
        for path in self._closing:
            self.add("--remount-ro", path)
