"""No sandbox: the command runs as the person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from interlock.world.child_environment import child_environment
from interlock.world.sandbox.describing import of_unconfined
from interlock.world.sandbox.policy import Confined, Network, SandboxPolicy

__all__ = ["Unavailable", "Unconfined"]


class Unavailable(msgspec.Struct, frozen=True):
    """A sandbox that does not work on this machine."""

    why: str
    """The reason, as a sentence."""
    how: str
    """The way to get it, as a sentence."""


class Unconfined(msgspec.Struct, frozen=True):
    """The command as it is, with the environment of all our children."""

    instead: Unavailable | None = None
    """The reason for having no sandbox, where one was wanted."""
    name: str = "none"
    version: str = ""

    @contextmanager
    def confine(self, command: Sequence[str], policy: SandboxPolicy) -> Iterator[Confined]:
        environment = child_environment(policy.environment)
        yield Confined(tuple(command), environment, policy.directory or policy.tree, policy.sockets)

    def protections(self, network: Network) -> Iterator[tuple[str, str]]:
        if self.instead:
            yield "status", f"{self.instead.why} {self.instead.how}"
        yield from of_unconfined()
