"""The MCP tools and the settings, from the tables in the code."""

from __future__ import annotations

from typing import Any

import msgspec

from docs.generators.markdown import code, prose, table
from interlock.faces.mcp.arguments import schema_of
from interlock.faces.mcp.resources import TEMPLATES
from interlock.faces.mcp.server import TOOLS
from interlock.faces.mcp.tool import Tool
from interlock.machine import load_shipped
from interlock.work.settings.table import SETTINGS

__all__ = ["resources", "settings", "tools"]


def tools() -> str:
    """A heading for each tool, with what it takes and gives."""
    return "\n\n".join(part for tool in TOOLS for part in _tool(tool))


def _tool(tool: Tool) -> list[str]:
    given = schema_of(tool.takes, tool.known(load_shipped))
    rows = [
        {
            "argument": code(name),
            "type": _type(about),
            "": "required" if name in given.get("required", []) else "",
            "meaning": prose(about.get("description", "")),
        }
        for name, about in given["properties"].items()
    ]
    fields = [code(field.encode_name) for field in msgspec.structs.fields(tool.gives)]
    hints = ["only reads" if tool.read_only else "writes to the journal"]
    hints += ["may be called again with the same result"] if tool.idempotent else []
    said = f"It {' and '.join(hints)}. It gives {', '.join(fields)}."
    return [f"### {tool.name}", prose(tool.description), table(rows), said]


def _type(about: dict[str, Any]) -> str:
    if "enum" in about:
        return ", ".join(code(one) for one in about["enum"])
    kinds = [one["type"] for one in about.get("anyOf", []) if one.get("type") != "null"]
    return " or ".join(kinds) or str(about.get("type", "any"))


def resources() -> str:
    """What can be read."""
    return table([{"address": code(one.uri), "type": code(one.type), "what": one.description} for one in TEMPLATES])


def settings() -> str:
    """Every setting of `ralph.toml`."""
    parts: list[str] = []
    for one in SETTINGS:
        values = f"One of {', '.join(code(value) for value in one.values)}{', or a list of hosts' * one.takes_hosts}"
        if not one.values:
            values = "A text" if one.pattern else f"A number from {one.least} to {one.most}"
        if isinstance(one.default, tuple):
            values = "A list of texts"
        given = one.default if isinstance(one.default, tuple) else (one.default,)
        default = ", ".join(code(value) for value in given if value != "") or "nothing"
        parts += [f"### {one.key}", f"{prose(one.meaning)}\n\n{values}; without it, {default}."]
    return "\n\n".join(parts)
