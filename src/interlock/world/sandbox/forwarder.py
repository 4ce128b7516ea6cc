"""The forwarder of a sandbox: it runs outside and connects what asks inside with the hosts that are allowed.

It speaks HTTP as a proxy does: CONNECT, and requests with a whole address. It resolves names itself and connects to the
addresses that it has checked, so a name that is allowed cannot lead to this machine. What listens on the loopback of
this machine and is allowed by its address is passed on as it is.
"""

from __future__ import annotations

import re
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from interlock.world.sandbox.network import Opening, is_closed
from interlock.world.sandbox.upstream import Upstream, upstream_for

__all__ = ["Forwarder", "Resolve", "resolved"]

Address = tuple[Any, ...]
Resolve = Callable[[str, int], Sequence[Address]]
"""Gives the addresses of a name, as `connect` takes them."""
_MOST_CONNECTIONS: Final = 128
_MOST_HEAD: Final = 1 << 15
_HEAD_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 10.0
_IDLE_SECONDS: Final = 1800.0
"""A model can think for long without a word."""
_CHUNK: Final = 1 << 16
_AUTHORITY: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})]|([A-Za-z0-9_.-]{1,253}))(?::(\d{1,5}))?")
_REQUEST: Final = re.compile(rb"([A-Za-z]{1,20}) ([!-~]{1,16000}) HTTP/1\.[01]")
_BETWEEN: Final = frozenset({b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"host"})
_REASONS: Final = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 503: "Service Unavailable"}


class _Refused(Exception):
    """A request that is answered by us."""

    def __init__(self, status: int, said: str) -> None:
        self.status = status
        self.said = said


class _Request(NamedTuple):
    """A head, and what came after it."""

    method: bytes
    target: str
    headers: list[bytes]
    rest: bytes


def resolved(name: str, port: int) -> list[Address]:
    """Return the addresses of a name by the resolver of this machine."""
    return [one[4] for one in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)]


class Forwarder:
    """A forwarder for sockets that listen inside; it owns them. A thread waits at them, and each connection has two."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        opening: Opening,
        environment: Mapping[str, str],
        setting: str,
        resolve: Resolve = resolved,
        *,
        head_seconds: float = _HEAD_SECONDS,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._opening = opening
        self._environment = environment
        self._setting = setting
        self._resolve = resolve
        self._head_seconds = head_seconds
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._open: set[socket.socket] = set()
        self._places = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._listeners = list(listeners)
        self._wake, self._waking = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, name="forwarder", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Take no more connections, and end those that are open."""
        self._over.set()
        self._waking.close()
        self._thread.join()
        with self._lock:
            for one in self._open:
                _shut(one)

    def _accept(self) -> None:
        with selectors.DefaultSelector() as waiting, self._wake:
            for one in self._listeners:
                one.setblocking(False)
                waiting.register(one, selectors.EVENT_READ)
            waiting.register(self._wake, selectors.EVENT_READ)
            while not self._over.is_set():
                for key, _ in waiting.select():
                    if key.fileobj is not self._wake:
                        self._take(key.fileobj)  # type: ignore[arg-type] # a listener
        for one in self._listeners:
            one.close()

    def _take(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            self._over.wait(0.1)  # too many files are open, or it has left already
            return
        connection.settimeout(self._head_seconds)
        address = listener.getsockname()[:2]
        local = address if address in self._opening.local else None
        if not self._places.acquire(blocking=False):
            with connection, suppress(OSError):
                connection.sendall(_answer(503, f"more than {_MOST_CONNECTIONS} connections at once"))
            return
        try:
            threading.Thread(target=self._serve, args=(connection, local), daemon=True).start()
        except RuntimeError:
            connection.close()
            self._places.release()

    def _serve(self, client: socket.socket, local: tuple[str, int] | None) -> None:
        try:
            with client, suppress(OSError, RuntimeError):  # no further thread can be started
                self._hold(client)
                try:
                    if local is None:
                        self._answer(client)
                    else:
                        self._join(client, self._connected([local]))
                except _Refused as refused:
                    client.sendall(_answer(refused.status, refused.said))
        finally:
            with self._lock:
                self._open.discard(client)
            self._places.release()

    def _hold(self, one: socket.socket) -> None:
        """Note a socket, which is shut at the end."""
        with self._lock:
            if self._over.is_set():
                raise OSError("the run has ended")
            self._open.add(one)

    def _answer(self, client: socket.socket) -> None:
        request = _read(client, self._head_seconds)
        if request.method == b"CONNECT":
            host, port = _authority(request.target, None)
            server, first = self._tunnel(host, port)
            answer = b"HTTP/1.1 200 Connection established\r\n\r\n" + first
            self._join(client, server, request.rest, answer)
            return
        scheme, _, after = request.target.partition("://")
        authority, slash, path = after.partition("/")
        if scheme.lower() != "http" or not after:
            raise _Refused(400, "only CONNECT, and requests with an address that begins with http://")
        host, port = _authority(authority, 80)
        upstream = self._upstream("http", host, port)
        server = self._reach(upstream, host, port)
        origin = request.target if upstream else f"{slash or '/'}{path}"
        lines = [request.method + b" " + origin.encode() + b" HTTP/1.1", b"Host: " + authority.encode()]
        lines += [b"Connection: close", *(upstream.headers if upstream else ()), *request.headers, b"", b""]
        self._join(client, server, b"\r\n".join(lines) + request.rest)

    def _tunnel(self, host: str, port: int) -> tuple[socket.socket, bytes]:
        """Connect to a host, through the person's proxy if there is one; gives also what came after its answer."""
        upstream = self._upstream("https", host, port)
        server = self._reach(upstream, host, port)
        if upstream is None:
            return server, b""
        try:
            server.sendall(upstream.connect(host, port))
            answer, _, first = _head(server, self._head_seconds).partition(b"\r\n\r\n")
            status = answer.split(b" ", 2)[1:2]
            if not status or not status[0].startswith(b"2"):
                raise _Refused(502, f"your proxy {upstream.host}:{upstream.port} does not connect to {host}:{port}")
        except BaseException:
            self._drop(server)
            raise
        return server, first

    def _upstream(self, scheme: str, host: str, port: int) -> Upstream | None:
        """The person's proxy for a host that is allowed; refuses those that are not."""
        if not self._opening.allows(host, port):
            hint = f'`{self._setting}` in ralph.toml does not allow it. A person can add "{host}:{port}" there'
            raise _Refused(403, f"{host}:{port} is not reached from this sandbox: {hint}")
        is_local = self._opening.names(host, port) and _is_of_this_machine(host)
        return None if is_local else upstream_for(scheme, host, self._environment)

    def _reach(self, upstream: Upstream | None, host: str, port: int) -> socket.socket:
        if upstream is not None:
            if _is_of_this_machine(host):
                raise self._of_this_machine(host, port)
            return self._connected(self._addresses(upstream.host, upstream.port))
        found = self._addresses(host, port)
        allowed = [one for one in found if self._opening.names(host, port) or not is_closed(one[0])]
        if not allowed:
            raise self._of_this_machine(host, port)
        return self._connected(allowed)

    def _of_this_machine(self, host: str, port: int) -> _Refused:
        said = f"{host}:{port} is an address of this machine, which only `{self._setting}` in ralph.toml can open by it"
        return _Refused(403, said)

    def _addresses(self, host: str, port: int) -> Sequence[Address]:
        try:
            return self._resolve(host, port)
        except (OSError, UnicodeError):
            raise _Refused(502, f"{host} has no address") from None

    def _connected(self, addresses: Sequence[Address]) -> socket.socket:
        for address in addresses:
            server = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET, socket.SOCK_STREAM)
            try:
                self._hold(server)
                server.settimeout(_CONNECT_SECONDS)
                server.connect(address)
            except OSError:
                self._drop(server)
                continue
            return server
        raise _Refused(502, "no connection to the server")

    def _drop(self, one: socket.socket) -> None:
        with self._lock:
            self._open.discard(one)
        one.close()

    def _join(self, client: socket.socket, server: socket.socket, asked: bytes = b"", answer: bytes = b"") -> None:
        """Pass on both ways until both have ended, or nothing has come for long; closes the server's socket."""
        try:
            for one in (client, server):
                one.settimeout(self._idle_seconds)
            client.sendall(answer)
            server.sendall(asked)
            seen = [time.monotonic()]
            back = threading.Thread(target=_pass_on, args=(server, client, seen, self._idle_seconds), daemon=True)
            back.start()
            _pass_on(client, server, seen, self._idle_seconds)
            back.join()
        finally:
            self._drop(server)


