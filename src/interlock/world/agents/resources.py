"""The processes, memory and disk of one run, watched while it runs: one that uses too much is ended.

A sandbox keeps an agent from the person's files, but not from the machine's memory. What the kernel limits by itself is
in `world/sandbox`; this is for the rest. A look takes a few milliseconds, and the time between looks grows with it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.world.agents.happenings import Failure, FailureKind
from interlock.world.agents.tree import members
from interlock.world.sandbox.policy import Limits

__all__ = ["EXCESSES", "DiskWatch", "ResourceWatch"]

EXCESSES: Final = frozenset({FailureKind.PROCESSES, FailureKind.MEMORY, FailureKind.DISK})
_MIB: Final = 1 << 20
_OFTEN, _SELDOM, _SHARE = 0.2, 2.0, 100.0
"""Seconds between two looks, at least and at most; in between, so many times what a look takes."""
_INODE: Final = 1024
"""Bytes of kernel memory of an empty file in memory, about."""
_FILE: Final = 16 << 10
"""Bytes of disk for each file that a run may write, as ext4 plans for them."""
_LEAST_MEMORY, _LEAST_DISK = 512 * _MIB, 1024 * _MIB
"""Bytes that a run must leave free on the machine; where less than ten times as much is free, a tenth of that."""

Reading = Callable[[str], str | None]


class ResourceWatch:
    """Looks at what a run uses, and says what is too much."""

    def __init__(
        self,
        limits: Limits,
        root: int,
        marker: str,
        directory: Path | None,
        in_memory: Sequence[tuple[Path, int]] = (),
        *,
        read: Reading = lambda path: _read(path),
    ) -> None:
        """`root` is the first process of the run, and `marker` is empty if nothing can leave its descendants.

        `directory` is the tree that it writes; `in_memory` has the paths and sizes of its file systems in memory, as
        the run sees them.
        """
        self._limits = limits
        self._root = root
        self._marker = marker
        self._in_memory = in_memory
        self._read = read
        self._due = 0.0
        free = self._available()
        self._least = None if free is None else min(_LEAST_MEMORY, free // 10)
        self._disk = DiskWatch(directory, limits.disk) if directory is not None and limits.disk is not None else None

    def look(self, present: float) -> Failure | None:
        """Return why the run must end now, if it must; between two looks it does nothing."""
        if present < self._due:
            return None
        began = time.perf_counter()
        found = self._processes_and_memory()
        if found is None and self._disk is not None and (said := self._disk.excess()) is not None:
            found = Failure(FailureKind.DISK, None, said)
        self._due = present + min(_SELDOM, max(_OFTEN, _SHARE * (time.perf_counter() - began)))
        return found

    def look_at_end(self) -> Failure | None:
        """Return what is too much of what a run that has ended has left."""
        said = None if self._disk is None else self._disk.excess_at_end()
        return None if said is None else Failure(FailureKind.DISK, None, said)

    def _processes_and_memory(self) -> Failure | None:
        most, limit = self._limits.processes, self._limits.memory
        if sys.platform != "linux" or (most is None and limit is None):
            return None
        free = self._available()
        if limit is not None and free is not None and self._least is not None and free < self._least:
            said = f"The machine had {free // _MIB} MiB of memory left, less than {self._least // _MIB} MiB."
            return Failure(FailureKind.MEMORY, None, said)
        found = members(self._root, self._marker)
        count, used = 0, 0
        for pid in found:
            status = self._fields(f"/proc/{pid}/status")
            count += status.get("Threads", 0)
            used += (status.get("RssAnon", 0) + status.get("RssShmem", 0)) << 10
        if most is not None and count >= most:
            said = f"It had {count} processes and threads. Up to {most} are allowed: agent.max_processes in ralph.toml."
            return Failure(FailureKind.PROCESSES, None, said)
        if limit is None or used + sum(size for _, size in self._in_memory) <= limit:
            return None
        files = self._in_files(found)
        if used + files <= limit or (used := self._exact(found)) + files <= limit:
            return None
        said = (
            f"It used {(used + files) // _MIB} MiB of memory, {files // _MIB} of them for files in memory. Up to "
            f"{limit // _MIB} are allowed: agent.max_memory_mib in ralph.toml."
        )
        return Failure(FailureKind.MEMORY, None, said)

    def _exact(self, found: Iterable[int]) -> int:
        """Return the memory of processes, with what several share counted once; it is slow, so it is asked last."""
        used = 0
        for pid in found:
            rollup = self._fields(f"/proc/{pid}/smaps_rollup") or self._fields(f"/proc/{pid}/status")
            names = ("Pss_Anon", "Pss_Shmem") if "Pss_Anon" in rollup else ("RssAnon", "RssShmem")
            used += sum(rollup.get(name, 0) for name in names) << 10
        return used

    def _in_files(self, found: Sequence[int]) -> int:
        """Return the bytes of files in memory, seen through a process in the sandbox."""
        for pid in reversed(found):
            used = 0
            with suppress(OSError):
                for path, size in self._in_memory:
                    told = os.statvfs(f"/proc/{pid}/root{path}")
                    if told.f_blocks * told.f_frsize > size + told.f_frsize:
                        break  # the sandbox is not ready: this is a file system of the machine
                    used += (told.f_blocks - told.f_bfree) * told.f_frsize + (told.f_files - told.f_ffree) * _INODE
                else:
                    return used
        return 0

    def _available(self) -> int | None:
        kib = self._fields("/proc/meminfo").get("MemAvailable")
        return None if kib is None else kib << 10

    def _fields(self, path: str) -> dict[str, int]:
        """Return the numbers in a file of /proc, by their names."""
        found = {}
        for line in (self._read(path) or "").splitlines():
            name, _, rest = line.partition(":")
            value = rest.split(maxsplit=1)
            if value and value[0].isdigit():
                found[name] = int(value[0])
        return found


def _file_time(directory: Path) -> int:
    """Return the time that a file has which is changed now: the clock of a file system is behind."""
    try:
        with tempfile.TemporaryFile(dir=directory) as scratch:
            return os.fstat(scratch.fileno()).st_ctime_ns
    except OSError:
        return time.time_ns() - 1_000_000_000


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 each process, at each look
            return file.read()
    except OSError:
        return None


class DiskWatch:
    """Says if a run writes too much into a tree.

    The free space of its file system is read at each look. The files are counted only when as much is gone as the run
    may still write, and in a thread; afterwards not before as much is gone again as it then may still write.
    """

    def __init__(self, directory: Path, most: int) -> None:
        self._directory = directory
        self._began = _file_time(directory)
        free, files = self._free()
        self._most = min(most, free // 2)
        self._most_files = most // _FILE if files is None else min(most // _FILE, files // 2)
        self._least = min(_LEAST_DISK, free // 10)
        self._marks: tuple[int, int | None] = (free, files)
        self._left = (self._most, self._most_files)
        self._counted: list[tuple[int, int]] = []
        self._counting: threading.Thread | None = None

    def excess(self) -> str | None:
        """Return what is too much, as a sentence."""
        free, files = self._free()
        if free < self._least:
            return f"The disk had {free // _MIB} MiB left, less than {self._least // _MIB} MiB. Free some space."
        if self._counting is not None:
            if self._counting.is_alive():
                return None
            self._counting = None
            written, count = self._counted.pop()
            if (said := self._excess_of(written, count)) is not None:
                return said
            self._left = self._most - written, self._most_files - count
        before, files_before = self._marks
        before = max(before, free)
        files_before = files_before if files is None else max(files, files_before or 0)
        self._marks = before, files_before
        is_over = before - free > self._left[0]
        is_over = is_over or (files is not None and (files_before or 0) - files > self._left[1])
        if is_over:
            self._marks = free, files
            self._counting = threading.Thread(target=self._count, name="disk-watch", daemon=True)
            self._counting.start()
        return None

    def excess_at_end(self) -> str | None:
        """The same for a run that has ended. All its files are counted, also if the disk has no less room."""
        if self._counting is not None:
            self._counting.join()
            self._counting = None
        self._count()
        return self._excess_of(*self._counted.pop())

    def _excess_of(self, written: int, count: int) -> str | None:
        if written > self._most:
            return self._too_much(f"{written // _MIB} MiB", f"{self._most // _MIB} MiB")
        if count > self._most_files:
            return self._too_much(f"{count} files", str(self._most_files))
        return None

    def _too_much(self, written: str, most: str) -> str:
        return (
            f"It wrote {written} into its tree. Up to {most} are allowed: agent.max_disk_mib in ralph.toml, and half "
            "of what is free."
        )

    def _free(self) -> tuple[int, int | None]:
        """Return the bytes and the files for which there is room; None for files where that is not limited."""
        try:
            told = os.statvfs(self._directory)
        except OSError:
            return sys.maxsize, None
        return told.f_bavail * told.f_frsize, told.f_favail if told.f_files else None

    def _count(self) -> None:
        """Count what was written since the run began: nobody but root can set the time of a change.

        A file with holes counts as large as it says: that it is wherever it is copied, and holes take time to read.
        """
        written = count = 0
        seen: set[int] = set()
        left = [str(self._directory)]
        while left:
            with suppress(OSError), os.scandir(left.pop()) as entries:
                for entry in entries:
                    with suppress(OSError):
                        told = entry.stat(follow_symlinks=False)
                        if entry.is_dir(follow_symlinks=False):
                            left.append(entry.path)
                        if told.st_ctime_ns >= self._began and told.st_ino not in seen:
                            is_file = entry.is_file(follow_symlinks=False)
                            written += max(told.st_blocks * 512, told.st_size if is_file else 0)
                            count += 1
                            if told.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                                seen.add(told.st_ino)
        self._counted.append((written, count))
