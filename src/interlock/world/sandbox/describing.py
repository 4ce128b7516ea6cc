"""What a sandbox protects on this machine and what it does not, as sentences for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.world.sandbox.inside import SCOPES_SINCE, WRITES_SINCE, landlock_version
from interlock.world.sandbox.policy import Network, Sandbox

__all__ = [
    "describe",
    "limits_text",
    "network_text",
    "of_bubblewrap",
    "of_container",
    "of_seatbelt",
    "of_unconfined",
]

_NETWORK: Final = "not protected: the agent reaches all that this machine reaches, also servers that listen only to it"


def describe(sandbox: Sandbox, network: Network = "open") -> list[str]:
    """Return the lines about a sandbox: what it is, and each of its protections."""
    title = f"sandbox: {sandbox.name} {sandbox.version}".rstrip()
    return [title, *(f"{name}: {said}" for name, said in sandbox.protections(network))]


def of_bubblewrap(*, is_root: bool, network: Network) -> Iterator[tuple[str, str]]:
    """Give what bubblewrap protects, and what it does not."""
    yield "files", "read-only, except the agent's tree and directories in memory for /tmp and its configuration"
    yield "secrets", "known places of keys, logins and sockets are hidden; other files of yours can be read"
    if is_root:
        yield "user", "root, without its rights; what other users may not read is hidden in known places only"
    else:
        yield "user", "yours"
    if landlock_version() < WRITES_SINCE:
        yield "named pipes", "not protected: that takes Linux 5.19 or newer with Landlock"
    yield "processes", "its own: all end with the run"
    yield "limits", limits_text(is_root=is_root)
    yield "network", network_text(network)
    if network != "host":
        return
    if landlock_version() >= SCOPES_SINCE:
        yield "abstract sockets", "hidden by Landlock"
    else:
        yield "abstract sockets", "not protected: that takes Linux 6.12 or newer with Landlock"


def network_text(network: Network) -> str:
    """Return what a network reaches."""
    if network == "host":
        return _NETWORK
    if network == "none":
        return "none but its own"
    if network == "open":
        return "everything but this machine"
    hosts = ", ".join("everything but this machine" if one == "open" else one for one in network)
    return f"its own, which reaches {hosts or 'nothing'}"


def limits_text(*, is_root: bool) -> str:
    """Return what limits the processes, memory and disk of a run on Linux."""
    kernel = "files and what is in memory have sizes"
    if not is_root:
        kernel = f"{kernel}, and the kernel starts no more than twice the processes"
    return f"the driver looks a few times a second and ends a run with too much; {kernel}"


def of_seatbelt(*, network: Network) -> Iterator[tuple[str, str]]:
    """Give what `sandbox-exec` protects, and what it does not."""
    yield "status", "written from Apple's documentation and never tested"
    yield "files", "read-only, except the agent's tree and its private directories; the tree stays at its own path"
    yield "secrets", "known places of keys and logins are hidden; other files of yours can be read"
    yield "processes", "not its own: what leaves the run's group can outlive it"
    yield "memory and processes", "not limited; what is written is"
    yield "network", network_text(network)


def of_container(*, is_root: bool, network: Network) -> Iterator[tuple[str, str]]:
    """Give what a container of podman protects, and what it does not."""
    yield from (one for one in of_bubblewrap(is_root=is_root, network=network) if one[0] not in ("processes", "limits"))
    yield "processes", "its own: all end with the run, but live on if `ralph` itself is killed: `podman` removes them"
    yield "limits", "sizes of files and of what is in memory; for others than root, processes; nothing is watched"
    yield "namespaces", "an agent can make more of its own, which uncover nothing"


def of_unconfined() -> Iterator[tuple[str, str]]:
    """Give what holds without a sandbox: nothing."""
    yield "files", "not protected: the agent may do whatever you may"
    yield "network", _NETWORK
