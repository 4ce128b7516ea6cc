"""All processes of one run, found and ended: its group, its descendants, and whoever carries its marker.

On Linux `/proc` is read. Elsewhere `ps` is asked, which shows no environments: a process that left both the group and
its parent is not found there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from interlock.world.ancestry import MARKER, ancestors

__all__ = ["MARKER", "end_marked", "everyone", "has_exited", "kill", "members", "terminate"]

_GRACE = 2.0
"""How many seconds the processes of a dead run have to end by themselves."""
_KILLING = 2.0
"""How many seconds it is tried to end what cannot be asked; only the kernel itself can hold a process longer."""
_POLL = 0.02


class _Seen(msgspec.Struct, frozen=True):
    pid: int
    parent: int
    group: int
    is_alive: bool


def members(root: int | None, marker: str) -> list[int]:
    """The processes of a run that are alive: of its root's group, marked, or started by one of these.

    Without a root only the marker tells. We ourselves and whoever is above us are never among them.
    """
    seen = list(everyone())
    spared = {os.getpid(), *(pid for pid, _, _ in ancestors(os.getpid()))}
    found = {one.pid for one in seen if (root and root in (one.pid, one.group)) or _is_marked(one.pid, marker)}
    found -= spared
    while more := {one.pid for one in seen if one.parent in found} - found - spared:
        found |= more
    return sorted(one.pid for one in seen if one.pid in found and one.is_alive)


def terminate(root: int | None, marker: str, spared: int | None = None) -> int:
    """Ask every process of a run to end, except one that is spared; how many there are."""
    there = members(root, marker)
    for pid in set(there) - {spared}:
        _signal(pid, signal.SIGTERM)
    return len(there)


def kill(root: int | None, marker: str) -> list[int]:
    """End every process of a run at once, and those that they start meanwhile; who is there even so."""
    deadline = time.monotonic() + _KILLING
    while left := members(root, marker):
        for pid in left:
            _signal(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL)
    return left


def has_exited(process: subprocess.Popen[bytes]) -> bool:
    """True if the root of a run has exited. Where the system can tell without reaping it, its number stays its own."""
    if sys.platform != "linux":
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # somebody else has reaped it
        return True


def end_marked(marker: str) -> int:
    """End the processes of a run whose driver is dead; how many there were. We and who is above us are spared."""
    there = terminate(None, marker) if marker else 0
    if there:
        deadline = time.monotonic() + _GRACE
        while members(None, marker) and time.monotonic() < deadline:
            time.sleep(_POLL)
        kill(None, marker)
    return there


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _is_marked(pid: int, marker: str) -> bool:
    if not marker:
        return False
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:  # noqa: PTH123 every process, after every run
            environment = file.read()
    except OSError:  # it has ended, it is another user's, or there is no /proc
        return False
    wanted = f"{MARKER}={marker}".encode()
    return wanted in environment and wanted in environment.split(b"\0")


def everyone() -> Iterator[_Seen]:
    """Every process of this system."""
    return _in_proc() if Path("/proc/self/stat").exists() else _from_ps()


def _in_proc() -> Iterator[_Seen]:
    for name in os.listdir("/proc"):  # noqa: PTH208 as plainly as can be: it is done after every run
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:  # noqa: PTH123
                state, parent, group = file.read().rpartition(b")")[2].split(maxsplit=3)[:3]
                yield _Seen(int(name), int(parent), int(group), state not in (b"Z", b"X"))


def _from_ps() -> Iterator[_Seen]:
    command = ("ps", "-axo", "pid=,ppid=,pgid=,stat=")
    for line in subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.splitlines():
        match line.split():
            case [pid, parent, group, state]:
                yield _Seen(int(pid), int(parent), int(group), not state.startswith("Z"))