def _pass_on(source: socket.socket, target: socket.socket, seen: list[float], idle: float) -> None:
    """Pass on what comes; `seen` is when the last came, in either direction."""
    try:
        while True:
            try:
                part = source.recv(_CHUNK)
            except TimeoutError:
                if time.monotonic() - seen[0] < idle:
                    continue
                raise
            if not part:
                target.shutdown(socket.SHUT_WR)
                return
            target.sendall(part)
            seen[0] = time.monotonic()
    except OSError:
        _shut(source)
        _shut(target)


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


def _read(client: socket.socket, seconds: float) -> _Request:
    """Read the head of a request; refuses what is none."""
    head, _, rest = _head(client, seconds).partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    found = _REQUEST.fullmatch(first)
    if found is None or any(line[:1] in (b" ", b"\t") or b":" not in line or b"\n" in line for line in lines):
        raise _Refused(400, "this is not a request to a proxy")
    kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in _BETWEEN]
    return _Request(found[1].upper(), found[2].decode("ascii"), kept, rest)


def _head(source: socket.socket, seconds: float) -> bytes:
    """Read until the empty line after a head, and perhaps more."""
    content = b""
    until = time.monotonic() + seconds
    while b"\r\n\r\n" not in content:
        source.settimeout(max(0.001, until - time.monotonic()))
        part = source.recv(_CHUNK)
        if not part:
            raise OSError("it ended before its head did")
        content += part
        if len(content) > _MOST_HEAD:
            raise _Refused(400, "the head is too long")
    return content


def _authority(text: str, usual: int | None) -> tuple[str, int]:
    """The host, in lower case and without brackets, and the port of an address."""
    found = _AUTHORITY.fullmatch(text)
    port = int(found[3]) if found and found[3] else usual
    if found is None or port is None or not 0 < port < 1 << 16:
        raise _Refused(400, "this is not a host with a port")
    return (found[1] or found[2]).lower().rstrip("."), port


def _is_of_this_machine(host: str) -> bool:
    """True for an address of this machine, in any of the forms that the system reads, and for its own names."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    with suppress(OSError):
        flags = socket.AI_NUMERICHOST
        return any(is_closed(str(one[4][0])) for one in socket.getaddrinfo(host, None, flags=flags))
    return False


def _answer(status: int, said: str) -> bytes:
    body = f"ralph: {said}.\n".encode()
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
