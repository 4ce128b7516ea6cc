"""The repository of a driver, open for git from one step to the next, until something else is let run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import msgspec

from interlock.work.driver.context import DriverContext
from interlock.world.git import Looking, Repository, WorkTreeHash

__all__ = ["OpenRepository"]


class OpenRepository(msgspec.Struct):
    """Opened when it is first asked for; whoever lets something run shuts it before."""

    looking: Looking = msgspec.field(default_factory=Looking)
    _open: ExitStack = msgspec.field(default_factory=ExitStack)
    _repository: Repository | None = None
    last_look: WorkTreeHash | None = None
    """The work tree as it was when it was looked at last, unless something was let run since."""

    def repository(self, context: DriverContext) -> Repository:
        """The repository, open for git until something else is let run."""
        if self._repository is None:
            self._repository = self._open.enter_context(context.git.opened(context.root))
        return self._repository

    def shut(self) -> None:
        """Before anything else is let run: what it configures counts afterwards, and it finds nothing to write in."""
        self._repository = self.last_look = None
        self._open.close()

    def look(self, context: DriverContext, exclude: Sequence[str] = ()) -> WorkTreeHash:
        """The work tree as it is now."""
        self.last_look = context.ports.look(self.looking, self.repository(context), exclude)
        return self.last_look
