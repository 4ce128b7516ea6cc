"""Networks of sandboxes: servers of this machine that must not be reached, and drivers that run as another user."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess

import msgspec
from msgspec.structs import replace

import interlock
from interlock.world.sandbox.bubblewrap import Bubblewrap
from interlock.world.sandbox.homes import agent_home
from interlock.world.sandbox.policy import Network
from world.sandbox.places import SECRET, Place, as_user, run, started

__all__ = ["FETCH", "Request", "driven", "driver", "driver_environment", "own_address", "serving", "serving_abstract"]

FETCH = """python3 -c '
import socket, sys, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=60).read().decode())
    except OSError as error:
        print("no", url, getattr(error, "code", ""), error)
        if hasattr(error, "read"):
            print(error.read().decode())
' """
"""A script that fetches addresses as programs do, with the proxies that the environment names."""
_IMPORTS = (Path(interlock.__file__).parents[1], Path(__file__).parents[2])


class Request(msgspec.Struct):
    """What a driver is asked to run; for one that runs as another user."""

    directory: str
    user: int
    script: str
    network: str | tuple[str, ...]
    sandbox: Bubblewrap
    environment: Mapping[str, str]
    agent: str = ""


def driven(
    place: Place,
    script: str,
    network: Network,
    *,
    pasta: str | None = None,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    agent: str = "",
) -> CompletedProcess[str]:
    """Run a script in a sandbox whose driver is of the place's user, too; `before` comes before its command."""
    sandbox = place.sandbox if pasta is None else replace(place.sandbox, pasta=pasta)
    request = Request(str(place.directory), place.user, script, network, sandbox, environment or {}, agent)
    if place.user == os.geteuid() and not before:
        return _run(request)
    return started((*before, *driver(place, request)), driver_environment(place), Path("/"))


def driver(place: Place, request: Request) -> tuple[str, ...]:
    """The command of a driver that runs what is asked for, and prints what came of it."""
    code = "from world.sandbox.networks import main; main()"
    return as_user(place.user, (sys.executable, "-c", code, msgspec.json.encode(request).decode()))


def driver_environment(place: Place) -> dict[str, str]:
    return {**place.environment, "PYTHONPATH": os.pathsep.join(map(str, _IMPORTS))}


def main() -> None:
    done = _run(msgspec.json.decode(sys.argv[1].encode(), type=Request))
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode)


def _run(request: Request) -> CompletedProcess[str]:
    place = Place(Path(request.directory), request.user)
    environment = {**place.environment, **request.environment}
    network: Network = request.network  # type: ignore[assignment] # a word of the setting
    policy = replace(place.policy, network=network, environment=environment, agent=agent_home(request.agent))
    with place.sockets() as sockets:
        return run(place, request.script, replace(policy, sockets=sockets), request.sandbox)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"{SECRET} {json.dumps([self.path, *self.headers.items()])}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


class _Server6(_Server):
    address_family = socket.AF_INET6


@contextmanager
def serving(address: str = "127.0.0.1") -> Iterator[int]:
    """A server of this machine that answers with the secret; gives its port."""
    with (_Server6 if ":" in address else _Server)((address, 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


@contextmanager
def serving_abstract(name: str) -> Iterator[None]:
    """An abstract socket of this machine that answers with the secret."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with client:
                        client.sendall(SECRET.encode())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def own_address() -> str | None:
    """An address of this machine that is not its loopback; None where it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.77", 9))
        except OSError:
            return None
        return str(one.getsockname()[0])
