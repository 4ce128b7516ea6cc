"""Processes, named so that no other can be taken for one: host, boot, pid and start time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from interlock.world.ancestry import DRIVER, LAUNCHERS, MARKER, ancestors, boot, host, is_of_a_run, started

__all__ = ["AGENTS", "Agent", "Process", "calling_agent", "client_process", "is_alive", "this_process"]


@dataclass(frozen=True, slots=True)
class Process:
    """One process on one host, never to be mistaken for another that gets the same pid later."""

    host: str
    boot: str
    pid: int
    started: str

    @property
    def name(self) -> str:
        """What a session is found by that was made by this process; the hook makes the same text."""
        return f"process:{self.host}:{self.boot}:{self.pid}:{self.started}"


@dataclass(frozen=True, slots=True)
class Agent:
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
    return Process(host(), boot(), pid, started(pid) or "")


def is_alive(process: Process) -> bool | None:
    """Whether a process still is; None where it is on a host that cannot be seen from here. A stopped one is."""
    if process.host != host():
        return None
    return process.boot == boot() and started(process.pid) == process.started


def calling_agent(environment: Mapping[str, str]) -> Agent | None:
    """The agent that this process runs under; None where a person or a script runs it.

    What began as part of a run stays one, whatever it takes out of its environment, and so does what is left to the
    driver because its own parent is gone.
    """
    above = ancestors(os.getpid())
    for pid, began, command in above:
        for name, (commands, _) in AGENTS.items():
            if command in commands:
                return Agent(name, Process(host(), boot(), pid, began))
    for name, (_, markers) in AGENTS.items():
        if any(environment.get(marker) for marker in markers):
            return Agent(name, None)
    is_marked = environment.get("RALPH_SESSION_ID") or environment.get(MARKER)
    if is_marked or any(command == DRIVER or is_of_a_run(pid) for pid, _, command in above):
        return Agent("agent", None)
    return None


def client_process() -> Process | None:
    """The process that started this one to speak with it: an agent, or else the nearest one that is no launcher."""
    above = ancestors(os.getpid())
    agents = {command for commands, _ in AGENTS.values() for command in commands}
    known = [one for one in above if one[2] in agents] or [one for one in above if one[2] not in LAUNCHERS]
    return Process(host(), boot(), known[0][0], known[0][1]) if known else None
