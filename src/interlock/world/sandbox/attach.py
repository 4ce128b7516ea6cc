"""The program that starts pasta for the network namespace of a sandbox, run by its path with `-I -S`.

It closes some destinations there first, because pasta reaches each address of this machine but the one that it copies.
The namespace belongs to a user namespace in which none of the sandbox's processes is, so a child enters both, and pasta
joins by its number. Arguments: descriptors of the namespace and of a pipe, networks with commas, pasta's command line.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import sys
from _socket import AF_INET, AF_INET6, SOCK_RAW, inet_pton, socket
from struct import pack, unpack_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_DIE_WITH_PARENT, _OWNER_OF = 1, 0xB701
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_NETLINK, _ROUTE = 16, 0
_NEW_RULE, _REQUEST, _ACKNOWLEDGED, _CREATE = 32, 1, 4, 0x400
_DESTINATION, _PRIORITY, _UNREACHABLE = 1, 6, 7
_AFTER_LOCAL = 100


def main(words: Sequence[str]) -> None:
    """Become pasta, unless something cannot be closed."""
    namespace, hold, networks, command = int(words[0]), int(words[1]), words[2].split(","), words[3:]
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    ready, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(1)  # or the driver would wait for a pasta that has failed
        _prepare(namespace, networks)
        os.write(said, b".")
        os.close(said)
        os.read(hold, 1)  # until pasta is in the namespace, or the driver is gone
        os._exit(0)
    os.close(said)
    if not os.read(ready, 1):
        sys.exit(1)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # pasta fails if it is ignored
    os.closerange(3, 256)
    os.execv(command[0], [*command, str(child)])


def _prepare(namespace: int, networks: Sequence[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    owner = fcntl.ioctl(namespace, _OWNER_OF)
    if libc.setns(owner, _NEW_USER) or libc.setns(namespace, _NEW_NET):
        raise OSError(ctypes.get_errno(), "the namespace cannot be entered")
    connection = socket(_NETLINK, SOCK_RAW, _ROUTE)
    for network in networks:
        _close(connection, network)


def _close(connection: socket, network: str) -> None:
    """Add a rule that makes a network unreachable, whatever routes there will be."""
    address, _, length = network.partition("/")
    family = AF_INET6 if ":" in address else AF_INET
    packed = inet_pton(family, address)
    body = pack("=BBBBBBBBI", family, int(length), 0, 0, 0, 0, 0, _UNREACHABLE, 0)
    body += pack("=HH", 4 + len(packed), _DESTINATION) + packed
    body += pack("=HHI", 8, _PRIORITY, _AFTER_LOCAL)
    connection.send(pack("=IHHII", 16 + len(body), _NEW_RULE, _REQUEST | _ACKNOWLEDGED | _CREATE, 1, 0) + body)
    (error,) = unpack_from("=i", connection.recv(4096), 16)
    if error:
        raise OSError(-error, f"{network} cannot be closed")


if __name__ == "__main__":
    main(sys.argv[1:])
