"""The tools that agents call: one table."""

from __future__ import annotations

from interlock.faces.mcp.session_tools import SESSION_TOOLS
from interlock.faces.mcp.ticket_tools import TICKET_TOOLS

__all__ = ["TOOLS"]

TOOLS = (*SESSION_TOOLS, *TICKET_TOOLS)
"""Every tool, in the order in which it is listed."""
