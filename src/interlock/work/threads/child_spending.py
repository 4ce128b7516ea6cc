"""What a thread's child uses while it is driven: it pauses when the thread may spend no more, or is paused itself."""

from __future__ import annotations

import msgspec

from interlock.work.orchestration.record import Run
from interlock.work.stories.record import Loop
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.iterating import overdrawn

__all__ = ["ChildSpending"]


class ChildSpending(msgspec.Struct):
    """The signal by which a child pauses."""

    step: ThreadStep
    child: Run | Loop | None = None

    def report(self, what: object) -> None:
        """Hear where the child is; everything is told on."""
        self.child = what if isinstance(what, Run | Loop) else self.child
        self.step.context.report(what)

    def is_set(self) -> bool:
        return self.step.context.pausing.is_set() or self.overdrawn() is not None

    def overdrawn(self) -> str | None:
        """Why the thread may spend no more, with what the child has used until now."""
        if self.child is None:
            return None
        spent = self.child.spent if isinstance(self.child, Run) else self.child.spent()
        return overdrawn(self.step, {self.child.id: spent})
