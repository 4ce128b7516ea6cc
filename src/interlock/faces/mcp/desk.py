"""Where the tools find what they need: the journal, and who is calling."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from interlock.errors import InterlockError
from interlock.journal import Journal, Transaction
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.sessions.upkeep import refresh, take_in
from interlock.work.sessions.verbs import TIMEOUT_SECONDS, Caller
from interlock.world.inbox import waiting
from interlock.world.processes import Process

__all__ = ["Desk"]

log = logging.getLogger("interlock.mcp")

Result = TypeVar("Result")

_UPKEEP_SECONDS = 5.0


@dataclass(slots=True)
class Desk:
    """One server's journal, and where the agents that call it work."""

    journal: Journal
    state_directory: Path
    work_tree: Path | None
    process: Process | None = None
    """The agent's process, where the server has one agent: over stdio."""
    timeout: float = TIMEOUT_SECONDS
    taking: anyio.Lock = field(default_factory=anyio.Lock)

    def caller(self, client: str | None) -> Caller:
        """Whoever calls over MCP is an agent."""
        name = "".join(one for one in (client or "") if one.isprintable())[:100].strip() or "agent"
        actor = Actor(ActorKind.AGENT, name, Channel.MCP)
        return Caller(actor, name, self.process, str(self.work_tree) if self.work_tree else None)

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
