"""A page that cannot be made does not take the others with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from faces.journals import opened
from interlock.faces.mcp.server_context import ServerContext
from interlock.faces.web.hub import Hub
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.faces.web.pages import PAGES
from interlock.faces.web.rendering import Renderer
from interlock.machine import load_shipped
from interlock.work.settings.values import Settings

from .sites import NOBODY

pytestmark = pytest.mark.usefixtures("own_event_loop")


def _broken(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    raise ZeroDivisionError


def test_the_stream_goes_on_when_one_of_its_pages_cannot_be_made(repository: Path) -> None:
    whole = next(page for page in PAGES if page.route == "/sessions")

    shown = [(page, PageRequest(page.route, {}, {})) for page in (PageKind("/broken", "sessions.html", _broken), whole)]
    with opened(repository) as journal:
        sight = Sight(journal, repository / ".ralf", repository, Settings(), load_shipped)
        context = ServerContext(journal, repository / ".ralf", repository)

        async def told() -> bytes:
            stream = Hub(context, sight, Renderer([], NOBODY), anyio.Event()).regions(shown)
            await anext(stream)  # when to come again
            return await anext(stream)

        assert b'"name":"/sessions#' in anyio.run(told)
