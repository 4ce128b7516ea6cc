"""Hears when files change, where the system tells it: on Linux, by inotify. Elsewhere nothing is ever heard.

Whoever uses it looks again after a while all the same; it only makes that while shorter for less.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["FileWatch"]

_WRITTEN: Final = 0x02
_MADE_OR_MOVED_TO: Final = 0x100 | 0x80
_MOST_BYTES: Final = 65536


class FileWatch:
    """What changed since it was asked last, of the files and directories that it watches."""

    def __init__(self) -> None:
        self._system = ctypes.CDLL(None, use_errno=True)
        begin = getattr(self._system, "inotify_init1", None)
        self._descriptor: int = begin(os.O_NONBLOCK | os.O_CLOEXEC) if begin is not None else -1

    @property
    def descriptor(self) -> int | None:
        """Becomes readable when something changed; None where nothing can be heard."""
        return self._descriptor if self._descriptor >= 0 else None

    def covers(self, *paths: Path) -> bool:
        """Watch files for writes, and directories for what appears in them; whether it hears of all of them.

        Ask again now and then: what was not there may be, and what was replaced is watched anew.
        """
        return self._descriptor >= 0 and all(self._watch(path) for path in paths)

    def _watch(self, path: Path) -> bool:
        kind = _MADE_OR_MOVED_TO if path.is_dir() else _WRITTEN
        return bool(self._system.inotify_add_watch(self._descriptor, os.fsencode(path), kind) >= 0)

    def forget(self) -> None:
        """Take what changed as seen."""
        with suppress(BlockingIOError):
            while self._descriptor >= 0 and len(os.read(self._descriptor, _MOST_BYTES)) > _MOST_BYTES // 2:
                pass

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
