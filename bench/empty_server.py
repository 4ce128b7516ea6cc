"""An MCP server of the same SDK whose one tool does nothing: what a call costs before we do anything."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("empty", version="1")


@server.tool()
def update_session_state(sessionId: str, state: str) -> dict[str, Any]:  # noqa: N803
    """Nothing."""
    return {"success": True, "newState": state}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        app = server.streamable_http_app(host="127.0.0.1")
        uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", timeout_keep_alive=75)
    else:
        server.run()
