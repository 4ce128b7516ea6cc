"""What happens, to everybody who looks: one reader of the journal, however many browsers and programs listen.

A page that is shown somewhere is made once for all who show it. Who listens too slowly gets the newest state of each
region and misses only what nobody would see: the states between.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio
import anyio.to_thread
import msgspec

from interlock.errors import InterlockError
from interlock.faces.mcp.desk import Desk
from interlock.faces.web.page import Asked, Page, Sight
from interlock.faces.web.rendering import Renderer
from interlock.journal import Entry

__all__ = ["Hub", "View"]

log = logging.getLogger("interlock.web")

_BATCH: Final = 500
_KEPT: Final = 2000
"""So many of the newest entries are kept at hand for those who listen."""
_POLL_SECONDS: Final = 0.1
_QUIET_SECONDS: Final = 15.0
_AGES_SECONDS: Final = 10.0


@dataclass(slots=True)
class View:
    """A page as somebody shows it, made as of an entry."""

    page: Page
    asked: Asked
    regions: dict[str, str] = field(default_factory=dict)
    seq: int = -1
    viewers: int = 0
    making: anyio.Lock = field(default_factory=anyio.Lock)
    """One at a time: of two that are made at once, the older could be the last to be done."""


class _Signal:
    """Wakes everybody who waits, each time that something happened."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def wake(self) -> None:
        self._event.set()
        self._event = anyio.Event()

    async def wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._event.wait()


class Hub:
    """Follows one journal."""

    def __init__(
        self,
        desk: Desk,
        sight: Sight,
        renderer: Renderer,
        ending: anyio.Event,
        news: Callable[[], set[str]] = set,
    ) -> None:
        self._desk: Final = desk
        self._sight: Final = sight
        self._renderer: Final = renderer
        self._ending: Final = ending
        self._news: Final = news
        self._happened = _Signal()
        self._made = _Signal()
        self._newest: deque[Entry] = deque(maxlen=_KEPT)
        self._machines: dict[str, str] = {}
        self._views: dict[str, View] = {}
        self.head = 0

    async def run(self) -> None:
        """Follow the journal until the server ends."""
        self.head = await self._desk.read(self._desk.journal.head)
        aged = anyio.current_time()
        while not self._ending.is_set():
            entries = await self._desk.read(partial(self._desk.journal.entries, self.head, most=_BATCH))
            if entries:
                await self._take(entries)
            elif beside := self._news():  # something happened to these that is no entry
                await self._show(beside)
            elif anyio.current_time() - aged >= _AGES_SECONDS:
                aged = anyio.current_time()
                for view in [one for one in self._views.values() if one.page.ages]:
                    await self.refresh(view)
            else:
                with anyio.move_on_after(_POLL_SECONDS):
                    await self._ending.wait()
        self._happened.wake()
        self._made.wake()

    async def _take(self, entries: list[Entry]) -> None:
        self._newest.extend(entries)
        self.head = entries[-1].seq
        self._happened.wake()
        await self._show({one.instance for one in entries})

    async def _show(self, topics: set[str]) -> None:
        """Make the views anew that these instances concern."""
        topics |= {await self._machine_of(one) for one in topics}
        for view in list(self._views.values()):
            if _concerns(view, topics):
                await self.refresh(view)

    async def _machine_of(self, instance: str) -> str:
        if instance not in self._machines:
            self._machines[instance] = (await self._desk.read(partial(self._desk.journal.instance, instance))).machine
        return self._machines[instance]

    async def refresh(self, view: View) -> None:
        """Make a view as of now; those who show it are woken."""
        async with view.making:
            await self._make(view)

    async def _catch_up(self, view: View) -> None:
        """Make a view where something happened since it was made; once for all who have just opened it."""
        async with view.making:
            if view.seq != self.head or not view.regions:
                await self._make(view)

    async def _make(self, view: View) -> None:
        head = self.head
        try:
            view.regions = await anyio.to_thread.run_sync(self._made_of, view)
        except InterlockError:
            return  # what it shows is gone; who reloads it is told so
        except Exception:  # a fault of one page is told where the server runs; the others go on
            log.exception("the page %s could not be made", view.asked.path)
            return
        view.seq = head
        self._made.wake()

    def _made_of(self, view: View) -> dict[str, str]:
        given = view.page.look(self._sight, view.asked)
        return self._renderer.regions(view.page.template, {**given, "asked": view.asked, "now": self._sight.now})

    def kept(self, path: str, name: str) -> str:
        """A region of a page that somebody shows now, as it was made last; empty where nobody does."""
        view = self._views.get(path)
        return "" if view is None else view.regions.get(name, "")

    # Listening

    async def entries(self, after: int, instance: str | None) -> AsyncIterator[bytes]:
        """The entries after one, as server-sent events, each with its number as id."""
        yield b": what happens in this journal\n\n"
        while not self._ending.is_set():
            head = self.head
            found = await self._after(after, instance)
            for entry in found:
                yield b"id: %d\nevent: entry\ndata: %s\n\n" % (entry.seq, msgspec.json.encode(entry))
            if found:
                after = found[-1].seq
            elif head == self.head:  # else something happened while it was looked for
                after = max(after, head)
                await self._happened.wait(_QUIET_SECONDS)
                if self.head == head:
                    yield b": still here\n\n"

    async def _after(self, after: int, instance: str | None) -> list[Entry]:
        if self._newest and self._newest[0].seq <= after + 1:
            kept = [one for one in self._newest if one.seq > after]
            return [one for one in kept if instance in (None, one.instance)][:_BATCH]
        return await self._desk.read(partial(self._desk.journal.entries, after, instance=instance, most=_BATCH))

    async def regions(self, shown: Iterable[tuple[Page, Asked]]) -> AsyncIterator[bytes]:
        """The regions of pages, as server-sent events: all of them at first, then those that changed."""
        views = [self._opened(page, asked) for page, asked in shown]
        sent: dict[str, str] = {}
        try:
            yield b"retry: 1000\n\n"
            for view in views:
                await self._catch_up(view)
            while not self._ending.is_set():
                fresh = [(view, name) for view in views for name in view.regions if self._is_new(sent, view, name)]
                for view, name in fresh:
                    key = f"{view.asked.path}#{name}"
                    sent[key] = view.regions[name]
                    told = msgspec.json.encode({"name": key, "html": sent[key]})
                    yield b"id: %d\nevent: region\ndata: %s\n\n" % (view.seq, told)
                if not fresh:
                    before = [view.seq for view in views]
                    await self._made.wait(_QUIET_SECONDS)
                    if before == [view.seq for view in views]:
                        yield b"event: still\ndata: {}\n\n"  # a comment would not reach who must know that it lives
        finally:
            for view in views:
                view.viewers -= 1
                if not view.viewers:
                    self._views.pop(view.asked.path, None)

    def _opened(self, page: Page, asked: Asked) -> View:
        view = self._views.setdefault(asked.path, View(page, asked))
        view.viewers += 1
        return view

    @staticmethod
    def _is_new(sent: dict[str, str], view: View, name: str) -> bool:
        return sent.get(f"{view.asked.path}#{name}") != view.regions[name]


def _concerns(view: View, topics: set[str]) -> bool:
    wanted = view.page.topics(view.asked)
    return not wanted or not wanted.isdisjoint(topics)
