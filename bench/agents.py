"""What an agent waits for: the hook before each of its tools, and a tool call over MCP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from bench.project import AUTHORIZED, TOKEN
from bench.timing import Comparison, Effort, at_most, compare

__all__ = ["measure"]

_BIN = Path(sys.executable).parent
_EMPTY = Path(__file__).with_name("empty_server.py")
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_ENVIRONMENT["RALPH_SERVE_TOKEN"] = TOKEN
_CALLS = {
    "a command": {"tool_name": "Bash", "tool_input": {"command": "git log --oneline | head -20"}},
    "a file": {"tool_name": "Write", "tool_input": {"file_path": "src/app.py", "content": "x" * 4000}},
}
_CLIENTS, _EACH = 50, 20
"""For the crowd: so many connections with so many sessions each."""
_CROWDED = 3
"""Rounds of the crowd: in each of them each side is asked a thousand times."""


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """The hook, a tool call over both transports, and a thousand sessions at once."""
    repository = directory / "repository"
    subprocess.run(["git", "init", "-q", repository], check=True)
    yield from _hooks(effort, repository)
    yield from _tool_calls(effort, repository)


# The hook


def _hooks(effort: Effort, repository: Path) -> Iterator[Comparison]:
    session = _session(repository)
    nothing = [sys.executable, "-c", "pass"]
    hook = [str(_BIN / "ralph-hook"), "pre-tool-use"]
    times: dict[str, list[float]] = {"nothing": [], **{name: [] for name in _CALLS}}
    for _ in range(2 * effort.launches):
        times["nothing"].append(_milliseconds(nothing, b"", repository, {}))
        for name, call in _CALLS.items():
            said = json.dumps({**call, "cwd": str(repository)}).encode()
            times[name].append(_milliseconds(hook, said, repository, {"RALPH_SESSION_ID": session}))
    for name in _CALLS:
        subject, against = f"hook before {name}", "python -c pass"
        yield compare(f"{subject}, p50", against, times[name], times["nothing"], unit=" ms", aim=at_most(3))
        ours, theirs = _p95(times[name]), _p95(times["nothing"])
        ratio = ours / theirs
        yield Comparison(f"{subject}, p95", against, " ms", ours, theirs, ratio, aim=at_most(3))


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


def _milliseconds(command: list[str], said: bytes, directory: Path, more: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(
        command, input=said, cwd=directory, env=_ENVIRONMENT | more, capture_output=True, timeout=60, check=True
    )
    return (time.perf_counter() - began) * 1000


def _session(repository: Path) -> str:
    """A session in a state in which everything is allowed."""
    ralph = str(_BIN / "ralph")
    made = subprocess.run(
        [ralph, "session", "create", "--json"], cwd=repository, env=_ENVIRONMENT, capture_output=True, check=True
    )
    session: str = json.loads(made.stdout)["data"]["session_id"]
    subprocess.run(
        [ralph, "session", "update", "implementing", "--session", session],
        cwd=repository,
        env=_ENVIRONMENT | {"RALPH_SESSION_ID": session},
        capture_output=True,
        check=True,
    )
    return session


# Tool calls


def _tool_calls(effort: Effort, repository: Path) -> Iterator[Comparison]:
    with start_blocking_portal() as portal:
        ours = stdio_client(
            StdioServerParameters(command=str(_BIN / "ralph"), args=["mcp"], cwd=str(repository), env=_ENVIRONMENT)
        )
        theirs = stdio_client(StdioServerParameters(command=sys.executable, args=[str(_EMPTY)]))
        yield _compared(effort, portal, "a report over stdio", ours, theirs)
        with _served(repository) as (our_url, their_url):
            yield _compared(effort, portal, "a report over HTTP", our_url, their_url)
            yield portal.call(_crowd, effort, our_url, their_url)


def _compared(effort: Effort, portal: BlockingPortal, subject: str, ours: Any, theirs: Any) -> Comparison:
    times = portal.call(_by_turns, effort, ours, theirs)
    return compare(subject, "an empty tool", times[0], times[1], unit=" ms", aim=at_most(1.5))


async def _by_turns(effort: Effort, ours: Any, theirs: Any) -> tuple[list[float], list[float]]:
    """Milliseconds a call, by turns, on a connection each."""
    async with Client(_reached(ours)) as mine, Client(_reached(theirs)) as other:
        session = await _begun(mine)
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(effort.rounds + 1):
            for side, client in enumerate((mine, other)):
                spent = await _batch(client, session, 20)
                if number:
                    times[side].append(spent)
        return times


def _reached(server: Any) -> Any:
    """Return a transport to a server; over HTTP with our token, which the empty server ignores."""
    if not isinstance(server, str):
        return server
    return streamable_http_client(server, http_client=httpx2.AsyncClient(headers=AUTHORIZED, timeout=60))


async def _begun(client: Client) -> str:
    made = await client.call_tool("create_ralph_session", {})
    return str(made.structured_content["sessionId"]) if made.structured_content else ""


async def _batch(client: Client, session: str, calls: int) -> float:
    began = time.perf_counter()
    for number in range(calls):
        state = "testing" if number % 2 else "implementing"
        done = await client.call_tool("update_session_state", {"sessionId": session, "state": state})
        assert not done.is_error, done.content
    return (time.perf_counter() - began) * 1000 / calls


async def _crowd(effort: Effort, ours: str, theirs: str) -> Comparison:
    """A thousand sessions that report at once, through one server."""
    async with AsyncExitStack() as stack:
        mine = [await stack.enter_async_context(Client(_reached(ours))) for _ in range(_CLIENTS)]
        other = [await stack.enter_async_context(Client(_reached(theirs))) for _ in range(_CLIENTS)]
        sessions = [[await _begun(client) for _ in range(_EACH)] for client in mine]
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(1 + _CROWDED):
            state = "testing" if number % 2 else "implementing"
            for side, clients in enumerate((mine, other)):
                began = time.perf_counter()
                await asyncio.gather(
                    *(
                        client.call_tool("update_session_state", {"sessionId": session, "state": state})
                        for client, some in zip(clients, sessions, strict=True)
                        for session in some
                    )
                )
                times[side].append((time.perf_counter() - began) * 1000 / (_CLIENTS * _EACH))
        subject = f"{_CLIENTS * _EACH} sessions reporting at once, a report"
        return compare(subject, "an empty tool", times[0][1:], times[1][1:], unit=" ms", aim=at_most(1.5))


@contextmanager
def _served(repository: Path) -> Iterator[tuple[str, str]]:
    """Our server and the empty one, over HTTP."""
    ours = subprocess.Popen(
        [str(_BIN / "ralph"), "serve", "--port", "0", "--json"],
        cwd=repository,
        env=_ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    )
    port = _free_port()
    theirs = subprocess.Popen([sys.executable, str(_EMPTY), str(port)], stderr=subprocess.DEVNULL)
    try:
        assert ours.stdout is not None
        url: str = json.loads(ours.stdout.readline())["data"]["mcp"]
        _wait_for(port)
        yield url, f"http://127.0.0.1:{port}/mcp"
    finally:
        for server in (ours, theirs):
            server.terminate()
            server.wait(30)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")
