"""The connection of a sandbox's network with what it may reach, made from outside.

    inside    makes the sockets that agents connect to, and sends them with its namespace (`inside.join_network`)
    outside   connects the namespace by pasta where everything is open and pasta works, and waits at the sockets itself

A socket stays in the namespace in which it was made, even if another process accepts its connections. So nothing of
ours runs inside.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from interlock.world.run_socket import bind
from interlock.world.sandbox.forwarder import Forwarder
from interlock.world.sandbox.inside import packed
from interlock.world.sandbox.network import Opening
from interlock.world.sandbox.pasta import NAMESERVERS, Pasta, attaching, nameservers
from interlock.world.sandbox.policy import SandboxPolicy
from interlock.world.sandbox.upstream import has_upstream

__all__ = ["SOCKET", "connected", "listening", "variables"]

SOCKET = "s"
_PREFIX = "ralph-network-"
_MOST_SOCKETS = 250
_SECONDS = 30.0


def listening(opening: Opening) -> list[tuple[str, int]]:
    """Return where a sandbox listens for us: at each address of this machine that it reaches, and as a proxy."""
    return [*opening.local, ("127.0.0.1", 0)]


@contextmanager
def connected(opening: Opening, policy: SandboxPolicy, pasta: Pasta | None) -> Iterator[Path]:
    """Connect the first sandbox that asks at the socket in a new directory, until the block ends; gives the directory.

    With `resolv.conf` in it, that file is for the sandbox. The directory is removed as soon as the sandbox has asked.
    """
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bind(listener, directory / SOCKET)
        listener.listen(1)
        pasta = pasta if opening.is_open else None
        servers = nameservers() if pasta else None
        if servers is not None:
            (directory / NAMESERVERS.name).write_text(servers, encoding="utf-8")
        over = threading.Event()
        thread = threading.Thread(
            target=_connect, args=(listener, directory, opening, policy, pasta, over), daemon=True
        )
        thread.start()
        try:
            yield directory
        finally:
            over.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join()
    finally:
        listener.close()
        shutil.rmtree(directory, ignore_errors=True)


def _connect(
    listener: socket.socket,
    directory: Path,
    opening: Opening,
    policy: SandboxPolicy,
    pasta: Pasta | None,
    over: threading.Event,
) -> None:
    """Serve one sandbox. pasta ends with the thread that started it, so it waits here."""
    with ExitStack() as stack, suppress(OSError):
        attach = stack.enter_context(attaching(pasta)) if pasta else None
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(_SECONDS)
            _, descriptors, _, _ = socket.recv_fds(connection, 1, _MOST_SOCKETS, socket.MSG_CMSG_CLOEXEC)
            shutil.rmtree(directory, ignore_errors=True)
            namespace, *sockets = descriptors
            stack.callback(os.close, namespace)
            listeners = [socket.socket(fileno=one) for one in sockets]
            has_pasta = attach is not None and attach(namespace)
            needs_proxy = not has_pasta or has_upstream(policy.environment)
            proxy = variables(listeners[-1]) if needs_proxy else {}
            if not needs_proxy:
                listeners.pop().close()
            forwarder = Forwarder(listeners, opening, policy.environment, policy.network_setting)
            stack.callback(forwarder.end)
            connection.sendall(packed(proxy).encode())
        over.wait()


def variables(listener: socket.socket) -> Mapping[str, str]:
    """Return the variables that lead programs to a proxy."""
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    own = "localhost,127.0.0.1,::1"
    names = ("http_proxy", "https_proxy", "all_proxy")
    found = {**dict.fromkeys(names, url), "no_proxy": own}
    return {**found, **{name.upper(): value for name, value in found.items()}, "NODE_USE_ENV_PROXY": "1"}
