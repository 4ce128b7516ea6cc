"""Processes, named so that no other can be taken for one: machine, boot, pid namespace, pid and start time.

Hosts and containers may share a name, a boot or a mounted home. A process is called gone only where that is certain;
of one that cannot be seen from here, only time tells.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from interlock.machine.hashing import sha256_hex
from interlock.world.ancestry import (
    DRIVER,
    INITIAL_NAMESPACE,
    LAUNCHERS,
    MARKER,
    ancestors,
    boot,
    host,
    is_of_a_run,
    namespace,
    process_name,
    started,
)
from interlock.world.lineage import Reach, lineage
from interlock.world.user_state import user_state_directory

__all__ = [
    "AGENTS",
    "MARK_PATTERN",
    "UNKNOWN",
    "AgentProcess",
    "Process",
    "calling_agent",
    "client_process",
    "installation_id",
    "is_alive",
    "is_marked_alive",
    "mark",
    "process_here",
    "this_process",
]

MARK_PATTERN = "[0-9]{1,10}-[0-9a-zA-Z]+-[0-9a-f]{16}-[0-9a-zA-Z]*-[0-9]*"
"""The result of `mark` as a regular expression."""
_ID_FILE = "installation"
_ID_LENGTH = 32

UNKNOWN = "unknown"
"""The name of a caller that nobody can tell from an agent."""

_MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")


class Process(msgspec.Struct, frozen=True):
    """One process, never to be mistaken for another that gets the same pid later or elsewhere.

    What an older version wrote has neither a namespace nor a machine.
    """

    host: str
    boot: str
    pid: int
    started: str
    namespace: str = ""
    machine: str = ""

    @property
    def name(self) -> str:
        """What a session is found by that was made by this process; the hook makes the same text."""
        return process_name(self.host, self.boot, self.namespace, self.pid, self.started)


class AgentProcess(msgspec.Struct, frozen=True):
    """A coding agent that this process runs under."""

    name: str
    process: Process | None
    """Its process, where it could be told from the others above this one."""


AGENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "claude": (("claude",), ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")),
    "codex": (("codex",), ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_CI", "CODEX_SANDBOX")),
    "opencode": (("opencode", ".opencode"), ("OPENCODE", "OPENCODE_PID")),
    "gemini": (("gemini",), ("GEMINI_CLI",)),
    "qwen": (("qwen",), ("QWEN_CODE",)),
    "cursor": (("cursor-agent",), ("CURSOR_AGENT",)),
    "goose": (("goose",), ("GOOSE_TERMINAL",)),
    "amp": (("amp",), ("AMP_CURRENT_THREAD_ID",)),
    "crush": (("crush",), ("CRUSH",)),
    "aider": (("aider",), ()),
}
"""The coding agents we know by the names of their commands and by what they leave in the environment."""


def this_process() -> Process:
    """The process that asks."""
    pid = os.getpid()
    return process_here(pid, started(pid) or "")


def process_here(pid: int, began: str) -> Process:
    """A process that is seen from here, with its pid."""
    return Process(host(), boot(), pid, began, namespace(), _machine())


def is_alive(process: Process) -> bool | None:
    """True if a process runs or is stopped, False if it is certainly gone, None if that cannot be seen from here."""
    here = process_here(process.pid, process.started)
    if process == here and here.boot:
        return _is_running(process.pid, process.started)
    if process == replace(here, namespace="", machine=""):  # written by an older version, perhaps in a container
        return _is_running(process.pid, process.started) or None
    # A machine runs once at a time; a container's image, id and home may be those of another one on another host.
    is_same = (process.host, process.machine, process.namespace) == (here.host, here.machine, here.namespace)
    is_container = here.namespace not in ("", INITIAL_NAMESPACE)
    is_earlier = bool(process.boot and here.boot) and process.boot != here.boot
    return False if is_same and not is_container and is_earlier else None


def _is_running(pid: int, began: str) -> bool | None:
    """True if a pid of this namespace is that process; None if the system hides it."""
    found = started(pid)
    if found is not None:
        return found == began
    try:
        if pid > 0:
            os.kill(pid, 0)
    except PermissionError:  # another user's, which `/proc` may not show
        return None
    except (ProcessLookupError, OverflowError):
        pass
    return False


def _machine() -> str:
    """A hash of the machine's id, its host name and the installation."""
    text = "\n".join((_machine_id(), host(), installation_id(os.environ)))
    return sha256_hex(text.encode())[:16]


def _machine_id() -> str:
    for path in _MACHINE_IDS:
        try:
            with open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123
                return file.read().strip()
        except OSError:
            continue
    return ""


def calling_agent(environment: Mapping[str, str]) -> AgentProcess | None:
    """The agent that this process runs under; None where a person or a script runs it.

    What began as part of a run stays one, whatever it takes out of its environment, and so does what is left to the
    driver because its own parent is gone. Where the processes above cannot be read, there may be an agent among them.
    """
    line = lineage()
    for pid, began, command in line.above:
        for name, (commands, _) in AGENTS.items():
            if command in commands:
                return AgentProcess(name, process_here(pid, began))
    for name, (_, markers) in AGENTS.items():
        if any(environment.get(marker) for marker in markers):
            return AgentProcess(name, None)
    is_marked = environment.get("RALPH_SESSION_ID") or environment.get(MARKER)
    if is_marked or any(command == DRIVER or is_of_a_run(pid) for pid, _, command in line.above):
        return AgentProcess("agent", None)
    return AgentProcess(UNKNOWN, None) if line.reach is Reach.BROKEN else None


def client_process() -> Process | None:
    """The process that started this one to speak with it: an agent, or else the nearest one that is no launcher."""
    above = ancestors(os.getpid())
    agents = {command for commands, _ in AGENTS.values() for command in commands}
    known = [one for one in above if one[2] in agents] or [one for one in above if one[2] not in LAUNCHERS]
    return process_here(known[0][0], known[0][1]) if known else None


def installation_id(environment: Mapping[str, str]) -> str:
    """Return the random id of this user's installation, made where there is none yet; empty where it cannot be kept.

    It tells machines apart that were copied from one image. It is not a secret and opens nothing. Containers with one
    mounted home share it, so it counts only together with the machine's id, its boot and the pid namespace.
    """
    path = Path(user_state_directory(environment)) / _ID_FILE
    return _read_id(path) or _make_id(path)


def _read_id(path: Path) -> str:
    try:
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
    return text if len(text) == _ID_LENGTH and text.isalnum() else ""


def _make_id(path: Path) -> str:
    """Make the id under another name first, so that nobody reads half of it; the first of several stays."""
    scratch = path.with_name(f"{_ID_FILE}.{os.urandom(8).hex()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:  # noqa: PTH123 with its mode
            file.write(f"{os.urandom(_ID_LENGTH // 2).hex()}\n")
        with suppress(FileExistsError):
            path.hardlink_to(scratch)
    except OSError:
        return ""
    finally:
        with suppress(OSError):
            scratch.unlink()
    return _read_id(path)


def mark() -> str:
    """This process as a part of a file's name: pid, start time, machine, boot and pid namespace."""
    here = this_process()
    return f"{here.pid}-{here.started}-{here.machine}-{_short(here.boot)}-{here.namespace}"


def is_marked_alive(found: str) -> bool | None:
    """True if the process of a mark lives; None if that cannot be seen from here."""
    pid, began, machine, boot, namespace = found.split("-")
    here = process_here(int(pid), began)
    return is_alive(
        Process(here.host, here.boot if boot == _short(here.boot) else boot, here.pid, began, namespace, machine)
    )


def _short(boot: str) -> str:
    return boot.replace("-", "")
