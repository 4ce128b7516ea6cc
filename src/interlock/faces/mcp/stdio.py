"""The server over stdio. What is no message is answered as such; the SDK alone would leave its sender waiting.

Nor does it leave anybody who closes stdin behind the last request: that is answered first.
"""

from __future__ import annotations

import os
from typing import Any

import anyio
import mcp_types as types
import msgspec
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from interlock.faces.mcp.client_streams import client_streams
from interlock.faces.mcp.server_context import ServerContext

__all__ = ["serve_stdio"]

_LAST_ANSWERS_SECONDS = 10.0
_NO_JSON = "This line is no JSON-RPC message: one object on one line, valid UTF-8, not nested too deep, no batch."
_NO_REQUEST = "This is no message of JSON-RPC 2.0: that has jsonrpc, id, method, and params that are an object."
_NO_ID = "This request cannot be answered: its id is missing, or neither a text nor a whole number."

Message = SessionMessage | Exception


class _Asked(msgspec.Struct):
    """The requests that are not answered yet."""

    ids: set[types.RequestId] = msgspec.field(default_factory=set)
    fewer: anyio.Event | None = None

    def note(self, message: types.JSONRPCMessage) -> None:
        """Remember a request until it is answered or cancelled."""
        match message:
            case types.JSONRPCRequest(id=request):
                self.ids.add(request)
            case types.JSONRPCNotification(
                method="notifications/cancelled", params={"requestId": str() | int() as request}
            ):
                self.settle(request)

    def settle(self, request: types.RequestId | None) -> None:
        if request is not None:
            self.ids.discard(request)
        if self.fewer is not None:
            self.fewer.set()

    async def until_none(self) -> None:
        while self.ids:
            self.fewer = anyio.Event()
            await self.fewer.wait()


async def serve_stdio(server: Server[Any], context: ServerContext) -> None:
    """Serve one client until its end of stdin is closed, or it reads no more."""
    try:
        await _serve(server, context)
    except* BrokenPipeError:
        pass  # nobody is there to be told


async def _serve(server: Server[Any], context: ServerContext) -> None:
    with client_streams() as streams:
        async with stdio_server(*streams) as (read, write), anyio.create_task_group() as tasks:
            tasks.start_soon(context.upkeep)
            tasks.start_soon(context.follow_board, os.environ)
            asked = _Asked()
            incoming, outgoing = _Incoming(read, write, asked), _Outgoing(write, asked)
            await server.run(incoming, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()


class _Incoming(ObjectReceiveStream[Message]):
    """The client's messages. Anything else is answered here; the end comes after the last answer."""

    def __init__(self, read: Any, write: Any, asked: _Asked) -> None:
        self._read = read
        self._write = write
        self._asked = asked

    async def receive(self) -> Message:
        while True:
            try:
                item: Message = await self._read.receive()
            except anyio.EndOfStream:
                with anyio.move_on_after(_LAST_ANSWERS_SECONDS):
                    await self._asked.until_none()
                raise
            wrong = _wrong(item)
            if wrong is not None:
                await self._write.send(SessionMessage(wrong))
            elif isinstance(item, SessionMessage):
                self._asked.note(item.message)
                return item

    async def aclose(self) -> None:
        await self._read.aclose()


class _Outgoing(ObjectSendStream[SessionMessage]):
    """The messages to the client, which settle its requests."""

    def __init__(self, write: Any, asked: _Asked) -> None:
        self._write = write
        self._asked = asked

    async def send(self, item: SessionMessage) -> None:
        await self._write.send(item)
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._asked.settle(item.message.id)

    async def aclose(self) -> None:
        await self._write.aclose()


def _wrong(item: Message) -> types.JSONRPCError | None:
    """What to answer to something that is no message, or a request that the SDK would take for a notification."""
    if isinstance(item, ValidationError):
        found = item.errors(include_url=False, include_context=False)
        if found[0]["type"] != "json_invalid":
            return _error(types.INVALID_REQUEST, _NO_REQUEST, _id_among([one["input"] for one in found]))
    if isinstance(item, Exception):
        return _error(types.PARSE_ERROR, _NO_JSON)
    message = item.message
    if isinstance(message, types.JSONRPCNotification) and not message.method.startswith("notifications/"):
        return _error(types.INVALID_REQUEST, _NO_ID)
    return None


def _id_among(values: list[Any]) -> types.RequestId | None:
    """The id of the object that was taken for no message, so that its sender need not wait."""
    ids = (value.get("id") for value in values if isinstance(value, dict))
    return next((one for one in ids if isinstance(one, str | int) and not isinstance(one, bool)), None)


def _error(code: int, message: str, request: types.RequestId | None = None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request, error=types.ErrorData(code=code, message=message))
