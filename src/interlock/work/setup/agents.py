"""PURE. The agents, and what is registered with each: our server, our hooks, our plugin."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from interlock.world.agents.registration import (
    CLAUDE_EVENTS,
    CODEX_EVENTS,
    PASSED_ON,
    claude_hook,
    codex_hook,
    local_server,
    opencode_plugin,
    opencode_server,
    toml,
)

__all__ = ["EVENTS", "FILES", "SetupTarget", "Supplies", "handler", "plugin", "server", "server_block"]


class SetupTarget(StrEnum):
    """A coding agent that can be set up; its value is its command."""

    CLAUDE = "claude"
    CODEX = "codex"
    OPENCODE = "opencode"


FILES: Final = {
    SetupTarget.CLAUDE: (".claude", "CLAUDE.md", ".mcp.json"),
    SetupTarget.CODEX: (".codex",),
    SetupTarget.OPENCODE: ("opencode.json", "opencode.jsonc", ".opencode"),
}
"""What in a repository shows that an agent works there."""

EVENTS: Final[dict[SetupTarget, Mapping[str, int]]] = {
    SetupTarget.CLAUDE: CLAUDE_EVENTS,
    SetupTarget.CODEX: CODEX_EVENTS,
}
"""The events whose hook is ours, and how many seconds it may take."""


class Supplies(msgspec.Struct, frozen=True):
    """What this installation brings: how its programs are called, and its texts."""

    ralph: str
    hook: str
    settings: str
    guide: str
    claude: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Claude Code's files that are ours as a whole, by their paths: the ticket commands as skills and agents."""


def server(agent: SetupTarget, supplies: Supplies) -> dict[str, Any]:
    """Our MCP server as the agent's JSON registers it."""
    command = (supplies.ralph, "mcp")
    return opencode_server(command) if agent is SetupTarget.OPENCODE else local_server(command)


def server_block(supplies: Supplies) -> str:
    """Our MCP server as Codex registers it."""
    return (
        "[mcp_servers.ralph]\n"
        f"command = {toml(supplies.ralph)}\n"
        'args = ["mcp"]\n'
        "# Codex passes on no other names.\n"
        f"env_vars = {toml(PASSED_ON)}\n"
    )


def handler(agent: SetupTarget, event: str, supplies: Supplies) -> dict[str, Any]:
    """Our hook for an event."""
    return (codex_hook if agent is SetupTarget.CODEX else claude_hook)(supplies.hook, event)


def plugin(supplies: Supplies) -> str:
    """Our plugin for OpenCode."""
    return opencode_plugin(supplies.hook)
