"""Processes, named so that no other can be taken for one: machine, boot, pid namespace, pid and start time.

Hosts and containers may share a name, a boot or a mounted home. A process is called gone only where that is certain;
of one that cannot be seen from here, only time tells.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

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
from interlock.world.installation import installation_id
from interlock.world.lineage import Reach, lineage

__all__ = [
    "AGENTS",
    "UNKNOWN",
    "AgentProcess",
    "Process",
    "calling_agent",
    "client_process",
    "is_alive",
    "process_here",
    "this_process",
]

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
