"""`ralph mcp`: the MCP server that agents report to, over stdio."""

from __future__ import annotations

import logging
import sys

from interlock.errors import JournalError, UsageError
from interlock.faces.cli.command import CommandCall, Verb
from interlock.world.journal_address import SOCKET
from interlock.world.relay import pass_on

__all__ = ["VERBS"]


def _mcp(call: CommandCall) -> None:
    if sys.stdin.isatty():
        message = "`ralph mcp` speaks JSON-RPC with an agent on stdin, and stdin is a terminal."
        raise UsageError("usage", message, "Register it with an agent instead: `ralph init` does.")
    if outside := call.environment.get(SOCKET):
        _pass_on(outside)
        return
    import anyio

    from interlock.faces.cli.place import writable
    from interlock.faces.mcp.server import make_server
    from interlock.faces.mcp.server_context import ServerContext
    from interlock.faces.mcp.stdio import serve_stdio
    from interlock.world.processes import client_process

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="ralph mcp: %(message)s")
    with writable(call) as place:
        context = ServerContext(
            place.journal,
            place.state_directory,
            place.work_tree,
            client_process(),
            place.settings,
            call.environment.get("RALPH_SESSION_ID") or None,
            place.machines,
        )
        anyio.run(serve_stdio, make_server(context, place.machines), context)


def _pass_on(outside: str) -> None:
    """Speak for the driver outside of the sandbox, which has the journal."""
    try:
        pass_on(outside)
    except OSError as error:
        message = f"The driver of this session does not answer: {error.strerror or error}."
        raise JournalError("journal_unreachable", message, "Its run has ended.") from None


VERBS = (Verb("", "the MCP server that agents report to, over stdio", _mcp),)
