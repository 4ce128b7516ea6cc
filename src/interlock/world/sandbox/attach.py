"""The program that starts pasta for the network namespace of a sandbox, run by its path with `-I -S`.

It is started before the sandbox, because it takes as long to start, and reads the namespace from its stdin, a socket.
It closes some destinations there first, because pasta reaches each address of this machine but the one that it copies.
The namespace belongs to a user namespace in which none of the sandbox's processes is, so a child enters both, and pasta
joins by its number. Its arguments are pasta's command line; the networks to close come with the namespace.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import sys
from _socket import AF_INET, AF_INET6, CMSG_LEN, MSG_TRUNC, SOCK_RAW, inet_pton, socket
from struct import pack, unpack_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
else:
    import _signal as signal  # the other takes longer than all that is done here

__all__ = ["main"]

_DIE_WITH_PARENT, _OWNER_OF = 1, 0xB701
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_NETLINK, _ROUTE = 16, 0
_NEW_RULE, _REQUEST, _ACKNOWLEDGED, _CREATE = 32, 1, 4, 0x400
_DESTINATION, _PRIORITY, _UNREACHABLE = 1, 6, 7
_AFTER_LOCAL = 100
_MOST = 1 << 18


def main(command: Sequence[str]) -> None:
    """Become pasta, unless there is no sandbox or something cannot be closed."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    driver = socket(fileno=0)
    networks, control, flags, _ = driver.recvmsg(_MOST, CMSG_LEN(4))
    if not control or flags & MSG_TRUNC:
        sys.exit(1)
    namespace = int.from_bytes(control[0][2], sys.byteorder)
    ready, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(1)  # or the driver would wait for a pasta that has failed
        _prepare(namespace, networks.decode().split(","))
        os.write(said, b".")
        os.close(said)
        driver.recv(1)  # until pasta is in the namespace, or the driver is gone
        os._exit(0)
    os.close(said)
    if not os.read(ready, 1):
        sys.exit(1)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # pasta fails if it is ignored
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
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
