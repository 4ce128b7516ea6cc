"""A program: the least that can push server-sent events to many. It serves one page and one stream, and pushes what it
reads: lines of a word, `page` or `event`, and a number, each followed by so many bytes.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

_listening: dict[asyncio.Queue[bytes], None] = {}
"""In the order in which they came, as ours are told."""
_shown = {"page": b"", "event": b""}


async def _page(request: Request) -> Response:
    return HTMLResponse(_shown["page"])


async def _live(request: Request) -> Response:
    return StreamingResponse(_events(), media_type="text/event-stream")


async def _events() -> AsyncIterator[bytes]:
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    _listening[queue] = None
    try:
        yield _shown["event"]
        while True:
            yield await queue.get()
    finally:
        del _listening[queue]


async def _read() -> None:
    reader = asyncio.StreamReader(limit=1 << 24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        what, length = line.decode().split()
        _shown[what] = await reader.readexactly(int(length))
        for queue in list(_listening):
            queue.put_nowait(_shown["event"])


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    reading = asyncio.create_task(_read())
    yield
    reading.cancel()


def _main() -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(2048)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    routes = [Route("/", _page), Route("/live", _live), Mount("/static", StaticFiles(directory=Path(sys.argv[1])))]
    app = Starlette(routes=routes, lifespan=_lifespan)
    uvicorn.Server(uvicorn.Config(app, http="h11", log_level="warning", timeout_graceful_shutdown=1)).run(
        sockets=[listener]
    )


if __name__ == "__main__":
    _main()
