"""The network of a sandbox: what a person may say, and which addresses that opens.

    open    everything but this machine
    none    only a loopback of its own
    host    the network of the machine, with everything that listens on it
    a list  the hosts in it; with `open` in it everything, and what else it names of this machine

An address of this machine is reached only where the list has that very address. A name never leads to one, whatever it
resolves to.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from interlock.world.sandbox.policy import Network

__all__ = ["METADATA", "Host", "Opening", "complaint", "is_closed", "own_networks", "unreached"]

_FORM: Final = re.compile(
    r"(?:\[(?P<address>[0-9A-Fa-f:.]{2,45})]|(?P<name>(?:\*\.)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}))(?::(?P<port>\d{1,5}))?"
)
_USUAL: Final = (443, 80)
_LEAST: Final = 1024
"""The first port at which a program in the sandbox can listen in the place of one outside."""
_MOST_LOCAL: Final = 100
METADATA: Final = ("169.254.0.0/16", "fd00:ec2::254/128", "fd20:ce::254/128")
"""The metadata services of clouds, which give every program of a machine the rights of that machine."""
_METADATA: Final = tuple(map(ip_network, METADATA))
_PROXIES: Final = "_proxy"


class Host(msgspec.Struct, frozen=True):
    """One entry of a list."""

    name: str
    """In lower case, with `*.` before it for all names below it; an address has no brackets."""
    ports: tuple[int, ...] = _USUAL

    @classmethod
    def of(cls, text: str) -> Host:
        """Read an entry; raises `ValueError` with a sentence about what is wrong."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError(f"{text[:80]!r} is not a host, such as example.org, *.example.org or example.org:8443.")
        name = (found["address"] or found["name"]).lower().rstrip(".")
        address = _address(name)
        if found["address"] and address is None:
            raise ValueError(f"{text[:80]!r} is not an address.")
        host = cls(name if address is None else str(address), (int(found["port"]),) if found["port"] else _USUAL)
        if not all(0 < port < 1 << 16 for port in host.ports):
            raise ValueError(f"{text[:80]!r} has no port from 1 to 65535.")
        if address is not None and (address.is_unspecified or address.is_multicast):
            raise ValueError(f"{text[:80]!r} is not the address of one host.")
        if host.is_loopback and (found["port"] is None or host.ports[0] < _LEAST):
            raise ValueError(f"{text[:80]!r} needs a port from {_LEAST} on, such as localhost:8080.")
        return host

    @property
    def is_address(self) -> bool:
        """True if it does not depend on a resolver where it leads."""
        return self.name == "localhost" or _address(self.name) is not None

    @property
    def is_loopback(self) -> bool:
        """True for an address that only this machine has."""
        address = _address(self.name)
        return self.name == "localhost" or (address is not None and address.is_loopback)

    def covers(self, name: str, port: int) -> bool:
        """True if this entry allows a host, whose name is in lower case."""
        is_it = name.endswith(self.name[1:]) if self.name.startswith("*.") else name == self.name
        return is_it and port in self.ports


class Opening(msgspec.Struct, frozen=True):
    """The hosts that a sandbox with a network of its own may reach."""

    is_open: bool
    hosts: tuple[Host, ...] = ()

    @classmethod
    def of(cls, network: Network) -> Opening | None:
        """Return what is reached; None where it is nothing, or where the network is the machine's."""
        if network in ("none", "host"):
            return None
        words = (network,) if isinstance(network, str) else network
        return cls("open" in words, tuple(Host.of(one) for one in words if one != "open"))

    @property
    def local(self) -> tuple[tuple[str, int], ...]:
        """The addresses on the loopback of the machine that are reached at the same address inside."""
        found = []
        for host in self.hosts:
            if host.is_loopback:
                names = ("127.0.0.1", "::1") if host.name == "localhost" else (host.name,)
                found += [(name, host.ports[0]) for name in names]
        return tuple(dict.fromkeys(found))

    def allows(self, name: str, port: int) -> bool:
        """True if a host may be asked for by this name."""
        return self.is_open or self.names(name, port) or any(host.covers(name, port) for host in self.hosts)

    def names(self, address: str, port: int) -> bool:
        """True if the list has this very address, so that it may be one of this machine."""
        is_listed = any(host.is_address and host.covers(address, port) for host in self.hosts)
        return is_listed or (address, port) in self.local


def complaint(entries: Iterable[str]) -> str | None:
    """Return what is wrong with a list of hosts; None if nothing is."""
    try:
        opening = Opening.of(tuple(entries))
    except ValueError as error:
        return str(error)
    is_too_long = opening is not None and len(opening.local) > _MOST_LOCAL
    return f"No more than {_MOST_LOCAL} addresses of this machine can be reached." if is_too_long else None


def unreached(network: Network, variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Give the variables with an address on the loopback of this machine that a network does not reach.

    Each with the address as a list would have it. Proxies are left out: those are asked from outside.
    """
    if network == "host":
        return
    opening = Opening.of(network)
    for name, value in sorted(variables.items()):
        if name.lower().endswith(_PROXIES):
            continue
        with suppress(ValueError):
            split = urlsplit(value if "://" in value else f"//{value}")
            host, port = split.hostname or "", split.port or (443 if split.scheme == "https" else 80)
            if Host(host, ()).is_loopback:
                names = {"127.0.0.1", "::1"} if host == "localhost" else {host}
                if opening is None or not names & {one for one, at in opening.local if at == port}:
                    yield name, f"{f'[{host}]' if ':' in host else host}:{port}"


def is_closed(address: str) -> bool:
    """True for an address that belongs to this machine, leads to many, or gives the rights of a machine."""
    one = _address(address.partition("%")[0])
    if one is None:
        return True
    is_special = one.is_loopback or one.is_link_local or one.is_unspecified or one.is_multicast
    return is_special or any(one in network for network in _METADATA) or _is_own(one)


def _is_own(address: IPv4Address | IPv6Address) -> bool:
    """True if a socket can be bound to it, which is asked each time: a machine gets and loses addresses."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.bind((str(address), 0))
    except OSError:
        return False
    return True


def own_networks() -> list[str]:
    """Return all addresses of this machine, as networks. Raises `OSError` where the system does not say them."""
    found, address = [], ""
    for line in Path("/proc/net/fib_trie").read_text(encoding="ascii").splitlines():
        words = line.split()
        if words[0] == "|--":
            address = words[1]
        elif words[-1] == "LOCAL":
            found.append(f"{address}{words[0]}")
    path = Path("/proc/net/if_inet6")
    if path.exists():
        lines = path.read_text(encoding="ascii").splitlines()
        found += [f"{IPv6Address(bytes.fromhex(line[:32]))}/128" for line in lines]
    return sorted(set(found))


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """The address that a text is, without the form that holds one of IPv4 in one of IPv6."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
