"""Hands requests on to our server with its token, for programs that cannot be told a header."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from faces.programs import SERVE_TOKEN

__all__ = ["carrying"]

_HEADER = f"Authorization: Bearer {SERVE_TOKEN}\r\n".encode()


@contextmanager
def carrying(port: int) -> Iterator[int]:
    """The port where requests for a server on another port of this machine are taken."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_accept, args=(listening, port), daemon=True).start()
        yield int(listening.getsockname()[1])


def _accept(listening: socket.socket, port: int) -> None:
    with suppress(OSError):
        while True:
            near, _ = listening.accept()
            far = socket.create_connection(("127.0.0.1", port))
            threading.Thread(target=_ask, args=(near, far), daemon=True).start()
            threading.Thread(target=_answer, args=(far, near), daemon=True).start()


def _ask(near: socket.socket, far: socket.socket) -> None:
    """Requests, one after the other: the head with the token, then as much as it says."""
    with suppress(OSError), near.makefile("rb") as requests:
        while line := requests.readline():
            head, left = line + _HEADER, 0
            while (line := requests.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                left = int(value) if name.lower() == b"content-length" else left
                head += line
            far.sendall(head + line + requests.read(left))
    with suppress(OSError):
        far.shutdown(socket.SHUT_WR)


def _answer(far: socket.socket, near: socket.socket) -> None:
    with suppress(OSError):
        while chunk := far.recv(1 << 16):
            near.sendall(chunk)
    for one in (far, near):
        one.close()
