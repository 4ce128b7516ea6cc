"""What happens is shown once for all who look, however many they are, and heard of without looking all the time."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec
import pytest
from msgspec.structs import replace

from faces.journals import AGENT
from interlock.faces.mcp.server_context import ServerContext
from interlock.faces.web import hub as hubs
from interlock.faces.web.hub import Hub
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.faces.web.pages import PAGES
from interlock.faces.web.rendering import Renderer
from interlock.journal import Journal, open_journal
from interlock.machine import load_shipped
from interlock.work.sessions.verbs import Caller, create, update
from interlock.work.settings.values import Settings
from interlock.world.inbox import drop
from patience import SECONDS

from .sites import NOBODY

pytestmark = pytest.mark.usefixtures("own_event_loop")
MANY = 40
ASKED = PageRequest("/sessions", {}, {})


class _Place(msgspec.Struct):
    """A hub that follows a journal, the journal as another process has it, and how often a page was made."""

    hub: Hub
    journal: Journal
    session: str
    made: int = 0

    @property
    def page(self) -> PageKind:
        page = next(one for one in PAGES if one.route == ASKED.path)

        def look(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
            self.made += 1
            return page.look(sight, asked)

        return replace(page, look=look, ages=False)

    def report(self, state: str) -> None:
        self.journal.transact(update(self.session, state, AGENT))


@asynccontextmanager
async def _following(path: Path) -> AsyncIterator[_Place]:
    file = path / "journal.db"
    with closing(open_journal(file)) as journal, closing(open_journal(file)) as other:
        session = other.transact(create(Caller(AGENT, "claude"))).session_id
        sight, ending = Sight(journal, path, None, Settings(), load_shipped), anyio.Event()
        hub = Hub(ServerContext(journal, path, None), sight, Renderer([], NOBODY), ending)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hub.run)
            with anyio.fail_after(SECONDS):
                while not hub.head:  # until it has begun
                    await anyio.sleep(0)
                yield _Place(hub, other, session)
            ending.set()


async def _until(stream: AsyncIterator[bytes], word: bytes) -> None:
    while word not in await anext(stream):
        pass


async def _waits(hub: Hub) -> None:
    """Until it has looked and found nothing."""
    while not hub.is_waiting:
        await anyio.sleep(0)


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found by looking again."""
    for name in ("_POLL_SECONDS", "_SELDOM_SECONDS"):
        monkeypatch.setattr(hubs, name, 1e6)


def test_a_page_is_made_once_for_all_who_show_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with _following(tmp_path) as place:
            streams = [place.hub.regions([(place.page, ASKED)]) for _ in range(MANY)]
            async with anyio.create_task_group() as tasks:
                for one in streams:
                    tasks.start_soon(_until, one, b"event: region")
            assert place.made == 1
            place.report("analyzing")
            async with anyio.create_task_group() as tasks:
                for one in streams:
                    tasks.start_soon(_until, one, b"Analyzing")
            assert place.made == 2

    anyio.run(main)


@pytest.mark.skipif(sys.platform != "linux", reason="not run: only Linux tells what is written")
def test_what_another_process_writes_is_heard_without_looking(tmp_path: Path, seldom: None) -> None:
    async def main() -> None:
        async with _following(tmp_path) as place:
            stream = place.hub.regions([(place.page, ASKED)])
            await _until(stream, b"event: region")
            for state in ("analyzing", "implementing", "testing"):
                await _waits(place.hub)
                await anyio.to_thread.run_sync(place.report, state)
                await _until(stream, state.capitalize().encode())

    anyio.run(main)


@pytest.mark.skipif(sys.platform != "linux", reason="not run: only Linux tells what is written")
def test_what_a_hook_saw_is_heard_without_looking(
    tmp_path: Path, seldom: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "_SOON_SECONDS", 1e6)

    async def main() -> None:
        async with _following(tmp_path) as place:
            stream = place.hub.regions([(place.page, ASKED)])
            await _until(stream, b"event: region")
            for number in range(3):
                await _waits(place.hub)
                drop(str(tmp_path), place.session, {"type": "progress", "message": f"number {number}"})
                await _until(stream, f"number {number}".encode())

    anyio.run(main)


def test_a_page_that_did_not_change_wakes_nobody(tmp_path: Path) -> None:
    async def main() -> None:
        async with _following(tmp_path) as place:
            page = replace(place.page, look=lambda sight, asked: {"rows": [], "older": None, "is_first": True})
            stream = place.hub.regions([(page, ASKED)])
            await _until(stream, b"event: region")
            woken = place.hub._made._event
            place.report("analyzing")
            await _until(place.hub.entries(0, None), b'"to_state":"analyzing"')
            [view] = place.hub._views.values()
            await place.hub.refresh(view)
            assert not woken.is_set()

    anyio.run(main)
