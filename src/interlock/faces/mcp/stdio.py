"""The server over stdio. What is no message is answered as such; the SDK alone would leave its sender waiting.

Nor does it leave anybody who closes stdin behind the last request: that is answered first.
"""

from __future__ import annotations

import os
from typing import Any

import anyio
import mcp_types as types
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

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
    fewer: anyio.Event = msgspec.field(default_factory=anyio.Event)

    def settle(self, request: types.RequestId | None) -> None:
        if request is not None:
            self.ids.discard(request)
        self.fewer.set()
        self.fewer = anyio.Event()

    async def until_none(self) -> None:
        while self.ids:
            await self.fewer.wait()


async def serve_stdio(server: Server[Any], context: ServerContext) -> None:
    """Serve one client until its end of stdin is closed, or it reads no more."""
    try:
        await _serve(server, context)
    except* BrokenPipeError:
        pass  # nobody is there to be told


async def _serve(server: Server[Any], context: ServerContext) -> None:
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        tasks.start_soon(context.upkeep)
        tasks.start_soon(context.follow_board, os.environ)
        async with anyio.create_task_group() as passing:
            incoming, messages = anyio.create_memory_object_stream[Message](0)
            outgoing, replies = anyio.create_memory_object_stream[SessionMessage](0)
            asked = _Asked()
            passing.start_soon(_sort, read, incoming, outgoing.clone(), asked)
            passing.start_soon(_send, replies, write, asked)
            await server.run(messages, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _sort(
    read: Any,
    incoming: MemoryObjectSendStream[Message],
    outgoing: MemoryObjectSendStream[SessionMessage],
    asked: _Asked,
) -> None:
    """Pass messages on, and answer what is none; after the last one wait until all are answered."""
    async with incoming, outgoing:
        async for item in read:
            wrong = _wrong(item)
            if wrong is not None:
                await outgoing.send(SessionMessage(wrong))
                continue
            match item.message:
                case types.JSONRPCRequest(id=request):
                    asked.ids.add(request)
                case types.JSONRPCNotification(method="notifications/cancelled", params={"requestId": request}):
                    asked.settle(request)
            await incoming.send(item)
        with anyio.move_on_after(_LAST_ANSWERS_SECONDS):
            await asked.until_none()


async def _send(replies: MemoryObjectReceiveStream[SessionMessage], write: Any, asked: _Asked) -> None:
    """Send what is to be sent, and note what is answered by it."""
    async with replies, write:
        async for item in replies:
            await write.send(item)
            if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                asked.settle(item.message.id)


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
