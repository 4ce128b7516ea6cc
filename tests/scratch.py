"""The directory for temporary files: in memory where there is room, because a test's journal syncs at each write."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["in_memory"]

_SHARED_MEMORY = Path("/dev/shm")
_ROOM = 6 * 2**30
"""Bytes that must be free, of the file system and of the memory; a run needs a third of it."""


def in_memory() -> str | None:
    """Return a directory in memory, or None where there is none with enough room that programs can be started from.

    A process that is killed loses nothing that it wrote, in memory as on a disk, so a test sees the same in both.
    `RALPH_TEST_ON_DISK=1` stays on the disk.
    """
    if os.environ.get("RALPH_TEST_ON_DISK") == "1" or "TMPDIR" in os.environ:
        return None
    try:
        system = os.statvfs(_SHARED_MEMORY)
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        available = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    is_usable = os.access(_SHARED_MEMORY, os.W_OK) and not system.f_flag & os.ST_NOEXEC
    has_room = min(system.f_bavail * system.f_frsize, available) >= _ROOM
    return str(_SHARED_MEMORY) if is_usable and has_room else None
