"""Processes, named so that no other can be taken for one: host, boot, pid and start time."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Process", "is_alive", "this_process"]


@dataclass(frozen=True, slots=True)
class Process:
    """One process on one host, never to be mistaken for another that gets the same pid later."""

    host: str
    boot: str
    pid: int
    started: str


def this_process() -> Process:
    """The process that asks."""
    pid = os.getpid()
    return Process(platform.node(), _boot(), pid, _started(pid) or "")


def is_alive(process: Process) -> bool | None:
    """Whether a process still is; None where it is on a host that cannot be seen from here. A stopped one is."""
    if process.host != platform.node():
        return None
    return process.boot == _boot() and _started(process.pid) == process.started


def _boot() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    if path.exists():
        return path.read_text(encoding="ascii").strip()
    return _ask("sysctl", "-n", "kern.boottime")


def _started(pid: int) -> str | None:
    """When a process began, in whatever unit the system has; None where there is none."""
    if Path("/proc/self/stat").exists():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in ("Z", "X") else fields[19]
    return _ask("ps", "-o", "lstart=", "-p", str(pid)) or None


def _ask(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    return done.stdout.strip()
