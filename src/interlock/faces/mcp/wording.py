"""Hints in the words of an agent: errors name commands of `ralph`, and an agent reads the tool that does the same."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["TOOLS", "with_tool_names"]

TOOLS: Final = {
    "ralph ticket list": "list_tickets",
    "ralph ticket show": "get_ticket",
    "ralph ticket deps": "link_tickets",
    "ralph ticket handoff": "handoff_ticket",
    "ralph session create": "create_ralph_session",
    "ralph session update": "update_session_state",
    "ralph session complete": "complete_ralph_session",
    "ralph session list": "list_ticket_sessions",
}
"""Commands with the tool that does the same for an agent. Those that only a person may call are not here."""
_OF_A_SESSION: Final = {
    "ralph session update": '{"sessionId": "ID", "state": "…"}',
    "ralph session complete": '{"sessionId": "ID", "outcome": "success"}',
}
_COMMAND: Final = re.compile(r"`(ralph [a-z]+ [a-z]+)(?: --session (?P<id>[0-9a-z]{26})[^`]*)?`")


def with_tool_names(hint: str) -> str:
    """Return a hint with the tool in place of each command that has one; a command with other arguments is kept."""
    return _COMMAND.sub(_tool, hint)


def _tool(found: re.Match[str]) -> str:
    tool = TOOLS.get(found[1], found[0])
    arguments = _OF_A_SESSION.get(found[1], "") if found["id"] else ""
    return f"{tool}({arguments.replace('ID', found['id'])})" if arguments else tool
