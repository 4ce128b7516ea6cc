"""A real server on loopback that takes what is posted, and answers as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from patience import SECONDS

__all__ = ["Got", "Receiver", "receiver"]


class Got(msgspec.Struct, frozen=True):
    """One request."""

    headers: dict[str, str]
    body: bytes
    path: str = ""

    @property
    def data(self) -> Any:
        return json.loads(self.body)


class Receiver(msgspec.Struct):
    """What came, and what is answered: the next of `answers`, else 200. 0 is no answer until `release` is set."""

    answers: list[tuple[int, dict[str, str]]] = msgspec.field(default_factory=list)
    got: list[Got] = msgspec.field(default_factory=list)
    arrived: threading.Event = msgspec.field(default_factory=threading.Event)
    release: threading.Event = msgspec.field(default_factory=threading.Event)
    url: str = ""
    body: bytes = b""
    """What an answer says."""


@contextmanager
def receiver(*answers: tuple[int, dict[str, str]]) -> Iterator[Receiver]:
    """A receiver that listens on a port of its own."""
    known = Receiver(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            status, headers = known.answers.pop(0) if known.answers else (200, {})
            known.got.append(Got(dict(self.headers), body, self.path))
            known.arrived.set()
            if status == 0:
                known.release.wait(SECONDS)
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(known.body)))
            self.end_headers()
            self.wfile.write(known.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        known.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield known
        finally:
            known.release.set()
            server.shutdown()
            thread.join(SECONDS)
