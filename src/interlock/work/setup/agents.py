"""PURE. The agents, and what is registered with each: our server, our hooks, our plugin."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

__all__ = ["EVENTS", "FILES", "TITLES", "Agent", "Supplies", "handler", "plugin", "server", "server_block"]


class Agent(StrEnum):
    """A coding agent that can be set up; its value is its command."""

    CLAUDE = "claude"
    CODEX = "codex"
    OPENCODE = "opencode"


TITLES: Final = {Agent.CLAUDE: "Claude Code", Agent.CODEX: "Codex", Agent.OPENCODE: "OpenCode"}

FILES: Final = {
    Agent.CLAUDE: (".claude", "CLAUDE.md", ".mcp.json"),
    Agent.CODEX: (".codex",),
    Agent.OPENCODE: ("opencode.json", "opencode.jsonc", ".opencode"),
}
"""What in a repository shows that an agent works there."""

_CLAUDE = {
    "PreToolUse": 10,
    "PostToolUse": 10,
    "PostToolUseFailure": 10,
    "SessionStart": 10,
    "Stop": 10,
    "SessionEnd": 10,
    "UserPromptSubmit": 10,
}
# Codex has no event for a tool that failed, and warns about more than 3 seconds at a session's end.
_CODEX = {event: 3 if event == "SessionEnd" else 10 for event in _CLAUDE if event != "PostToolUseFailure"}
EVENTS: Final[dict[Agent, dict[str, int]]] = {Agent.CLAUDE: _CLAUDE, Agent.CODEX: _CODEX}
"""The events whose hook is ours, and how many seconds it may take."""

_PASSED_ON = ("RALPH_DATABASE_URL", "RALPH_ROOT", "RALPH_SESSION_ID", "RALPH_STATE_MACHINE_CONFIG")
_HOOK_LINE = 'const HOOK = "ralph-hook"\n'


@dataclass(frozen=True, slots=True)
class Supplies:
    """What this installation brings: how its programs are called, and its texts."""

    ralph: str
    hook: str
    settings: str
    guide: str
    plugin: str
    claude: Mapping[str, str] = field(default_factory=dict)
    """Claude Code's files that are ours as a whole, by their paths: the ticket commands as skills and agents."""


def server(agent: Agent, supplies: Supplies) -> dict[str, Any]:
    """Our MCP server as the agent's JSON registers it."""
    if agent is Agent.OPENCODE:
        return {"type": "local", "command": [supplies.ralph, "mcp"]}
    return {"command": supplies.ralph, "args": ["mcp"]}


def server_block(supplies: Supplies) -> str:
    """Our MCP server as Codex registers it."""
    names = ", ".join(f'"{name}"' for name in _PASSED_ON)
    return (
        "[mcp_servers.ralph]\n"
        f"command = {json.dumps(supplies.ralph, ensure_ascii=False)}\n"
        'args = ["mcp"]\n'
        "# Codex passes on no other names.\n"
        f"env_vars = [{names}]\n"
    )


def handler(agent: Agent, event: str, supplies: Supplies) -> dict[str, Any]:
    """Our hook for an event. Claude Code runs it without a shell; Codex knows no such form."""
    word = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("-")
    seconds = EVENTS[agent][event]
    if agent is Agent.CODEX:
        return {"type": "command", "command": shlex.join([supplies.hook, word]), "timeout": seconds}
    return {"type": "command", "command": supplies.hook, "args": [word], "timeout": seconds}


def plugin(supplies: Supplies) -> str:
    """Our plugin for OpenCode."""
    assert _HOOK_LINE in supplies.plugin
    return supplies.plugin.replace(_HOOK_LINE, f"const HOOK = {json.dumps(supplies.hook)}\n", 1)
