"""A program: many that listen to a stream of server-sent events, and read what comes. It ends with its input.

It says `ready` when each of them has heard something.
"""

from __future__ import annotations

import asyncio
import sys

from bench.project import TOKEN

_REQUEST = b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n"
_EVENT = b"event: region\n"


async def _listen(port: int, path: bytes, began: asyncio.Event) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_REQUEST % (path, TOKEN.encode()))
    while line := await reader.readline():
        if line == _EVENT:
            began.set()
    writer.close()


async def _main(port: int, path: bytes, number: int) -> None:
    began = [asyncio.Event() for _ in range(number)]
    listening = [asyncio.create_task(_listen(port, path, one)) for one in began]
    for one in began:
        await one.wait()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in listening:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3])))
