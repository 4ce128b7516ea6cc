"""The description of one confined run, and what is started for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from interlock.world.sandbox.homes import OTHER, AgentHome

__all__ = ["Confined", "Limits", "Network", "Sandbox", "SandboxPolicy"]

Network = Literal["open", "none", "host"] | tuple[str, ...]
"""The reach of a sandbox: all but this machine, nothing, all and this machine, or a list of hosts (`network`)."""


class Limits(msgspec.Struct, frozen=True):
    """The most that one run may use; None is no limit. `agents/resources` ends a run for what the kernel allows."""

    temporary: int = 2 << 30
    """Bytes in /tmp, and as many in the private directories; both are memory."""
    shared_memory: int = 512 << 20
    """Bytes in /dev/shm."""
    processes: int | None = 4096
    """Processes and threads. For ordinary users the kernel starts no more than twice as many."""
    memory: int | None = 16 << 30
    """Bytes of memory of all processes, with their files in memory."""
    disk: int | None = 20 << 30
    """Bytes that are written into the tree. The kernel lets no file become larger than that."""


class SandboxPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that differs from one confined run to another.

    All paths are absolute. What is not named is visible and read-only, or hidden by the tables of `hidden`.
    """

    tree: Path
    """The files of the agent."""
    shown_at: Path
    """The path at which the agent sees them: the repository's own, which they cover, or `tree` itself."""
    directory: Path | None = None
    """The path inside at which the command starts; by default `shown_at`."""
    home: Path
    """The person's home directory."""
    state: Path
    """The user's own state directory, which is hidden."""
    environment: Mapping[str, str]
    """All variables of the person; only known names and `names` come along."""
    names: frozenset[str] = frozenset()
    """More names of variables that come along; `PREFIX_*` stands for all that begin so."""
    agent: AgentHome = OTHER
    is_read_only: bool = False
    """True if the agent may not write into the tree, such as a judge."""
    objects: tuple[tuple[Path, Path], ...] = ()
    """Directories of git objects, each with the path inside that `objects/info/alternates` names."""
    readable: tuple[Path, ...] = ()
    """Paths that are shown read-only although they would be hidden. Paths below `shown_at` are left out."""
    hidden: tuple[Path, ...] = ()
    """More paths to hide, such as the git directory of the repository where `shown_at` does not cover it."""
    sockets: Path | None = None
    """The directory with the socket of the run; `Confined.sockets` is its path inside."""
    network: Network = "open"
    network_setting: str = "agent.network"
    """The name of the setting, for what refuses to connect."""
    limits: Limits = msgspec.field(default_factory=Limits)


class Confined(msgspec.Struct, frozen=True):
    """What is started: `Popen(argv, env=environment, cwd=directory)`, on no terminal of the person's."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    """The directory to start it in, outside of the sandbox: never one that an agent writes to."""
    sockets: Path | None = None
    """The path of the directory of sockets, as the agent sees it."""
    in_memory: tuple[tuple[Path, int], ...] = ()
    """The file systems in memory that can be written, by their paths inside, and their sizes in bytes."""


class Sandbox(Protocol):
    """One way to confine a command."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def confine(self, command: Sequence[str], policy: SandboxPolicy) -> AbstractContextManager[Confined]:
        """Give what is to be started. The context must last until the command and all its processes have ended."""

    def protections(self, network: Network) -> Iterable[tuple[str, str]]:
        """Give what the sandbox protects, and what it does not, each as a name and a sentence."""
