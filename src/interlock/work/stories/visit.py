"""The loop in one state: what a step is given, and how it says what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interlock.journal import Lease
from interlock.machine import Accepted, Event, Evidence, Machine, Snapshot, step
from interlock.work.stories.record import Loop
from interlock.work.stories.yard import DRIVER, Shelf, Yard, named, note, own_files
from interlock.world.git import state, tree_hash

__all__ = ["Visit"]


@dataclass(frozen=True, slots=True)
class Visit:
    """The loop in one state: where it works, what is known of it, and the right to drive it."""

    yard: Yard
    loop: Loop
    snapshot: Snapshot
    machine: Machine
    lease: Lease

    def event(self, name: str, *, task: str | None = None, **data: Any) -> Event:
        """What came of it, as an event of the machine."""
        return Event(name, DRIVER, evidence=Evidence(task=task, data=data))

    def failed(self, name: str, failure: str, facts: str, **data: Any) -> Event:
        """A failure, with the count that the machine makes of it: `progress.txt` says what the machine says."""
        made = step(self.machine, self.snapshot, self.event(name))
        count = _retries(made.snapshot) if isinstance(made, Accepted) else self.retries
        return self.event(name, failure=failure, facts=facts, retry_count=count, **data)

    @property
    def retries(self) -> int:
        """How many attempts at the task have failed."""
        return _retries(self.snapshot)

    def shelf(self) -> Shelf:
        """The stories as their files are now."""
        return Shelf(self.yard.root, lines={one.id: one for one in self.loop.progress.stories})

    def own(self) -> tuple[str, ...]:
        """The files that are the loop's own, and no agent's work."""
        return own_files(self.yard.root, self.loop.progress)

    def tree(self) -> str:
        """The work as it is now, by hash, without the loop's own files."""
        return tree_hash(self.yard.root, exclude=self.own())

    def touched(self) -> list[str]:
        """What is not as it was committed, without the loop's own files."""
        now = state(self.yard.root)
        return named({*now.staged, *now.unstaged, *now.untracked} - {*self.own()})

    def note(self, type_: str, **data: Any) -> None:
        note(self.yard, self.loop.id, self.lease, type_, **data)


def _retries(snapshot: Snapshot) -> int:
    return snapshot.counters.get(f"retry:{snapshot.task}", 0) if snapshot.task else 0
