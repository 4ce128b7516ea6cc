"""Where the tools find what they need: the journal, and who is calling."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import msgspec

from interlock.errors import InterlockError, TrackerError
from interlock.journal import Journal, Transaction
from interlock.machine import Actor, ActorKind, Channel, Machine, load_shipped
from interlock.work.sessions.refresh import refresh
from interlock.work.sessions.upkeep import take_in
from interlock.work.sessions.verbs import Caller
from interlock.work.settings.values import Settings
from interlock.world.ancestry import host
from interlock.world.inbox import waiting
from interlock.world.place import Place
from interlock.world.processes import Process

__all__ = ["ServerContext"]

log = logging.getLogger("interlock.mcp")

Result = TypeVar("Result")

_UPKEEP_SECONDS = 5.0


class ServerContext(msgspec.Struct):
    """One server's journal, and where the agents that call it work."""

    journal: Journal
    state_directory: Path
    work_tree: Path | None
    process: Process | None = None
    """The agent's process, where the server has one agent: over stdio."""
    settings: Settings = msgspec.field(default_factory=Settings)
    session: str | None = None
    """The session that the agent was given when it was started."""
    machines: Callable[[str], Machine] = load_shipped
    taking: anyio.Lock = msgspec.field(default_factory=anyio.Lock)
    place: Place | None = None
    """Where the agents work, as entries name it."""

    def __post_init__(self) -> None:
        if self.work_tree is not None:
            self.place = Place.at(self.state_directory.parent, self.work_tree, host())

    @property
    def timeout(self) -> float:
        """For how many seconds an agent may be silent whose process is not known."""
        return self.settings.number("session.timeout_minutes") * 60.0

    def caller(self, client: str | None) -> Caller:
        """Whoever calls over MCP is an agent."""
        name = "".join(one for one in (client or "") if one.isprintable())[:100].strip() or "agent"
        actor = Actor(ActorKind.AGENT, name, Channel.MCP)
        return Caller(actor, name, self.process, self.place, self.session)

    async def transact(self, work: Callable[[Transaction], Result]) -> Result:
        """Do something in the journal; what hooks saw before is taken in first."""
        await self.take_in()
        return await self.journal.transact_async(work)

    async def read(self, work: Callable[[], Result]) -> Result:
        """Ask the journal, without holding up others."""
        await self.take_in()
        return await anyio.to_thread.run_sync(work)

    async def take_in(self) -> None:
        try:
            is_any = bool(waiting(str(self.state_directory)))
        except OSError as error:  # what hooks saw has to wait; what agents report has not
            log.warning("what hooks saw cannot be read: %s", error)
            return
        if is_any:
            async with self.taking:
                await anyio.to_thread.run_sync(take_in, self.journal, self.state_directory)

    async def upkeep(self) -> None:
        """Keep the sessions up to date, for as long as the server runs."""
        while True:
            try:
                await anyio.to_thread.run_sync(refresh, self.journal, self.state_directory)
            except (InterlockError, OSError) as error:  # the next time may do; a server goes on answering
                log.warning("the sessions could not be brought up to date: %s", error)
            await anyio.sleep(_UPKEEP_SECONDS)

    async def follow_board(self, environment: Mapping[str, str]) -> None:
        """Keep the tickets and a tracker's board in step, for as long as the server runs; where there is none, rest."""
        if self.settings.text("ticket.tracker") == "local":
            return
        ending = threading.Event()
        # A thread of its own, for a server that ends does not wait until GitHub answers.
        threading.Thread(target=self._follow, args=(environment, ending), daemon=True).start()
        try:
            await anyio.sleep_forever()
        finally:
            ending.set()

    def _follow(self, environment: Mapping[str, str], ending: threading.Event) -> None:
        every = wait = float(self.settings.number("github.every_seconds"))
        while not ending.is_set():
            try:
                self._synchronise(environment)
                wait = every
            except InterlockError as error:  # another process does it, or GitHub is away: the next time may do
                log.warning("the board could not be brought in step: %s", error)
                wait = max(every, error.retry_after or 0.0) if isinstance(error, TrackerError) else every
            except Exception:
                if not ending.is_set():  # else the journal was closed meanwhile; the next sync does the rest
                    raise
            ending.wait(wait)

    def _synchronise(self, environment: Mapping[str, str]) -> None:
        from interlock.work.tickets.sync import synchronise, tracker_of

        board = tracker_of(self.settings, environment)
        if board is None:
            return
        with board:
            report = synchronise(self.journal, board, self.machines("ticket"))
        for one in report.trouble:
            log.warning("ticket %d could not be brought in step with the board: %s", one.number, one.message)
