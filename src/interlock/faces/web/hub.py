"""What happens, to everybody who looks: one reader of the journal, however many browsers and programs listen.

A page that is shown somewhere is made once for all who show it. Who listens too slowly gets the newest state of each
region and misses only what nobody would see: the states between.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import closing
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Final

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec

from interlock.errors import InterlockError
from interlock.faces.mcp.server_context import ServerContext
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.faces.web.rendering import Renderer
from interlock.journal import Entry
from interlock.world.inbox import place
from interlock.world.watching import FileWatch

__all__ = ["Hub", "PageView"]

log = logging.getLogger("interlock.web")

_BATCH: Final = 500
_KEPT: Final = 2000
"""So many of the newest entries are kept at hand for those who listen."""
_POLL_SECONDS: Final = 0.1
"""How often the journal is looked at where the system does not tell that it was written."""
_SELDOM_SECONDS: Final = 1.0
"""How often where it does: what it says could be lost."""
_SOON_SECONDS: Final = 0.004
_REST_SECONDS: Final = 0.05
"""Between two changes of a page, so that a flood of entries is shown in steps."""
_QUIET_SECONDS: Final = 15.0
_AGES_SECONDS: Final = 10.0


class PageView(msgspec.Struct):
    """A page as somebody shows it, made as of an entry."""

    page: PageKind
    asked: PageRequest
    regions: dict[str, str] = msgspec.field(default_factory=dict)
    told: dict[str, bytes] = msgspec.field(default_factory=dict)
    """Each region as all who show the page are told of it."""
    seq: int = -1
    viewers: int = 0
    making: anyio.Lock = msgspec.field(default_factory=anyio.Lock)
    """One at a time: of two that are made at once, the older could be the last to be done."""


class _Told(msgspec.Struct, frozen=True):
    """An entry as all who listen are told of it."""

    seq: int
    instance: str
    event: bytes


def _told(entry: Entry) -> _Told:
    event = b"id: %d\nevent: entry\ndata: %s\n\n" % (entry.seq, msgspec.json.encode(entry))
    return _Told(entry.seq, entry.instance, event)


class _Signal:
    """Wakes everybody who waits, each time that something happened."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def wake(self) -> None:
        self._event.set()
        self._event = anyio.Event()

    async def wait(self, seconds: float) -> bool:
        """Whether something happened; if not, so much time has passed."""
        with anyio.move_on_after(seconds) as waiting:
            await self._event.wait()
        return not waiting.cancelled_caught


