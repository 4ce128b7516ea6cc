"""Real servers in real repositories, and those who talk to them: the official SDK's client, and a peer that may
send anything at all."""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import httpx2
import mcp_types as types
import msgspec
from anyio.from_thread import BlockingPortal
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server

from faces.forking import started
from faces.programs import RALPH, SECONDS, SERVE_TOKEN, Process, Result, begun, checked_error
from interlock.errors import CODES
from interlock.journal import Entry, open_journal
from interlock.work.budget import RUNS_OF_AGENTS
from interlock.work.orchestration.ledger import RUNS
from interlock.work.tickets.ticket_table import TICKETS

__all__ = [
    "ERAS",
    "HANDSHAKE",
    "MODERN",
    "Agent",
    "Era",
    "Lines",
    "Peer",
    "Refused",
    "Served",
    "dump",
    "entries",
    "envelope",
    "http_agent",
    "local_agent",
    "peer",
    "problems",
    "refusal_of",
    "serving",
    "stdio_agent",
]

Era = Literal["2025-11-25", "2026-07-28"]
HANDSHAKE: Era = "2025-11-25"
MODERN: Era = "2026-07-28"
ERAS: tuple[Era, ...] = (HANDSHAKE, MODERN)
_MODES = {HANDSHAKE: "legacy", MODERN: "2026-07-28"}


# What is in a journal


