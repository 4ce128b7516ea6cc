"""Where an attacker looks for the person's journal: everywhere that a path, a process or a variable could lead.

Without a sandbox the first place has it. In one, each place is tried, and the exact errors are told.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

__all__ = ["OutOfReach", "find_journal"]

_NAME = "journal.db"


class OutOfReach(Exception):
    """Something that an attempt needs is not there; the message has the exact errors."""


def find_journal(root: Path, thread: str) -> Path:
    """Return the path of the journal that has a thread; raises `OutOfReach`."""
    errors: Counter[str] = Counter()
    for path in dict.fromkeys(_places(root)):
        try:
            with sqlite3.connect(f"file:{path}?mode=rw", uri=True) as database:
                found = database.execute("SELECT count(*) FROM instances WHERE id = ?", (thread,)).fetchone()
            database.close()
            if found[0]:
                return path
            errors["a journal, but another one"] += 1
        except (sqlite3.Error, OSError) as error:
            try:
                path.stat()
            except OSError as missing:
                errors[os.strerror(missing.errno or 0)] += 1
            else:
                errors[str(error)] += 1
    told = ", ".join(f"{count} × {said}" for said, count in errors.items())
    raise OutOfReach(f"the journal in {sum(errors.values())} places: {told}")


def _places(root: Path) -> Iterator[Path]:
    inside = f".ralf/{_NAME}"
    yield root / inside
    yield from (place / inside for place in (Path.cwd(), *root.parents))
    yield Path(f"../../../../{_NAME}").absolute()
    for process in sorted(Path("/proc").glob("[0-9]*")):
        yield process / "root" / str(root / inside).lstrip("/")
        yield process / "cwd" / inside
        yield from _open_files(process)
    yield from _named_by_variables()
    yield from _named_by_mounts()
    for place in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "TMPDIR"):
        yield from _below(Path(os.environ.get(place, "/nowhere")))
    yield from _below(Path("/run"))


def _open_files(process: Path) -> Iterator[Path]:
    try:
        handles = list((process / "fd").iterdir())
    except OSError:
        return
    for handle in handles:
        try:
            if handle.readlink().name.startswith(_NAME):
                yield handle
        except OSError:
            continue


def _named_by_variables() -> Iterator[Path]:
    """The paths in the environment of each process."""
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        for word in words:
            path = os.fsdecode(word.partition(b"=")[2])
            if path.startswith("/") and ":" not in path:
                yield Path(path) / f".ralf/{_NAME}"
                yield Path(path) / _NAME


def _named_by_mounts() -> Iterator[Path]:
    """The paths outside that the mounts tell of, and what is beside them."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        source = Path(line.split(" ")[3])
        yield from (Path(f"{top}/{place}/{_NAME}") for top in ("", "/dev/shm", "/tmp") for place in source.parents)


def _below(top: Path) -> Iterator[Path]:
    for where, _, names in os.walk(top):
        yield from (Path(where) / name for name in names if name.endswith((".db", ".sqlite")))
