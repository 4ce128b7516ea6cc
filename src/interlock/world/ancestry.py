"""Processes and their ancestors, as little as the hook needs of them: it runs before every tool call.

A process is named by its host, the host's boot, its pid namespace, its pid and its start time, so that no other can be
taken for it.
"""

from __future__ import annotations

import os

__all__ = [
    "DRIVER",
    "INITIAL_NAMESPACE",
    "LAUNCHERS",
    "MARKER",
    "Ancestor",
    "ancestors",
    "boot",
    "host",
    "is_of_a_run",
    "name_of",
    "names_above",
    "namespace",
    "parent_of",
    "process_name",
    "read_stat",
    "started",
]

Ancestor = tuple[int, str, str]
"""A process above another: its pid, when it began, and its command."""
DRIVER = "ralph-driver"
"""What a process is called while it drives agents."""
MARKER = "RALPH_RUN"
"""The name in the environment that holds the marker of an agent's run."""

LAUNCHERS = frozenset("bash dash env fish npm npx pipx pnpm ralph ralph-hook sh uv uvx zsh".split())
"""What only carries a command to the agent: a launcher is never taken for the agent itself."""
INITIAL_NAMESPACE = "4026531836"
"""The pid namespace that the kernel itself begins with; every container has another."""
_PROC = "/proc/self/stat"


def host() -> str:
    return os.uname().nodename


def boot() -> str:
    """The id of this boot of the machine; empty where the system has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return _plain(_ask("sysctl", "-n", "kern.boottime"))


def namespace() -> str:
    """The pid namespace of this process; empty where the system has none."""
    try:
        return os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]")
    except OSError:
        return ""


def started(pid: int) -> str | None:
    """When a process began, in whatever unit the system has; None where there is none."""
    if os.path.exists(_PROC):
        fields = _stat(pid)
        return None if fields is None or fields[2] in ("Z", "X") else fields[21]
    return _plain(_ask("ps", "-o", "lstart=", "-p", str(pid))) or None


def ancestors(pid: int) -> list[Ancestor]:
    """The processes above one that can be seen, nearest first; the first of all is left out.

    These may not be all: a decision needs the `lineage`.
    """
    found: list[Ancestor] = []
    seen = {pid}
    while (above := _above(pid)) is not None and above[0] > 1 and above[0] not in seen:
        found.append(above)
        pid = above[0]
        seen.add(pid)
    return found


def parent_of(pid: int) -> int:
    """The parent of a process; 0 where the system shows none."""
    above = _above(pid)
    return above[0] if above is not None else 0


def is_of_a_run(pid: int) -> bool:
    """Whether a process began with the marker of a run; False where the system does not tell."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return any(one.startswith(f"{MARKER}=".encode()) for one in file.read().split(b"\0"))
    except OSError:  # it has ended, it is another user's, or there is no /proc
        return False


def name_of(pid: int, began: str) -> str:
    """The one name of a process of this namespace, among all hosts, all their boots and all their namespaces."""
    return process_name(host(), boot(), namespace(), pid, began)


def process_name(host: str, boot: str, namespace: str, pid: int, began: str) -> str:
    """The name of a process. In the initial namespace it has the form that older journals hold."""
    where = boot if namespace in ("", INITIAL_NAMESPACE) else f"{boot}+{namespace}"
    return f"process:{host}:{where}:{pid}:{began}"


def names_above() -> list[str]:
    """The names of the processes above this one, nearest first."""
    here = host(), boot(), namespace()
    return [process_name(*here, pid, began) for pid, began, _ in ancestors(os.getpid())]


def _above(pid: int) -> Ancestor | None:
    if os.path.exists(_PROC):
        fields = _stat(pid)
        parent = _stat(int(fields[3])) if fields is not None else None
        return None if fields is None or parent is None else (int(fields[3]), parent[21], parent[1])
    parent_pid = _ask("ps", "-o", "ppid=", "-p", str(pid))
    if not parent_pid.isdigit():
        return None
    began = _plain(_ask("ps", "-o", "lstart=", "-p", parent_pid))
    return int(parent_pid), began, os.path.basename(_ask("ps", "-o", "comm=", "-p", parent_pid))


def _stat(pid: int) -> list[str] | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return read_stat(file.read())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def read_stat(text: str) -> list[str]:
    """The fields of `/proc/PID/stat`: the pid, the command's name, its state, its parent and so on."""
    head, _, tail = text.rpartition(")")
    pid, _, command = head.partition("(")
    return [pid.strip(), command, *tail.split()]


def _plain(text: str) -> str:
    """The letters and digits of a time, so that it fits into a name."""
    return "".join(one for one in text if one.isalnum())


def _ask(*command: str) -> str:
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):  # a small container has neither `ps` nor `sysctl`
        return ""
    return done.stdout.strip()
