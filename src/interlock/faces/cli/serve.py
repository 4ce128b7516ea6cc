"""`ralph serve`: the dashboard, the MCP server over HTTP, and a live stream of what happens."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import socket
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import TYPE_CHECKING

from interlock.errors import InterlockError, UsageError
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.web import LOOPBACK, TOKEN

if TYPE_CHECKING:
    from interlock.faces.cli.place import Workspace
    from interlock.faces.web.acting import Hands

__all__ = ["VERBS"]

_PORT = 7411
_SHORTEST = 16
_RANDOM_BYTES = 24
_BACKLOG = 2048
_KEEP_ALIVE_SECONDS = 75
"""Longer than agents usually pause, so that a call seldom meets a connection that is just being closed."""


def _serve(call: CommandCall) -> None:
    given = call.environment.get(TOKEN) or None
    token = given or secrets.token_urlsafe(_RANDOM_BYTES)
    host: str = call.arguments.host
    if host not in LOOPBACK and given is None:
        message = f"{host} can be reached from other machines, and {TOKEN} is not set."
        raise UsageError("address_refused", message, f"Leave --host out, or set {TOKEN} to a long secret.")
    if len(token) < _SHORTEST:
        message = f"{TOKEN} has {len(token)} characters, and {_SHORTEST} are needed at least."
        raise UsageError("address_refused", message, "Set it to a long secret.")
    from interlock.faces.cli.notify import telling
    from interlock.faces.cli.place import writable

    listener = _listen(host, call.arguments.port)
    with listener, writable(call) as place, telling(call, place):
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # which closes what is open, as Ctrl+C does
        hands = _hands(call, place)

        def say(url: str) -> None:
            _say(call, url, None if given else token)
            hands.acting.greet(url)

        _run(place, listener, host, token, hands, say)


def _hands(call: CommandCall, place: Workspace) -> Hands:
    """What acts for the person, where one is at the terminal; it is asked anew for each gate."""
    from interlock.faces.web.acting import Hands, offered
    from interlock.work.driver.spawn import Drivers
    from interlock.work.gates.presence import at_terminal, tell_terminal

    environment, directory = dict(call.environment), call.directory
    acting = offered(lambda: at_terminal(environment, directory), tell_terminal, time.monotonic, os.urandom)
    root = place.work_tree or directory
    drivers = Drivers(place.journal, root, place.state_directory, environment, frozenset({TOKEN}))
    return Hands(acting, place.journal, place.state_directory, place.work_tree, place.settings, environment, drivers)


def _run(
    place: Workspace, listener: socket.socket, host: str, token: str, hands: Hands, say: Callable[[str], None]
) -> None:
    import anyio
    import uvicorn

    from interlock.faces.mcp.server import make_server
    from interlock.faces.mcp.server_context import ServerContext
    from interlock.faces.web.app import make_app
    from interlock.faces.web.patience import Patient

    class Ours(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            say(f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}")

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            ending.set()  # who reads a stream would be waited for
            await super().shutdown(sockets)

    ending = anyio.Event()
    context = ServerContext(
        place.journal, place.state_directory, place.work_tree, None, place.settings, None, place.machines
    )
    app = make_app(make_server(context, place.machines), context, host, token, ending, hands)
    config = uvicorn.Config(
        app,
        http=Patient,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=2,
    )
    Ours(config).run(sockets=[listener])


def _say(call: CommandCall, url: str, token: str | None) -> None:
    """Say where it is served, and the token where the person does not know it yet."""
    data = {"url": url, "mcp": f"{url}/mcp", **({} if token is None else {"token": token})}
    if token is None:
        said = f"Serving {url}, MCP at {url}/mcp"
    else:
        said = f"Serving {url}/?token={token}\nMCP at {url}/mcp, with the header Authorization: Bearer {token}"
    call.output.result(data, lambda: call.output.text(said))
    call.output.stdout.flush()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once only through sockets that say that they are TCP; others wait for the other side's word.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)  # now, so that whoever reads the address can connect at once
    except (OSError, TypeError, UnicodeError) as error:  # the last two: a name that cannot be encoded as one
        listener.close()
        why = error.strerror if isinstance(error, OSError) else "no host can be called so"
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            message = f"Another program listens on {host}, port {port}."
            raise InterlockError("address_in_use", message, "Choose another with --port; 0 takes a free one.") from None
        message = f"{host}, port {port} cannot be listened on: {why}."
        raise UsageError("invalid_argument", message, "Name an address of this machine.") from None
    return listener


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 65536):
        raise ArgumentTypeError(f"{text[:20]!r} is no port")
    return int(text)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--host", metavar="ADDRESS", default="127.0.0.1", help=f"where to listen; other than loopback needs {TOKEN}"
    )
    parser.add_argument("--port", type=_port, default=_PORT, help="the port; 0 takes a free one")


VERBS = (Verb("", "the dashboard, and the MCP server over HTTP", _serve, _arguments),)
