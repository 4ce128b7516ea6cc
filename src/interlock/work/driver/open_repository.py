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
    _last_look: tuple[Sequence[str], WorkTreeHash] | None = None

    def repository(self, context: DriverContext) -> Repository:
        """The repository, open for git until something else is let run."""
        if self._repository is None:
            self._repository = self._open.enter_context(context.git.opened(context.root))
        return self._repository

    def shut(self) -> None:
        """Before anything else is let run: what it configures counts afterwards, and it finds nothing to write in.

        The last look is forgotten, so this is also for a driver that is about to change files itself.
        """
        self._repository = self._last_look = None
        self._open.close()

    def look(self, context: DriverContext, exclude: Sequence[str] = ()) -> WorkTreeHash:
        """The work tree as it is now."""
        seen = context.ports.look(self.looking, self.repository(context), exclude)
        self._last_look = exclude, seen
        return seen

    def committed(self, exclude: Sequence[str] = ()) -> None:
        """The files that were looked at last are committed: the next look would find the same tree and no change."""
        if self._last_look is not None and self._last_look[0] == exclude:
            self._last_look = exclude, WorkTreeHash(self._last_look[1].tree, ())

    def last_look(self, context: DriverContext, exclude: Sequence[str] = ()) -> WorkTreeHash:
        """The work tree as it was when it was last looked at; as it is now if something was let run since."""
        if self._last_look is not None and self._last_look[0] == exclude:
            return self._last_look[1]
        return self.look(context, exclude)
