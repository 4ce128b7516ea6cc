"""What a tool is: what it is called, what it takes and gives, and the function that does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from interlock.faces.mcp.arguments import Arguments
from interlock.faces.mcp.server_context import ServerContext
from interlock.machine import Machine
from interlock.work.sessions.verbs import Caller

__all__ = ["Tool", "key_of"]


class Tool(msgspec.Struct, frozen=True):
    """One tool."""

    name: str
    title: str
    description: str
    takes: type[Arguments]
    gives: type[msgspec.Struct]
    run: Callable[[ServerContext, Caller, Any], Awaitable[msgspec.Struct]]
    read_only: bool = False
    idempotent: bool = False
    known: Callable[[Callable[[str], Machine]], dict[str, dict[str, Any]]] = lambda machines: {}
    """What the machines in force say of arguments: the values they may have."""
    first: bool = False
    """Whether it should be in an agent's sight from the start."""


def key_of(given: str | None) -> str | None:
    """An agent's keys are its own: none can be taken for one of ours."""
    return f"mcp:{given}" if given else given
