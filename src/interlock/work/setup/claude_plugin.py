"""PURE. The plugin for Claude Code: the server, the hooks, the skills and the agents that `ralph init` writes, as one.

It is made by `make generate` and lies in the repository, which is also the marketplace that offers it.
"""

from __future__ import annotations

import json
from typing import Any, Final

from interlock import __version__
from interlock.machine import load_shipped
from interlock.work.setup.agents import EVENTS, SetupTarget, Supplies, handler, server
from interlock.work.tickets.skills import agent_files, skill_file, skill_path, skills
from interlock.world.agents.registration import SERVER

__all__ = ["FOLDER", "MARKETPLACE", "NAME", "marketplace", "plugin_files"]

NAME: Final = "ralph"
MARKETPLACE: Final = "interlock"
FOLDER: Final = "plugins/claude-code"
_ABOUT: Final = (
    "Carries work from a ticket to a reviewed commit: reports each phase, holds agents to it, and skips no step."
)
_AUTHOR: Final = {"name": "The Interlock authors"}
_TOOLS: Final = f"plugin_{NAME}_{SERVER}"
"""What Claude Code calls our server where the plugin brings it."""
_OURS: Final = Supplies(ralph="ralph", hook="ralph-hook", settings="", guide="")

_README: Final = f"""\
# The Interlock plugin for Claude Code

{_ABOUT}

It brings the MCP server `ralph mcp`, the hooks that call `ralph-hook`, the ticket commands as skills
(`/ralph:ralph-plan 19`), and an agent for each part of a ticket's way. Both programs must be on your `PATH`: install
Interlock first, with `uv tool install` or `pipx install`; `docs/installing.md` of the repository says how.

    claude plugin marketplace add PATH-OR-REPOSITORY
    claude plugin install {NAME}@{MARKETPLACE} --scope project

Everything here is made by `make generate`; change its sources, and not these files.
"""


def marketplace() -> dict[str, str]:
    """Every file of the plugin and of the marketplace, by its path in the repository."""
    offered = {"name": NAME, "source": f"./{FOLDER}", "description": _ABOUT, "category": "workflow"}
    found = {"name": MARKETPLACE, "owner": _AUTHOR, "metadata": {"description": _ABOUT}, "plugins": [offered]}
    files = {".claude-plugin/marketplace.json": _json(found)}
    return files | {f"{FOLDER}/{name}": text for name, text in plugin_files().items()}


def plugin_files() -> dict[str, str]:
    """Every file of the plugin, by its path in its folder."""
    ticket = load_shipped("ticket")
    about = {"name": NAME, "version": __version__, "description": _ABOUT, "author": _AUTHOR, "license": "MIT"}
    hooks = {event: [{"hooks": [_hook(event)]}] for event in EVENTS[SetupTarget.CLAUDE]}
    texts = {skill_path(one): skill_file(one, _TOOLS) for one in skills(ticket)} | agent_files(ticket, _TOOLS)
    return {
        ".claude-plugin/plugin.json": _json(about),
        ".mcp.json": _json({"mcpServers": {SERVER: server(SetupTarget.CLAUDE, _OURS)}}),
        "hooks/hooks.json": _json({"description": "Holds an agent to the state it reported.", "hooks": hooks}),
        "README.md": _README,
        **{path.removeprefix(".claude/"): text for path, text in texts.items()},
    }


def _hook(event: str) -> dict[str, Any]:
    """Our hook for an event, told that it may not be the only one."""
    own = handler(SetupTarget.CLAUDE, event, _OURS)
    return own | {"args": [*own["args"], "plugin"]}


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