class Hub:
    """Follows one journal."""

    def __init__(
        self,
        context: ServerContext,
        sight: Sight,
        renderer: Renderer,
        ending: anyio.Event,
        news: Callable[[], set[str]] = set,
    ) -> None:
        self._desk: Final = context
        self._sight: Final = sight
        self._renderer: Final = renderer
        self._ending: Final = ending
        self._news: Final = news
        self._happened = _Signal()
        self._made = _Signal()
        self._newest: deque[_Told] = deque(maxlen=_KEPT)
        self._machines: dict[str, str] = {}
        self._views: dict[str, PageView] = {}
        self.head = 0
        self.is_waiting = False
        """True while there is nothing new, and the next write is waited for."""

    async def run(self) -> None:
        """Follow the journal until the server ends."""
        self.head = await self._desk.read(self._desk.journal.head)
        with closing(FileWatch()) as watch:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow, watch)
                await self._ending.wait()
                tasks.cancel_scope.cancel()
        self._happened.wake()
        self._made.wake()

    async def _follow(self, watch: FileWatch) -> None:
        aged, pause = anyio.current_time(), _POLL_SECONDS
        while True:
            watch.forget()  # before looking, so that nothing falls between
            entries = await self._desk.read(partial(self._desk.journal.entries, self.head, most=_BATCH))
            if entries:
                await self._take(entries)
                await anyio.sleep(_REST_SECONDS)
            elif beside := self._news():  # something happened to these that is no entry
                await self._show(beside)
            elif anyio.current_time() - aged >= _AGES_SECONDS:
                aged = anyio.current_time()
                for view in [one for one in self._views.values() if one.page.ages]:
                    await self.refresh(view)
            else:
                most = _SELDOM_SECONDS if self._is_told(watch) else _POLL_SECONDS
                self.is_waiting = True
                is_written = await _is_written(watch, min(pause, most))
                self.is_waiting = False
                # What is written can be read when it is safe on the disk, and nothing tells when that is.
                pause = _SOON_SECONDS if is_written else 2 * min(pause, most)

    def _is_told(self, watch: FileWatch) -> bool:
        """Whether the system tells when an entry is written, and when a hook has seen something."""
        file, directory = self._desk.journal.file, self._desk.state_directory
        inbox = Path(place(str(directory)))
        if file is None or not watch.covers(file.with_name(f"{file.name}-wal"), directory):
            return False
        return watch.covers(inbox) or not inbox.exists()

    async def _take(self, entries: list[Entry]) -> None:
        self._newest.extend(map(_told, entries))
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

    async def refresh(self, view: PageView) -> None:
        """Make a view as of now; those who show it are woken where it changed."""
        async with view.making:
            await self._make(view)

    async def _catch_up(self, view: PageView) -> None:
        """Make a view where something happened since it was made; once for all who have just opened it."""
        async with view.making:
            if view.seq != self.head or not view.told:
                await self._make(view)

    async def _make(self, view: PageView) -> None:
        head = self.head
        try:
            view.regions, told = await anyio.to_thread.run_sync(self._made_of, view)
        except InterlockError:
            return  # what it shows is gone; who reloads it is told so
        except Exception:  # a fault of one page is told where the server runs; the others go on
            log.exception("the page %s could not be made", view.asked.path)
            return
        is_new, view.told, view.seq = told != view.told, told, head
        if is_new:
            self._made.wake()

    def _made_of(self, view: PageView) -> tuple[dict[str, str], dict[str, bytes]]:
        given = view.page.look(self._sight, view.asked)
        regions = self._renderer.regions(view.page.template, {**given, "asked": view.asked, "now": self._sight.now})
        named = {f"{view.asked.path}#{region}": html for region, html in regions.items()}
        return regions, {name: _event(name, html) for name, html in named.items()}

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
            if found:
                yield b"".join(one.event for one in found)
                after = found[-1].seq
                await anyio.lowlevel.checkpoint()  # else a client that has left is not noticed while others write
            elif head == self.head:  # else something happened while it was looked for
                after = max(after, head)
                if not await self._happened.wait(_QUIET_SECONDS):
                    yield b": still here\n\n"

    async def _after(self, after: int, instance: str | None) -> list[_Told]:
        if self._newest and self._newest[0].seq <= after + 1:
            kept = [*takewhile(lambda one: one.seq > after, reversed(self._newest))][::-1]
            return [one for one in kept if instance in (None, one.instance)][:_BATCH]
        read = partial(self._desk.journal.entries, after, instance=instance, most=_BATCH)
        return [_told(one) for one in await self._desk.read(read)]

    async def regions(self, shown: Iterable[tuple[PageKind, PageRequest]]) -> AsyncIterator[bytes]:
        """The regions of pages, as server-sent events: all of them at first, then those that changed."""
        views = [self._opened(page, asked) for page, asked in shown]
        sent: dict[str, bytes] = {}
        try:
            yield b"retry: 1000\n\n"
            for view in views:
                await self._catch_up(view)
            while not self._ending.is_set():
                told = [(view.seq, *one) for view in views for one in view.told.items()]
                fresh = [(seq, name, event) for seq, name, event in told if sent.get(name) != event]
                if fresh:
                    sent |= {name: event for _, name, event in fresh}
                    yield b"".join(b"id: %d\n%s" % (seq, event) for seq, _, event in fresh)
                elif not await self._made.wait(_QUIET_SECONDS):
                    yield b"event: still\ndata: {}\n\n"  # a comment would not reach who must know that it lives
        finally:
            for view in views:
                view.viewers -= 1
                if not view.viewers:
                    self._views.pop(view.asked.path, None)

    def _opened(self, page: PageKind, asked: PageRequest) -> PageView:
        view = self._views.setdefault(asked.path, PageView(page, asked))
        view.viewers += 1
        return view


async def _is_written(watch: FileWatch, seconds: float) -> bool:
    """Wait until a watched file is written, at most so long; True if one was."""
    with anyio.move_on_after(seconds):
        descriptor = watch.descriptor
        await (anyio.sleep_forever() if descriptor is None else anyio.wait_readable(descriptor))
        return True
    return False


def _event(name: str, html: str) -> bytes:
    """A region as a server-sent event, but for its id."""
    return b"event: region\ndata: %s\n\n" % msgspec.json.encode({"name": name, "html": html})


def _concerns(view: PageView, topics: set[str]) -> bool:
    wanted = view.page.topics(view.asked)
    return not wanted or not wanted.isdisjoint(topics)
