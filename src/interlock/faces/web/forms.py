"""What browsers send: forms, by POST only, from our own pages, of a bounded size and within a bounded time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

import anyio
import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from interlock.errors import InterlockError, Refusal, UsageError
from interlock.faces.web.acting import ActionResult, Hands
from interlock.faces.web.browsers import FlashMessage, Passes, cookie_name
from interlock.faces.web.moves import (
    Form,
    begin_thread,
    gate_page,
    instance_of,
    move_run,
    move_story,
    move_thread,
    move_ticket,
    work_ticket,
)
from interlock.faces.web.page import PageRequest
from interlock.faces.web.rendering import Renderer

__all__ = ["Forms"]

_MOST: Final = 1_000_000
_MOST_FIELDS: Final = 50
_SECONDS: Final = 30.0
_KIND: Final = "application/x-www-form-urlencoded"
_MOVES: Final[tuple[tuple[str, str, str, Callable[[Hands, str, Form], ActionResult]], ...]] = (
    ("thread", "/threads", "new", begin_thread),
    ("thread", "/thread/{called}", "act", move_thread),
    ("ticket", "/ticket/{called}", "handoff", move_ticket),
    ("ticket", "/ticket/{called}", "work", work_ticket),
    ("orchestrator", "/run/{called}", "act", move_run),
    ("story", "/story/{called}", "act", move_story),
)
"""The machine, the page, the last word of the address, and what is done."""


class Forms:
    """The routes that change something."""

    def __init__(self, hands: Hands, renderer: Renderer, passes: Passes) -> None:
        self._hands = hands
        self._acting = hands.acting
        self._renderer = renderer
        self._passes = passes

    @property
    def routes(self) -> list[Route]:
        moves = [
            Route(f"{page}/{word}", self._moved(machine, page, move), methods=["POST"])
            for machine, page, word, move in _MOVES
        ]
        return [
            *moves,
            Route("/login", self.log_in, methods=["POST"]),
            Route("/logout", self.log_out, methods=["POST"]),
            Route("/token", self.enter, methods=["POST"]),
        ]

    def viewer(self, request: Request) -> Mapping[str, Any]:
        """What a page says only to the browser that asks for it."""
        secret = request.cookies.get(_cookie_of(request))
        return {"is_person": self._acting.browsers.knows(secret), "told": self._acting.browsers.told(secret)}

    # Moving

    def _moved(self, machine: str, page: str, move: Callable[[Hands, str, Form], ActionResult]) -> Any:
        async def handle(request: Request) -> Response:
            called = request.path_params.get("called", "")
            secret = request.cookies.get(_cookie_of(request))
            try:
                form = await _read_form(request)
                if not self._acting.browsers.knows(secret):
                    raise self._unknown()
            except InterlockError as error:
                await anyio.to_thread.run_sync(self._keep, machine, called, error)
                return self._refused(request, error)
            try:
                done = await anyio.to_thread.run_sync(move, self._hands, called, form, abandon_on_cancel=True)
                self._acting.browsers.tell(secret, FlashMessage(done.message, is_error=False))
                where = done.where
            except InterlockError as error:
                self._acting.browsers.tell(secret, FlashMessage(error.message, error.hint))
                where = gate_page(called, form) if "about" in form else page.replace("{called}", quote(called, safe=""))
            return RedirectResponse(where, 303)

        return handle

    def _unknown(self) -> Refusal:
        self._acting.must_be_offered()
        message = "This browser is not known to be the person's, so nothing was done."
        return Refusal("login_needed", message, "Log in with the code that `ralph serve` prints, then do it again.")

    def _keep(self, machine: str, called: str, error: InterlockError) -> None:
        found = instance_of(self._hands.journal, machine, called)
        if found is not None:
            self._acting.keep(self._hands.journal, found, "dashboard", error.message)

    def _refused(self, request: Request, error: InterlockError) -> Response:
        status = {"body_too_large": 413, "invalid_argument": 400}.get(error.code, 403)
        given = {"error": error, "asked": PageRequest("/login", {}, {}), "now": self._hands.journal.now()}
        return HTMLResponse(self._renderer.page("refused.html", given), status, {"cache-control": "no-store"})

    # Logging in

    async def log_in(self, request: Request) -> Response:
        """A browser becomes the person's by the code; or a new code is printed."""
        try:
            form = await _read_form(request)
            if form.get("again"):
                await anyio.to_thread.run_sync(self._acting.print_login)
                return RedirectResponse("/login", 303)
            secret = await anyio.to_thread.run_sync(self._acting.log_in, form.get("code", ""))
        except InterlockError as error:
            return self._refused(request, error)
        return _with_cookie(RedirectResponse("/", 303), _cookie_of(request), secret)

    async def log_out(self, request: Request) -> Response:
        try:
            await _read_form(request)
        except InterlockError as error:
            return self._refused(request, error)
        self._acting.browsers.forget(request.cookies.get(_cookie_of(request)))
        return RedirectResponse("/", 303)

    async def enter(self, request: Request) -> Response:
        """A browser that brings the token once need not bring it with each request."""
        try:
            form = await _read_form(request)
        except InterlockError as error:
            return self._refused(request, error)
        if not self._passes.holds(form.get("token", "")):
            text = self._renderer.page("token.html", {"error": "That is not the token of this server."})
            return HTMLResponse(text, 401)
        return self._passes.give(RedirectResponse("/", 303), request.scope)


def _cookie_of(request: Request) -> str:
    return cookie_name(request.scope, "person")


def _with_cookie(answer: Response, name: str, secret: str) -> Response:
    answer.set_cookie(name, secret, path="/", httponly=True, samesite="strict")
    return answer


async def _read_form(request: Request) -> dict[str, str]:
    """What a form of one of our own pages says. Refuses what comes from elsewhere, is too much, or takes too long."""
    _must_be_ours(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _KIND:
        raise UsageError("invalid_argument", f"A form is sent as {_KIND}.", "Use the page's own form.")
    body = b""
    try:
        with anyio.fail_after(_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > _MOST:
                    raise UsageError("body_too_large", f"A form has {_MOST} bytes at the most.", "Say it shorter.")
    except (TimeoutError, ClientDisconnect):
        raise UsageError("invalid_argument", "The form did not arrive whole.", "Send it again.") from None
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise UsageError("invalid_argument", "The form cannot be read.", "Use the page's own form.") from None
    return dict(pairs)


def _must_be_ours(request: Request) -> None:
    """Sent by a page of this very server, port and all; other pages of this machine are others'."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
    if site not in ("same-origin", "none") or (origin and urlsplit(origin).netloc != request.headers.get("host")):
        raise Refusal("login_needed", "The form comes from a page of another site.", "Use the page's own form.")
