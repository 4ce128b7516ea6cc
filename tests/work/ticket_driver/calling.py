"""A program that calls one tool over MCP, for agents in a sandbox: the only way by which they reach the journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

__all__ = ["calls"]

_PROGRAM = """
import json, subprocess, sys

def message(id_, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}) + "\\n"

who = {"name": "t", "version": "1"}
first = message(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\\n"
with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
    server.stdin.write(first + ready + message(2, "tools/call", name=TOOL, arguments=ARGUMENTS))
    server.stdin.flush()
    for line in server.stdout:
        if json.loads(line).get("id") == 2:
            print(line)
            break
    server.stdin.close()
"""


def calls(directory: Path, tool: str, arguments: Mapping[str, object]) -> Path:
    """Write a program that starts a server, by the words that it is given, and prints its answer to one call."""
    path = directory / f"call-{tool}.py"
    path.write_text(f"TOOL = {tool!r}\nARGUMENTS = {json.dumps(arguments)}\n{_PROGRAM}")
    return path
