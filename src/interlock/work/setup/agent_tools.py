"""What a run of an agent still lacks of ours in a repository: what its files have already is not given twice.

The files themselves are asked, and not the record of `ralph init`: in a fresh clone there is none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from interlock.work.setup import entries
from interlock.work.setup.entries import SetupFault
from interlock.work.setup.plan import PlanFault
from interlock.work.setup.surroundings import called, look
from interlock.world import blocks, jsonc
from interlock.world.agents.assignment import AgentTools
from interlock.world.agents.codex import hook_key
from interlock.world.agents.registration import SERVER
from interlock.world.blocks import Fence

__all__ = ["tools_for"]

_SERVERS: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "acp": (),
    "claude": ((".mcp.json", ("mcpServers", SERVER)),),
    "codex": ((".codex/config.toml", ("mcp_servers", SERVER)),),
    "gemini": ((".gemini/settings.json", ("mcpServers", SERVER)),),
    "opencode": (("opencode.json", ("mcp", SERVER)), ("opencode.jsonc", ("mcp", SERVER))),
    "qwen": ((".qwen/settings.json", ("mcpServers", SERVER)),),
}
"""The agents that can have a server, and where a repository may have it for them."""
_BY_FILE = frozenset({"gemini"})
"""Those that can have it in no other way."""
_HOOKS = {
    "claude": (".claude/settings.json", ".claude/settings.local.json"),
    "codex": (".codex/hooks.json",),
    "opencode": (".opencode/plugins/ralph.js",),
}
"""The agents that can be given hooks, and where a repository may have them."""


def tools_for(
    agent: str, root: Path, environment: Mapping[str, str], shown_at: Path | None = None
) -> AgentTools | None:
    """What a run of an agent is to be given here; None where it has no server of ours and can be given none.

    That is so where the agent takes none, and where a server of somebody else has its name. `shown_at` is the path at
    which a sandbox shows the root: Codex knows hooks by their path.
    """
    if agent not in _SERVERS:
        return None
    found = [one for file, trail in _SERVERS[agent] if (one := _entry(root, file, trail)) is not None]
    if any(entries.words_of(one) and not entries.is_server(one) for one in found):
        return None
    if agent in _BY_FILE and not found:
        return None
    instead = _untrusted(root, shown_at or root) if agent == "codex" else ()
    has_hook = not instead and any(_has_hook(root, file) for file in _HOOKS.get(agent, ()))
    return AgentTools(
        server=() if found else (called("ralph", environment), "mcp"),
        hook=called("ralph-hook", environment) if agent in _HOOKS and not has_hook else "",
        instead=instead,
    )


def _untrusted(root: Path, shown_at: Path) -> tuple[str, ...]:
    """Our hooks in the files of Codex, which runs them only where a person has trusted each of them."""
    [file] = _HOOKS["codex"]
    text = _text(root, file)
    try:
        trails = entries.hook_trails(text) if text is not None else []
    except (jsonc.JsonFault, SetupFault):
        return ()
    places = dict.fromkeys(path for one in (root, shown_at) for path in (one / file, (one / file).resolve()))
    return tuple(
        hook_key(str(place), str(event), int(group), int(index))
        for place in places
        for _, event, group, _, index in trails
    )


def _entry(root: Path, file: str, trail: tuple[str, ...]) -> object | None:
    """What a file registers as our server; None where there is nothing that can be read."""
    text = _text(root, file)
    if text is None:
        return None
    try:
        if not file.endswith(".toml"):
            found = jsonc.get(text, trail)
            return None if found is jsonc.MISSING else found
        table: object = tomllib.loads(text)
        for step in trail:
            table = table.get(step) if isinstance(table, dict) else None
        return table
    except (jsonc.JsonFault, tomllib.TOMLDecodeError):
        return None


def _has_hook(root: Path, file: str) -> bool:
    text = _text(root, file)
    if text is None:
        return False
    try:
        return blocks.find(text, Fence.SLASHES) is not None if file.endswith(".js") else entries.has_hooks(text)
    except (jsonc.JsonFault, SetupFault, blocks.BlockFault):
        return False


def _text(root: Path, file: str) -> str | None:
    try:
        return look(root, file).text
    except PlanFault:
        return None
