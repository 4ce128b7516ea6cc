"""A connection to the server that plays GitHub: it gives up where no answer will come, and else waits for one."""

from __future__ import annotations

from typing import Any

import httpx

from interlock.world.github.transport import Transport
from patience import SECONDS
from world.github_server import TOKEN, GitHubServer

__all__ = ["connected"]

_MOMENT = 0.05


class _Line(httpx.BaseTransport):
    """Knows what the server is about to do: how long an answer takes says only how busy the machine is."""

    def __init__(self, server: GitHubServer, line: httpx.BaseTransport) -> None:
        self._server = server
        self._line = line

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if not self._server.falls_silent(request.read()):
            return self._line.handle_request(request)
        request.extensions["timeout"] = {**request.extensions["timeout"], "read": _MOMENT}
        count = len(self._server.requests) + 1
        try:
            return self._line.handle_request(request)
        finally:
            self._server.wait_for(count)  # what it does all the same is done before the next request

    def close(self) -> None:
        self._line.close()


def connected(server: GitHubServer, **options: Any) -> Transport:
    """A transport to a server, with the time-out of each silence passed at once."""
    found = Transport(TOKEN, **{"url": server.url, "time_outs": httpx.Timeout(SECONDS), **options})
    found._client._transport = _Line(server, found._client._transport)
    return found
