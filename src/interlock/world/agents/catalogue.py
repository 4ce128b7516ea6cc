"""The agents that can be run, by name, each made from its settings."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from interlock.errors import NotFound, UsageError
from interlock.world.agents.acp import Acp
from interlock.world.agents.agent import Agent, InteractiveAgent
from interlock.world.agents.claude import Claude, Qwen
from interlock.world.agents.codex import Codex
from interlock.world.agents.command import CommandAgent, InteractiveCommand
from interlock.world.agents.gemini import Gemini
from interlock.world.agents.opencode import OpenCode
from interlock.world.agents.scripted.adapter import Scripted

__all__ = ["AGENTS", "INTERACTIVE", "find_agent", "find_interactive"]

Settings = Mapping[str, str]


def _command(name: str, settings: Settings) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(settings.get("command", "")))
    except ValueError:
        words = ()
    if not words:
        raise UsageError(
            "invalid_argument", f"The agent {name} has no command that can be read.", "Give its command line."
        )
    return words


def _acp(settings: Settings) -> Agent:
    permission = settings.get("permission", "allow")
    if permission not in ("allow", "reject"):
        raise UsageError("invalid_argument", f"{permission!r} is no answer to a question.", "It is allow or reject.")
    return Acp(_command("acp", settings), permission)


def _scripted(settings: Settings) -> Agent:
    if not settings.get("script"):
        raise UsageError("invalid_argument", "The agent scripted has no script.", "Name its file.")
    return Scripted(Path(settings["script"]).absolute())


AGENTS: Mapping[str, Callable[[Settings], Agent]] = {
    "acp": _acp,
    "claude": lambda settings: Claude(settings.get("program", "claude")),
    "codex": lambda settings: Codex(settings.get("program", "codex")),
    "command": lambda settings: CommandAgent(_command("command", settings)),
    "gemini": lambda settings: Gemini(settings.get("program", "gemini")),
    "opencode": lambda settings: OpenCode(settings.get("program", "opencode")),
    "qwen": lambda settings: Qwen(settings.get("program", "qwen")),
    "scripted": _scripted,
}
"""Every agent, and how it is made: `program` is where it is, `command` and `script` what it is."""


INTERACTIVE: Mapping[str, Callable[[str], InteractiveAgent]] = {
    "claude": Claude,
    "codex": Codex,
    "gemini": Gemini,
    "opencode": OpenCode,
    "qwen": Qwen,
}
"""The agents that a person can speak with, and how each is made of its program."""


def find_interactive(program: str) -> InteractiveAgent:
    """The agent of a program, by the program's name; any other program is one without anything of ours."""
    return INTERACTIVE.get(Path(program).name, InteractiveCommand)(program)


def find_agent(name: str, settings: Settings) -> Agent:
    """The agent of a name."""
    if name not in AGENTS:
        raise NotFound("agent_unknown", f"No agent is called {name!r}.", f"There are {', '.join(AGENTS)}.")
    return AGENTS[name](settings)
