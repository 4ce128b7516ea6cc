"""Bringing back what a reset put away. It restores files, index and branch, and moves no state."""

from __future__ import annotations

from interlock.errors import NotFound
from interlock.work.driver.context import DriverContext
from interlock.work.threads.record import Thread
from interlock.world.git import undo

__all__ = ["undo_reset"]


def undo_reset(context: DriverContext, thread: Thread, name: str | None = None) -> str:
    """Bring back what was kept last, or what was kept under a name; the name it has."""
    known = thread.kept
    if not known or (name is not None and name not in known):
        listed = f"There is: {', '.join(known)}." if known else "Nothing was put away of this thread."
        raise NotFound("nothing_kept", f"Nothing is kept under {name!r}." if name else "Nothing is kept.", listed)
    chosen = name or known[-1]
    undo(context.root, chosen)
    return chosen
