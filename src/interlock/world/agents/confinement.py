"""One run of an agent in a sandbox: the paths that it sees, and how it is started there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from interlock.world.sandbox.homes import agent_home
from interlock.world.sandbox.policy import Confined, Sandbox, SandboxPolicy

__all__ = ["PRIVATE", "Confinement"]

PRIVATE = Path("/run/ralph/sockets")
"""The run's own directory, as the agent sees it: its socket, and the files that it is started with."""
_OURS = frozenset("RALPH_COMMAND RALPH_REPORTING RALPH_ROOT RALPH_RUN RALPH_SESSION_ID RALPH_SOCKET".split())


class Confinement(msgspec.Struct, frozen=True):
    """The sandbox of a run, and its policy."""

    sandbox: Sandbox
    policy: SandboxPolicy
    """With a directory of sockets, which is the run's own."""
    on_start: Callable[[int], None] = lambda root: None
    """Called with the first process of a run that nobody speaks with, once it is started."""

    @property
    def private(self) -> Path:
        """The run's own directory, outside."""
        assert self.policy.sockets is not None
        return self.policy.sockets

    def outside(self, path: Path) -> Path:
        """The path outside of a file in the run's own directory."""
        return self.private / path.relative_to(PRIVATE)

    @contextmanager
    def started(
        self, agent: str, command: tuple[str, ...], environment: Mapping[str, str], own: Mapping[str, str]
    ) -> Iterator[Confined]:
        """Give what is to be started for a command; `own` are the variables that the agent itself needs."""
        policy = replace(
            self.policy,
            environment={**environment, **own},
            names=self.policy.names | _OURS | frozenset(own),
            agent=agent_home(agent),
        )
        with self.sandbox.confine(command, policy) as confined:
            yield confined
