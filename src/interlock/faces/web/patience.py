"""Connections that say nothing, or only half of a request, are closed after a while: each one takes a place."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Patient"]


class Patient(H11Protocol):
    """HTTP as uvicorn speaks it, for requests whose head arrives within a while."""

    seconds: ClassVar[float] = 20.0
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        cycle = self.cycle
        super().data_received(data)
        if self.cycle is not cycle:
            self._heard()  # a head has arrived; how long a body may take is for who reads it
        elif self._waiting is None and cycle is not None and cycle.response_complete:
            self._wait()  # half of the next head on a connection that is kept

    def _wait(self) -> None:
        self._waiting = asyncio.get_running_loop().call_later(self.seconds, self._give_up)

    def _heard(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self.transport.is_closing():
            self.transport.close()