def dump(repository: Path) -> dict[str, list[tuple[object, ...]]]:
    """All that a journal holds, table by table, but what is made of it on asking; nothing where there is none."""
    path = repository / ".ralf" / "journal.db"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=SECONDS)) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
        made = {"projections", *TICKETS.tables, *RUNS.tables, *RUNS_OF_AGENTS.tables}
        return {
            name: sorted(database.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
            for name in names
            if name not in made
        }


def entries(repository: Path, instance: str | None = None) -> list[Entry]:
    """The entries of a journal, or those of one instance, in order."""
    journal = open_journal(repository / ".ralf" / "journal.db")
    try:
        return [one for one in journal.all_entries() if instance in (None, one.instance)]
    finally:
        journal.close()


def problems(repository: Path) -> list[object]:
    """What the audit finds wrong with a journal."""
    journal = open_journal(repository / ".ralf" / "journal.db")
    try:
        return list(journal.verify())
    finally:
        journal.close()


# The official client


class Refused(msgspec.Struct, frozen=True):
    """A refusal as it reaches the model."""

    code: str
    text: str


class Agent(msgspec.Struct, frozen=True):
    """An agent at work through the official client, which runs in a thread of its own."""

    client: Client
    portal: BlockingPortal

    def result(self, tool: str, /, **arguments: Any) -> types.CallToolResult:
        result: types.CallToolResult = self.portal.call(self.client.call_tool, tool, arguments)
        return result

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """What a tool gives; the text and the structure are the same."""
        result = self.result(tool, **arguments)
        assert not result.is_error, result.content
        assert isinstance(result.structured_content, dict)
        assert json.loads(_text(result)) == result.structured_content
        return result.structured_content

    def refused(self, tool: str, /, **arguments: Any) -> Refused:
        """How a call is refused: with a code of the catalogue, and never as a fault of ours."""
        result = self.result(tool, **arguments)
        assert result.is_error, result.structured_content
        return refusal_of(_text(result))

    def create(self, ticket: str | int | None = None) -> str:
        session = self.call("create_ralph_session", **({} if ticket is None else {"ticketId": ticket}))["sessionId"]
        assert isinstance(session, str)
        return session

    def update(self, session: str, state: str, **metadata: Any) -> dict[str, Any]:
        more = {"metadata": metadata} if metadata else {}
        return self.call("update_session_state", sessionId=session, state=state, **more)

    def complete(self, session: str, outcome: str = "success", **more: Any) -> dict[str, Any]:
        return self.call("complete_ralph_session", sessionId=session, outcome=outcome, **more)

    def look(self, session: str) -> dict[str, Any]:
        return self.call("get_session_state", sessionId=session)

    def move(self, session: str, *states: str) -> None:
        for state in states:
            self.update(session, state)


def _text(result: types.CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def refusal_of(text: str) -> Refused:
    """The refusal that a text tells of, held to the catalogue."""
    found = re.match(r"Error: .+ \[([a-z_]+)\](?:\n|$)", text, re.DOTALL)
    assert found is not None, text
    assert found[1] in CODES, text
    assert found[1] != "internal_error", text
    assert len(text) < 3000, "a model should not have to read so much"
    return Refused(found[1], text)


@contextmanager
def http_agent(
    portal: BlockingPortal, url: str, era: Era = HANDSHAKE, token: str = SERVE_TOKEN, name: str = "pytest"
) -> Iterator[Agent]:
    """An agent that reports over HTTP."""
    http_client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, verify=False, timeout=SECONDS)
    transport = streamable_http_client(f"{url}/mcp", http_client=http_client)
    with portal.wrap_async_context_manager(http_client), _agent(portal, transport, era, name) as agent:
        yield agent


@contextmanager
def stdio_agent(
    portal: BlockingPortal,
    repository: Path,
    env: Mapping[str, str],
    era: Era = HANDSHAKE,
    name: str = "pytest",
    quiet: bool = True,
) -> Iterator[Agent]:
    """An agent with a server of its own over stdio, which says nothing on stderr.

    The client starts the server; or, where it can be forked, a program that carries what is said to it and back.
    """
    log = Path(env["HOME"]) / f"stderr-{time.monotonic_ns()}"
    with (
        log.open("w") as errors,
        _stdio_server(repository, env, errors) as (server, connected),
        _agent(portal, stdio_client(server, errlog=errors), era, name) as agent,
    ):
        portal.call(agent.client.list_tools)  # an answer: the program in between has opened both pipes
        connected()
        yield agent
    assert not quiet or log.read_text() == ""


_CARRY = 'exec 3<&0; cat <&3 >"$1" & exec cat "$2"'
"""The program that stands between: all that comes in goes into one pipe, and what is in another comes out."""


@contextmanager
def _stdio_server(
    repository: Path, env: Mapping[str, str], errors: IO[str]
) -> Iterator[tuple[StdioServerParameters, Callable[[], None]]]:
    """How the client starts a server, and what is called once it is connected."""
    read, write = os.pipe()
    stdin = os.fdopen(write, "wb")
    forked = started(["mcp"], cwd=repository, env=env, stdin=read)
    os.close(read)
    with stdin:
        if forked is None:
            yield StdioServerParameters(command=str(RALPH), args=["mcp"], env=dict(env), cwd=repository), stdin.close
            return
        assert forked.stdout is not None
        ends = [f"/proc/{os.getpid()}/fd/{end.fileno()}" for end in (stdin, forked.stdout)]
        try:
            yield StdioServerParameters(command="sh", args=["-c", _CARRY, "sh", *ends], env=dict(env)), stdin.close
        finally:
            stdin.close()
            try:
                errors.write(forked.communicate(SECONDS)[1].decode())
            finally:
                forked.kill()


@contextmanager
def local_agent(portal: BlockingPortal, server: Server[Any], era: Era = HANDSHAKE) -> Iterator[Agent]:
    """An agent whose server is in this process."""
    with _agent(portal, server, era, "pytest") as agent:
        yield agent


@contextmanager
def _agent(portal: BlockingPortal, transport: Any, era: Era, name: str) -> Iterator[Agent]:
    info = types.Implementation(name=name, version="1")
    client = Client(transport, mode=_MODES[era], client_info=info, read_timeout_seconds=SECONDS)
    with portal.wrap_async_context_manager(client):
        assert client.protocol_version == era
        yield Agent(client, portal)


# `ralph serve`


class Served(msgspec.Struct):
    """A server over HTTP, and the repository that it serves."""

    url: str
    repository: Path
    process: Process

    def end(self, sign: signal.Signals = signal.SIGTERM) -> Result:
        """End it by a signal, and see how it ends."""
        self.process.send_signal(sign)
        out, err = self.process.communicate(timeout=SECONDS)
        return Result(self.process.wait(SECONDS), out.decode(), err.decode())


@contextmanager
def serving(repository: Path, env: Mapping[str, str], *words: str, port: int = 0) -> Iterator[Served]:
    """`ralph serve` on a port of its own, gone afterwards."""
    process = begun("serve", "--json", "--port", str(port), *words, cwd=repository, env=env)
    try:
        said = json.loads(Lines(process).next())
        if not said["ok"]:
            raise AssertionError(checked_error(said["error"], process.wait(SECONDS)))
        assert said["data"]["mcp"] == f"{said['data']['url']}/mcp"
        yield Served(said["data"]["url"], repository, process)
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


# Anything at all over stdio


class Lines:
    """The lines that a program writes, each waited for, but not forever."""

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None
        self._descriptor = process.stdout.fileno()
        self._rest = b""

    def next(self) -> bytes:
        line = self.next_or_end()
        assert line is not None, "the program ended"
        return line

    def next_or_end(self) -> bytes | None:
        """The next line; None when there will be no more."""
        deadline = time.monotonic() + SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self._descriptor, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                assert selector.select(max(0.0, deadline - time.monotonic())), "no line came"
                chunk = os.read(self._descriptor, 1 << 20)
                if not chunk:
                    assert not self._rest, "it ended in the middle of a line"
                    return None
                self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return line


def envelope(era: Era) -> dict[str, Any]:
    """What every request of an era carries with it."""
    if era == HANDSHAKE:
        return {}
    prefix = "io.modelcontextprotocol/"
    client = {"name": "peer", "version": "1"}
    return {
        "_meta": {f"{prefix}protocolVersion": era, f"{prefix}clientCapabilities": {}, f"{prefix}clientInfo": client}
    }


class Peer(msgspec.Struct):
    """Somebody who speaks over stdio with a server, and need not speak well."""

    process: Process
    stdin: IO[bytes]
    lines: Lines
    era: Era
    number: int = 0

    def send(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def next(self) -> dict[str, Any]:
        """The next message of the server: one line, one JSON object, of JSON-RPC 2.0."""
        message = json.loads(self.lines.next())
        assert isinstance(message, dict)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a request, which is the next message."""
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method}
        self.send(json.dumps(request | {"params": dict(params or {}) | envelope(self.era)}).encode())
        answer = self.next()
        assert answer["id"] == self.number, answer
        return answer

    def call(self, tool: str, arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def begin(self) -> None:
        """Say which era it speaks."""
        if self.era == MODERN:
            assert MODERN in self.ask("server/discover")["result"]["supportedVersions"]
            return
        client = {"name": "peer", "version": "1"}
        said = self.ask("initialize", {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": client})
        assert said["result"]["protocolVersion"] == HANDSHAKE
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def end(self) -> Result:
        """Close its stdin, and see how it ends."""
        self.stdin.close()
        rest = []
        while (line := self.lines.next_or_end()) is not None:
            rest.append(line)
        assert self.process.stderr is not None
        err = self.process.stderr.read().decode()
        return Result(self.process.wait(SECONDS), b"\n".join(rest).decode(), err)


@contextmanager
def peer(repository: Path, env: Mapping[str, str], era: Era = HANDSHAKE) -> Iterator[Peer]:
    """A server over stdio that is spoken to line by line."""
    read, write = os.pipe()
    stdin = os.fdopen(write, "wb")
    pipe = subprocess.PIPE
    process = started(["mcp"], cwd=repository, env=env, stdin=read) or subprocess.Popen(
        [RALPH, "mcp"], cwd=repository, env=dict(env), stdin=read, stdout=pipe, stderr=pipe
    )
    os.close(read)
    try:
        found = Peer(process, stdin, Lines(process), era)
        found.begin()
        yield found
    finally:
        process.kill()
        for stream in (stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait(SECONDS)
