"""The HTTP server: MCP at /mcp, what happens at /events, and whether it lives at /healthz.

It answers this machine only, unless a token is set; a page of another site cannot use it, because the `Host` and
`Origin` of every request are checked.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskStatus
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock import __version__
from interlock.errors import InterlockError
from interlock.faces.mcp.desk import Desk

__all__ = ["LOOPBACK", "make_app"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_BATCH = 500
_POLL_SECONDS = 0.2
_KEEP_ALIVE_SECONDS = 15.0


def make_app(server: Server[Any], desk: Desk, host: str, token: str | None, ending: anyio.Event) -> Starlette:
    """The application for one journal; its streams end when the server is `ending`."""
    inner = server.streamable_http_app(host=host, transport_security=_security(host))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_sessions, server, ending)
            tasks.start_soon(desk.upkeep)
            tasks.start_soon(desk.follow_board, os.environ)
            yield
            tasks.cancel_scope.cancel()

    async def health(request: Request) -> Response:
        head = await desk.read(desk.journal.head)
        return JSONResponse({"ok": True, "data": {"version": __version__, "entries": head}})

    async def events(request: Request) -> Response:
        return await _events(request, desk, ending)

    routes = [
        Route("/healthz", health, methods=["GET"]),
        Route("/events", events, methods=["GET"]),
        *inner.routes,
    ]
    hosts = ["*"] if host not in LOOPBACK else ["127.0.0.1", "localhost", "[::1]"]
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)]
    if host in LOOPBACK:
        middleware.append(Middleware(_Origin, allowed=hosts))
    if token is not None:
        middleware.append(Middleware(_Token, token=token))
    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)


async def _sessions(server: Server[Any], ending: anyio.Event, *, task_status: TaskStatus[None]) -> None:
    """The connections of agents, and the streams that they hold open."""
    async with server.session_manager.run():
        task_status.started()
        await ending.wait()


def _security(host: str) -> TransportSecuritySettings | None:
    """Where the server can be reached from elsewhere, the token is the guard; on loopback, the SDK's checks are."""
    return None if host in LOOPBACK else TransportSecuritySettings(enable_dns_rebinding_protection=False)


class _Origin:
    """A request that a page of another site makes is refused."""

    def __init__(self, app: ASGIApp, allowed: list[str]) -> None:
        self._app = app
        self._allowed = re.compile(f"https?://(?:{'|'.join(map(re.escape, allowed))})(?::[0-9]+)?")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            origin = dict(scope["headers"]).get(b"origin", b"").decode("latin-1")
            if origin and self._allowed.fullmatch(origin) is None:
                answer = _failure(403, "origin_refused", "The request comes from a page of another site.")
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _Token:
    """Every request must carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
                answer = _failure(401, "unauthorized", "The request does not carry the token of this server.")
                answer.headers["www-authenticate"] = "Bearer"
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _failure(status: int, code: str, message: str) -> JSONResponse:
    return JSONResponse({"ok": False, "error": {"code": code, "message": message, "hint": ""}}, status)


async def _events(request: Request, desk: Desk, ending: anyio.Event) -> Response:
    """What happens, as server-sent events; each has its entry's number as id, so that a reader can go on."""
    asked = request.headers.get("last-event-id") or request.query_params.get("after")
    if asked is not None and not (asked.isascii() and asked.isdigit() and len(asked) < 19):
        return _failure(400, "invalid_argument", "`after` is the number of an entry.")
    after = int(asked) if asked is not None else await desk.read(desk.journal.head)
    instance = request.query_params.get("instance")
    try:
        found = await desk.read(lambda: desk.journal.instance(instance).id) if instance else None
    except InterlockError as error:
        return _failure(404, error.code, error.message)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_stream(desk, after, found, ending), media_type="text/event-stream", headers=headers)


async def _stream(desk: Desk, after: int, instance: str | None, ending: anyio.Event) -> AsyncIterator[bytes]:
    quiet = 0.0
    yield b": what happens in this journal\n\n"
    while not ending.is_set():
        entries = await desk.read(partial(desk.journal.entries, after, instance=instance, most=_BATCH))
        for entry in entries:
            after, quiet = entry.seq, 0.0
            yield b"id: %d\nevent: entry\ndata: %s\n\n" % (entry.seq, msgspec.json.encode(entry))
        if not entries:
            with anyio.move_on_after(_POLL_SECONDS):
                await ending.wait()
            quiet += _POLL_SECONDS
            if quiet >= _KEEP_ALIVE_SECONDS:
                quiet = 0.0
                yield b": still here\n\n"
