"""A wire between a browser and a server: it counts the streams that it carries, and can be cut, or fall silent."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

from faces.programs import SECONDS

__all__ = ["Wire", "wired"]

_LIVE = re.compile(rb"GET (/live\?\S*) HTTP")


class Wire:
    """Carries connections to a port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[tuple[socket.socket, socket.socket]] = []
        self._streams: dict[socket.socket, list[str]] = {}
        self._changed = threading.Condition()
        self._cut = False
        self._flows = threading.Event()
        self._flows.set()
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    # What is done to it

    def cut(self) -> None:
        """End all connections, and take no more."""
        with self._changed:
            self._cut = True
            for pair in self._open:
                _end(*pair)

    def mend(self) -> None:
        """Carry again, also what was held back."""
        with self._changed:
            self._cut = False
        self._flows.set()

    def leads_to(self, port: int) -> None:
        """Carry new connections to another port: what a server had is anybody's once it is dead."""
        self._port = port

    def silence(self) -> None:
        """Let connections be, and carry nothing more: nobody is told that they are dead."""
        self._flows.clear()

    def end(self) -> None:
        self.mend()
        self.cut()
        _end(self._listening)

    # What it carries

    def shows(self, wanted: Callable[[list[list[str]]], bool]) -> None:
        """Wait until the streams that are open are as wanted: a list of pages for each."""
        deadline = time.monotonic() + SECONDS
        with self._changed:
            while not wanted(list(self._streams.values())):
                assert self._changed.wait(deadline - time.monotonic()), self._streams.values()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._port), SECONDS)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._changed:
                self._open.append((near, far))
                if self._cut:
                    _end(near, far)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other, near), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, near: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(1 << 16):
                if source is near and (found := _LIVE.match(chunk)):
                    self._tell(near, parse_qs(urlsplit(found[1].decode()).query)["show"])
                self._flows.wait()
                target.sendall(chunk)
        _end(source, target)
        self._tell(near, None)

    def _tell(self, near: socket.socket, shown: list[str] | None) -> None:
        with self._changed:
            if shown is None:
                self._streams.pop(near, None)
            else:
                self._streams[near] = shown
            self._changed.notify_all()


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def wired(url: str) -> Iterator[Wire]:
    """A wire to a server, gone afterwards."""
    wire = Wire(int(url.rpartition(":")[2]))
    try:
        yield wire
    finally:
        wire.end()
