"""The names under which agents call the tools of our own MCP server."""

from __future__ import annotations

__all__ = ["is_ours"]


def is_ours(name: str) -> bool:
    """True if a tool is one of our server's, as any of the agents spells it."""
    lower = name.lower()
    server = lower.split("__")[1] if lower.startswith("mcp__") and lower.count("__") > 1 else ""
    return server == "ralph" or server.endswith("_ralph") or lower.startswith(("ralph_", "ralph.", "mcp_ralph_"))
