"""The processes above this one, read for a decision: every link up to the first process of the machine, or why not.

A walk that ends early proves nothing: there may be an agent beyond its end. So the result says how far it went.
`/proc` may be covered by other files in a mount namespace of the caller's own, so each file must be of the same file
system as `/proc` and must name the process that was asked for.
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path

import msgspec

from interlock.world.ancestry import INITIAL_NAMESPACE, Ancestor, ancestors, parent_of, read_stat

__all__ = ["Lineage", "Reach", "is_namespace_of_root", "is_proc_genuine", "lineage"]

_PROC = "/proc"
_INITIAL_USERS = "user:[4026531837]"
_PROC_MAGIC = 0x9FA0
_TRIES = 20
"""The maximum number of walks, as a process may end during one."""


class Reach(StrEnum):
    """The end of a walk."""

    TOP = "top"
    """Up to the first process of the machine."""
    BORDER = "border"
    """Up to where the system shows no more: a container's first process, one that was put into it, a hidden one."""
    BROKEN = "broken"
    """A link that cannot be read, or that cannot be true."""


class Lineage(msgspec.Struct, frozen=True):
    """The processes above one, nearest first, without the first one of the namespace."""

    above: tuple[Ancestor, ...]
    reach: Reach
    why: str = ""
    """The reason why the walk ended before the top."""


class _ChangedError(Exception):
    """A process ended or lost its parent while it was read."""


def lineage(pid: int | None = None, proc: str = _PROC) -> Lineage:
    """Read all processes above one, by default this one."""
    pid = os.getpid() if pid is None else pid
    if proc == _PROC and not Path(proc, "self/stat").exists():
        return _from_ps(pid)
    for _ in range(_TRIES):
        try:
            return _walked(pid, proc)
        except _ChangedError:
            continue
    return Lineage((), Reach.BROKEN, "the processes above this one change all the time")


def _walked(pid: int, proc: str) -> Lineage:
    above: list[Ancestor] = []
    seen = {pid}
    own = pid
    try:
        device = Path(proc).stat().st_dev
        if str(Path(proc, "self").readlink()) != str(own):
            return Lineage((), Reach.BROKEN, f"{proc} does not show this process's own pid namespace")
    except OSError as error:
        return Lineage((), Reach.BROKEN, f"{proc} cannot be read ({error.strerror})")
    fields = _stat(pid, proc, device)
    while isinstance(fields, list):
        parent = int(fields[3])
        if pid == 1 or parent == 0:
            return _ended(tuple(above), pid, parent, proc, device)
        if parent in seen:
            return Lineage(tuple(above), Reach.BROKEN, f"process {parent} appears twice above this one")
        found = _stat(parent, proc, device)
        again = _stat(pid, proc, device)
        if not isinstance(again, list) or again[3] != fields[3]:
            raise _ChangedError
        if isinstance(found, list) and parent != 1:
            above.append((parent, found[21], found[1]))
        seen.add(parent)
        pid, fields = parent, found
    if fields is None:
        return _missing(tuple(above), pid, own)
    return Lineage(tuple(above), Reach.BROKEN, fields)


def _stat(pid: int, proc: str, device: int) -> list[str] | str | None:
    """The fields of a process, its pid first; a sentence where they are not its own; None where there are none."""
    path = f"{proc}/{pid}/stat"
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 read at every command
            fields, found = read_stat(file.read()), os.fstat(file.fileno()).st_dev
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    if found != device or len(fields) < 22 or fields[0] != str(pid):
        return f"{path} is not what the system says of process {pid}"
    return fields


def _ended(above: tuple[Ancestor, ...], pid: int, parent: int, proc: str, device: int) -> Lineage:
    if pid != 1:
        why = "it was started from outside its container, as `docker exec` and `nsenter` do"
        return Lineage(above, Reach.BORDER, why)
    if parent != 0:
        return Lineage(above, Reach.BROKEN, f"process 1 has the parent {parent}")
    if _link(f"{proc}/self/ns/pid", device) == f"pid:[{INITIAL_NAMESPACE}]":
        return Lineage(above, Reach.TOP)
    return Lineage(above, Reach.BORDER, "it runs in a container or another pid namespace of its own")


def _missing(above: tuple[Ancestor, ...], pid: int, own: int) -> Lineage:
    """The lineage up to a process that `/proc` does not show: it is hidden, or it has ended."""
    if pid == own:
        return Lineage(above, Reach.BROKEN, "/proc does not show this process")
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        raise _ChangedError from None
    except PermissionError:
        pass
    return Lineage(above, Reach.BORDER, f"the system hides process {pid} above it (hidepid)")


def _link(path: str, device: int) -> str:
    try:
        return str(Path(path).readlink()) if Path(path).lstat().st_dev == device else ""
    except OSError:
        return ""


def _from_ps(pid: int) -> Lineage:
    """The same where there is no `/proc`, as on macOS; on Linux there must be one."""
    above = tuple(ancestors(pid))
    if sys.platform == "linux":
        return Lineage(above, Reach.BROKEN, "/proc is not mounted")
    last = above[-1][0] if above else pid
    if parent_of(last) != 1:
        return Lineage(above, Reach.BROKEN, f"`ps` does not show what is above process {last}")
    return Lineage(above, Reach.TOP)


def is_proc_genuine() -> bool:
    """True if `/proc` is the kernel's own file system; also where a system has no `/proc`."""
    if sys.platform != "linux":
        return True
    import ctypes

    told = ctypes.create_string_buffer(256)
    asked: int = ctypes.CDLL(None).statfs(_PROC.encode(), told)
    return asked == 0 and ctypes.cast(told, ctypes.POINTER(ctypes.c_long))[0] == _PROC_MAGIC


def is_namespace_of_root() -> bool:
    """True if only root can have made the pid namespace of this process, and this process is not root.

    Every user can make a pid namespace together with a user namespace, and is root in there.
    """
    try:
        return _link(f"{_PROC}/self/ns/user", Path(_PROC).stat().st_dev) == _INITIAL_USERS and os.geteuid() != 0
    except OSError:
        return False
