"""The loop in one state: what a step is given, and how it says what came of it."""

from __future__ import annotations

from typing import Any

from interlock.machine import Accepted, Event, Evidence, Snapshot, step
from interlock.work.driver.step import DriverStep
from interlock.work.stories.context import DRIVER, StoryContext, StoryFiles, named, own, plain
from interlock.work.stories.record import Loop
from interlock.work.stories.stuck import Facts, NoProgress, fingerprint, standstill
from interlock.world.git import Repository, WorkTreeHash

__all__ = ["StoryStep"]


class StoryStep(DriverStep[StoryContext, Loop], frozen=True):
    """The loop in one state."""

    @property
    def loop(self) -> Loop:
        return self.fold.record

    def event(self, name: str, *, task: str | None = None, **data: Any) -> Event:
        """What came of it, as an event of the machine."""
        return Event(name, DRIVER, evidence=Evidence(task=task, data=data))

    def facts(self, output: str, **more: Any) -> Facts:
        """What is seen after an attempt that failed with this."""
        return Facts(self.tree(), fingerprint(output), **more)

    def failed(self, name: str, failure: str, facts: Facts, **data: Any) -> Event:
        """A failure, with the count that the machine makes of it: `progress.txt` says what the machine says."""
        unchanged = standstill(self.loop.base, [*self.loop.facts, facts])
        if unchanged:
            self.context.report(NoProgress(len(self.loop.facts) + 1, unchanged))
        made = step(self.machine, self.snapshot, self.event(name))
        count = _retries(made.snapshot) if isinstance(made, Accepted) else self.retries
        return self.event(name, failure=failure, facts=plain(facts), retry_count=count, **data)

    @property
    def retries(self) -> int:
        """How many attempts at the task have failed."""
        return _retries(self.snapshot)

    def shelf(self) -> StoryFiles:
        """The stories as their files are now."""
        return StoryFiles(self.context.root, lines={one.id: one for one in self.loop.progress.stories})

    def own(self) -> tuple[str, ...]:
        """The files that are the loop's own, and no agent's work."""
        return own(self.context, self.loop.progress)

    def look(self) -> WorkTreeHash:
        """The work as it is now, without the loop's own files."""
        return self.context.cache.look(self.context, self.own())

    def last_look(self) -> WorkTreeHash:
        """The work as it was when it was last looked at; as it is now if something was let run since."""
        return self.context.cache.last_look(self.context, self.own())

    def tree(self) -> str:
        """The work as it is now, by hash, without the loop's own files."""
        return self.look().tree

    def touched(self) -> list[str]:
        """The paths that are not as they were committed, without the loop's own files."""
        return named(self.look().changed)

    def repository(self) -> Repository:
        """The repository, for git."""
        return self.context.cache.repository(self.context)


def _retries(snapshot: Snapshot) -> int:
    return snapshot.counters.get(f"retry:{snapshot.task}", 0) if snapshot.task else 0
