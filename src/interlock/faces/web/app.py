"""The HTTP server: the dashboard, MCP at /mcp, what happens at /events, /healthz, and /metrics where they are on."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from markupsafe import Markup
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles

from interlock import __version__
from interlock.errors import InterlockError
from interlock.faces.mcp.server_context import ServerContext
from interlock.faces.web import LOOPBACK
from interlock.faces.web.acting import Hands
from interlock.faces.web.browsers import Passes
from interlock.faces.web.forms import Forms
from interlock.faces.web.guards import failure, guards
from interlock.faces.web.hub import Hub
from interlock.faces.web.page import NEEDED, PageKind, PageRequest, Sight
from interlock.faces.web.pages import PAGES
from interlock.faces.web.pages.machines import TRIAL, without_trial
from interlock.faces.web.rendering import Renderer, drawn
from interlock.faces.web.trial import Trials

__all__ = ["make_app"]

_STREAM: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
_MOST_SHOWN: Final = 50


def make_app(
    server: Server[Any], context: ServerContext, host: str, token: str, ending: anyio.Event, hands: Hands
) -> Starlette:
    """The application for one journal; its streams end when the server is `ending`."""
    inner = server.streamable_http_app(host=host, transport_security=_security(host))
    looks = (context.journal, context.state_directory, context.work_tree, context.settings, context.machines)
    sight = Sight(*looks, hands.gate, hands.drivers.trouble)
    renderer = Renderer([page for page in PAGES if page.heading], hands.acting)
    hub = Hub(context, sight, renderer, ending, hands.drivers.news)
    passes = Passes(token, time.time)
    forms = Forms(hands, renderer, passes)
    site = _Site(sight, renderer, hub, forms)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_sessions, server, ending)
            tasks.start_soon(hub.run)
            tasks.start_soon(context.upkeep)
            tasks.start_soon(context.follow_board, os.environ)
            yield
            tasks.cancel_scope.cancel()

    async def health(request: Request) -> Response:
        head = await context.read(context.journal.head)
        return JSONResponse({"ok": True, "data": {"version": __version__, "entries": head}})

    async def events(request: Request) -> Response:
        return await _events(request, context, hub)

    async def metrics(request: Request) -> Response:
        from interlock.work.telemetry.exposition import CONTENT_TYPE
        from interlock.work.telemetry.metrics import metrics_text

        text = await context.read(lambda: metrics_text(context.journal, sight.watch, sight.settings, context.work_tree))
        return Response(text, headers={"content-type": CONTENT_TYPE, "cache-control": "no-store"})

    measured = (
        [Route("/metrics", metrics, methods=["GET"])] if context.settings.text("telemetry.metrics") == "on" else []
    )
    routes = [
        *inner.routes,  # first: they are looked through in order, and agents call all day
        *measured,
        Route("/healthz", health, methods=["GET"]),
        Route("/events", events, methods=["GET"]),
        Route("/live", site.live, methods=["GET"]),
        Mount("/static", StaticFiles(directory=Path(__file__).with_name("static"))),
        *site.routes,
        Route(TRIAL.route, site.trial, methods=["POST"]),
        *forms.routes,
    ]
    ask = renderer.page("token.html", {"error": ""})
    return Starlette(routes=routes, middleware=guards(host, passes, ask), lifespan=lifespan)


class _Site:
    """The pages, and the stream of what changes on them."""

    def __init__(self, sight: Sight, renderer: Renderer, hub: Hub, forms: Forms) -> None:
        self._sight = sight
        self._renderer = renderer
        self._hub = hub
        self._trials = Trials()
        self._forms = forms
        self._known = [(Route(page.route, self._shown(page), methods=["GET"]), page) for page in PAGES]

    @property
    def routes(self) -> list[BaseRoute]:
        return [route for route, _ in self._known]

    def _shown(self, page: PageKind) -> Any:
        async def show(request: Request) -> Response:
            path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            asked = PageRequest(path, dict(request.path_params), dict(request.query_params))
            viewer = self._forms.viewer(request)
            try:
                text = await anyio.to_thread.run_sync(self._page, page, asked, viewer)
            except InterlockError as error:
                given = {"error": error, "asked": asked, "now": self._sight.now, **viewer}
                return HTMLResponse(self._renderer.page("missing.html", given), 404, {"cache-control": "no-store"})
            return HTMLResponse(text, headers={"cache-control": "no-store"})

        return show

    def _page(self, page: PageKind, asked: PageRequest, viewer: Mapping[str, Any]) -> str:
        needed = Markup(self._hub.kept(NEEDED, "needed"))
        given = {**page.look(self._sight, asked), **viewer, "needed": needed}
        return self._renderer.page(page.template, {**given, "asked": asked, "now": self._sight.now, "page": page})

    async def trial(self, request: Request) -> Response:
        """What the checker says of a machine that somebody dropped in. It changes nothing."""
        tried = {**without_trial(), **await self._trials.tried(request)}
        shown = {**tried, "drawing": drawn(tried["drawing"]), "asked": PageRequest(TRIAL.route, {}, {}), "page": TRIAL}
        text = self._renderer.page(TRIAL.template, {**shown, **self._forms.viewer(request), "now": self._sight.now})
        return HTMLResponse(text, 422 if tried["error"] else 200, {"cache-control": "no-store"})

    async def live(self, request: Request) -> Response:
        """What changes on the pages that are shown, named by their addresses."""
        shown = [found for one in request.query_params.getlist("show")[:_MOST_SHOWN] if (found := self._find(one))]
        if not shown:
            return failure(400, "invalid_argument", "`show` is the address of a page.")
        return StreamingResponse(self._hub.regions(shown), media_type="text/event-stream", headers=_STREAM)

    def _find(self, address: str) -> tuple[PageKind, PageRequest] | None:
        parts = urlsplit(address)
        scope = {"type": "http", "method": "GET", "path": parts.path, "root_path": "", "path_params": {}}
        for route, page in self._known:
            match, child = route.matches(scope)
            if match is Match.FULL and not parts.netloc:
                return page, PageRequest(address, dict(child["path_params"]), dict(QueryParams(parts.query)))
        return None


async def _sessions(server: Server[Any], ending: anyio.Event, *, task_status: TaskStatus[None]) -> None:
    """The connections of agents, and the streams that they hold open."""
    async with server.session_manager.run():
        task_status.started()
        await ending.wait()


def _security(host: str) -> TransportSecuritySettings | None:
    """Where the server can be reached from elsewhere, the token is the guard; on loopback, the SDK's checks are."""
    return None if host in LOOPBACK else TransportSecuritySettings(enable_dns_rebinding_protection=False)


async def _events(request: Request, context: ServerContext, hub: Hub) -> Response:
    """What happens, as server-sent events; each has its entry's number as id, so that a reader can go on."""
    asked = request.headers.get("last-event-id") or request.query_params.get("after")
    if asked is not None and not (asked.isascii() and asked.isdigit() and len(asked) < 19):
        return failure(400, "invalid_argument", "`after` is the number of an entry.")
    after = int(asked) if asked is not None else await context.read(context.journal.head)
    instance = request.query_params.get("instance")
    try:
        found = await context.read(lambda: context.journal.instance(instance).id) if instance else None
    except InterlockError as error:
        return failure(404, error.code, error.message)
    return StreamingResponse(hub.entries(after, found), media_type="text/event-stream", headers=_STREAM)
