"""The checks of every request: the token, also from this machine, and what a page may do.

A page of another site cannot use the server: `Host`, `Origin` and `Sec-Fetch-Site` of every request are checked, and
nothing changes but by POST. What agents wrote cannot run in a page: no script and no style is inline.
"""

from __future__ import annotations

import hmac
import re
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interlock.faces.web import LOOPBACK
from interlock.faces.web.browsers import Passes

__all__ = ["failure", "guards"]

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def guards(host: str, passes: Passes, ask: str) -> list[Middleware]:
    """What every request passes, from the outside in; `ask` is the page that asks a browser for the token."""
    is_loopback = host in LOOPBACK
    hosts = ["127.0.0.1", "localhost", "[::1]"] if is_loopback else ["*"]
    found = [Middleware(_Hardened), Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)]
    if is_loopback:
        found.append(Middleware(_SameSite, allowed=hosts))
    # Also on loopback: every user of this machine can reach that.
    return [*found, Middleware(_Token, passes=passes, ask=ask)]


def failure(status: int, code: str, message: str, hint: str = "") -> JSONResponse:
    """A refusal as programs read it."""
    return JSONResponse({"ok": False, "error": {"code": code, "message": message, "hint": hint}}, status)


class _Hardened:
    """Every answer says what a page that shows it may do."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, hardened if scope["type"] == "http" else send)


class _SameSite:
    """A request that a page of another site makes is refused; following a link to a page is not."""

    def __init__(self, app: ASGIApp, allowed: list[str]) -> None:
        self._app = app
        self._allowed = re.compile(f"https?://(?:{'|'.join(map(re.escape, allowed))})(?::[0-9]+)?")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._is_foreign(scope["method"], Headers(scope=scope)):
            answer = failure(403, "origin_refused", "The request comes from a page of another site.")
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_foreign(self, method: str, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin and self._allowed.fullmatch(origin) is None:
            return True
        if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
            return False
        return method not in _SAFE or headers.get("sec-fetch-mode") != "navigate"


class _Token:
    """Every request must carry the token, or come from a browser that brought it once.

    A browser brings it with the address that `ralph serve` prints, gets a cookie, and is sent to the same page without
    the token in its address.
    """

    def __init__(self, app: ASGIApp, passes: Passes, ask: str) -> None:
        self._app = app
        self._wanted = f"Bearer {passes.token}".encode()
        self._passes = passes
        self._ask = ask

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (entered := self._entered(HTTPConnection(scope))) is not None:
            await entered(scope, receive, send)
            return
        if scope["type"] == "http" and not self._may(HTTPConnection(scope)):
            answer: Response = failure(401, "unauthorized", "The request does not carry the token of this server.")
            if scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", ""):
                answer = HTMLResponse(self._ask, 401)
            answer.headers["www-authenticate"] = "Bearer"
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _entered(self, request: HTTPConnection) -> Response | None:
        """The answer to a browser whose address has the token; None for any other."""
        if request.scope["method"] != "GET" or not self._passes.holds(request.query_params.get("token", "")):
            return None
        address = request.url.remove_query_params("token")
        where = address.path + (f"?{address.query}" if address.query else "")
        answer = RedirectResponse(f"/{where.lstrip('/')}", 303, {"cache-control": "no-store"})
        return self._passes.give(answer, request.scope)

    def _may(self, request: HTTPConnection) -> bool:
        given = dict(request.scope["headers"]).get(b"authorization", b"")
        if hmac.compare_digest(given, self._wanted):
            return True
        path, method = request.url.path, request.scope["method"]
        if (method, path) == ("POST", "/token") or (method == "GET" and path.startswith("/static/")):
            return True
        return self._passes.knows(request.cookies, request.scope)
