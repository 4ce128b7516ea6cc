"""Processes and their ancestors, as little as the hook needs of them: it runs before every tool call.

A process is named by its pid and by when it began, so that no other can be taken for it.
"""

from __future__ import annotations

import os

__all__ = [
    "DRIVER",
    "LAUNCHERS",
    "MARKER",
    "ancestors",
    "boot",
    "host",
    "is_of_a_run",
    "name_of",
    "names_above",
    "started",
]

DRIVER = "ralph-driver"
"""What a process is called while it drives agents."""
MARKER = "RALPH_RUN"
"""The name in the environment that holds the marker of an agent's run."""

LAUNCHERS = frozenset("bash dash env fish npm npx pipx pnpm ralph ralph-hook sh uv uvx zsh".split())
"""What only carries a command to the agent: a launcher is never taken for the agent itself."""
_PROC = "/proc/self/stat"
_MOST = 64


def host() -> str:
    return os.uname().nodename


def boot() -> str:
    """What tells this start of the machine from every other."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return _ask("sysctl", "-n", "kern.boottime")


def started(pid: int) -> str | None:
    """When a process began, in whatever unit the system has; None where there is none."""
    if os.path.exists(_PROC):
        fields = _stat(pid)
        return None if fields is None or fields[1] in ("Z", "X") else fields[20]
    return _ask("ps", "-o", "lstart=", "-p", str(pid)) or None


def ancestors(pid: int) -> list[tuple[int, str, str]]:
    """The processes above one, nearest first: pid, when it began, its command. The first of all is left out."""
    found: list[tuple[int, str, str]] = []
    while len(found) < _MOST and (above := _above(pid)) is not None and above[0] > 1:
        found.append(above)
        pid = above[0]
    return found


def is_of_a_run(pid: int) -> bool:
    """Whether a process began with the marker of a run; False where the system does not tell."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return any(one.startswith(f"{MARKER}=".encode()) for one in file.read().split(b"\0"))
    except OSError:  # it has ended, it is another user's, or there is no /proc
        return False


def name_of(pid: int, began: str) -> str:
    """The one name of a process, among all hosts and all their starts."""
    return f"process:{host()}:{boot()}:{pid}:{began}"


def names_above() -> list[str]:
    """The names of the processes above this one, nearest first."""
    prefix = f"process:{host()}:{boot()}:"
    return [f"{prefix}{pid}:{began}" for pid, began, _ in ancestors(os.getpid())]


def _above(pid: int) -> tuple[int, str, str] | None:
    if os.path.exists(_PROC):
        fields = _stat(pid)
        parent = _stat(int(fields[2])) if fields is not None else None
        return None if fields is None or parent is None else (int(fields[2]), parent[20], parent[0])
    parent_pid = _ask("ps", "-o", "ppid=", "-p", str(pid))
    if not parent_pid.isdigit():
        return None
    began = _ask("ps", "-o", "lstart=", "-p", parent_pid)
    return int(parent_pid), began, os.path.basename(_ask("ps", "-o", "comm=", "-p", parent_pid))


def _stat(pid: int) -> list[str] | None:
    """The command's name, then the fields of `/proc/PID/stat` after it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    head, _, tail = text.rpartition(")")
    return [head.partition("(")[2], *tail.split()]


def _ask(*command: str) -> str:
    import subprocess

    done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    return done.stdout.strip()
