"""A wire between a journal and its PostgreSQL server that a test can cut at the moment that matters."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from psycopg.conninfo import conninfo_to_dict

from patience import SECONDS

__all__ = ["Proxy"]

_SOCKET = ".s.PGSQL.5432"


class Proxy:
    """Passes everything on, until it is told to cut the wire at the next COMMIT.

    Cut `before`, the server never gets the COMMIT; cut `after`, it does, and its answer is never passed on.
    """

    def __init__(self, directory: Path, server: str) -> None:
        parts = conninfo_to_dict(server)
        self.address = f"postgresql://postgres@/{parts['dbname']}?host={directory}"
        self.cut: Literal["before", "after"] | None = None
        self.cuts = 0
        self._server = f"{parts['host']}/{_SOCKET}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(directory / _SOCKET))
        self._listener.listen()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def close(self) -> None:
        _drop(self._listener, *self._sockets)
        for thread in self._threads:
            thread.join(SECONDS)
        for one in (self._listener, *self._sockets):
            one.close()

    def _start(self, work: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=work, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                self._sockets += [client, server]
                server.connect(self._server)
                swallowed = threading.Event()
                self._start(lambda c=client, s=server, e=swallowed: self._pass_questions(c, s, e))  # type: ignore[misc]
                self._start(lambda c=client, s=server, e=swallowed: self._pass_answers(c, s, e))  # type: ignore[misc]

    def _pass_questions(self, client: socket.socket, server: socket.socket, swallowed: threading.Event) -> None:
        with suppress(OSError):
            while question := client.recv(65536):
                if self.cut is not None and b"COMMIT\0" in question:
                    cut, self.cut = self.cut, None
                    self.cuts += 1
                    if cut == "before":
                        break
                    swallowed.set()
                server.sendall(question)
        _drop(client, server)

    def _pass_answers(self, client: socket.socket, server: socket.socket, swallowed: threading.Event) -> None:
        with suppress(OSError):
            while (answer := server.recv(65536)) and not swallowed.is_set():
                client.sendall(answer)
        _drop(client, server)


def _drop(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
