"""A loop as its entries tell it: where its stories stand, what was tried, what it cost, what people asked for."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.work.driver.record import Beginning, DriverRecord, OpenRun, PaidRun
from interlock.work.stories.progress import Progress
from interlock.work.stories.stuck import Facts

__all__ = ["Attempt", "Loop"]


class Attempt(PaidRun, frozen=True, kw_only=True):
    """One run of an agent for a subtask, or for a judgement."""

    number: int
    task: str


class Loop(DriverRecord):
    """A loop as its entries tell it."""

    options: dict[str, Any] = msgspec.field(default_factory=dict)
    progress: Progress = msgspec.field(default_factory=Progress)
    story: str | None = None
    task: str | None = None
    base: str = ""
    """The tree that was there when the task was selected, without the loop's own files."""
    iteration: int = 0
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    worked: tuple[int, float] = (0, 0.0)
    """How many attempts at the work there were, and how many seconds they took."""
    begun: int = 0
    """The entry into IMPLEMENT that the iteration was begun for: run again after a crash, it is the same iteration."""
    ran: OpenRun | None = None
    """What the agent of this state came to, where nothing has been concluded of it yet."""
    guarded: dict[str, str | None] = msgspec.field(default_factory=dict)
    """The loop's own files, by hash, while something runs that must not change them."""
    listed: dict[str, str | None] = msgspec.field(default_factory=dict)
    """The same, as they were when they were guarded last."""
    failure: str = ""
    """What went wrong in the last attempt at the task."""
    facts: list[Facts] = msgspec.field(default_factory=list)
    """What was seen after each attempt at the task that failed."""
    way: str = ""
    """In what way the last attempt of all failed, by hash."""
    way_said: str = ""
    """And in words."""
    alike: list[str] = msgspec.field(default_factory=list)
    """The tasks, one after the other and the last one last, that failed in that way."""
    weakened: list[str] = msgspec.field(default_factory=list)
    """What was done, for the task, to tests that were there before."""
    tests: str = ""
    tested: str = ""
    """The tree that passed the tests."""
    judged: list[str] = msgspec.field(default_factory=list)
    known: list[str] = msgspec.field(default_factory=list)
    """What the memory knows, a line each."""
    context: list[str] = msgspec.field(default_factory=list)
    """What a person added, and no agent has been told yet."""
    let_go: int = 0
    """How much there was of it before: told to an agent, or taken back."""
    skipped: set[str] = msgspec.field(default_factory=set)
    limits: dict[str, float] = msgspec.field(default_factory=dict)
    unsent: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    """Memory events that the server has not."""
    sent: set[str] = msgspec.field(default_factory=set)
    retried: set[str] = msgspec.field(default_factory=set)
    """The blocked stories whose task has had its one reprieve."""
    blocked_at: dict[str, int] = msgspec.field(default_factory=dict)
    projected: list[str] = msgspec.field(default_factory=list)
    """The hashes of what `progress.txt` was last made to be, the newest last."""
    needs: dict[str, str] = msgspec.field(default_factory=dict)
    """What each blocked story needs, in the end."""
    explanation: str = ""
    """Why it ended in ERROR."""
    started: str = ""
    branch: str | None = None
    """The branch that was checked out at its start: it commits to no other."""
    beginning: Beginning | None = None
    """None in a loop of an earlier version, which worked in the person's checkout."""
    last_commit: str | None = None

    def spent(self, task: str | None = None) -> tuple[float, float, int]:
        """Seconds, dollars and tokens that agents have used, for one task or in all."""
        used = self.books.total() if task is None else self.books.of_task(task)
        return used.seconds, used.usd, used.tokens

    @property
    def attempt(self) -> int | None:
        """Which attempt at the subtask is made now, of three; None where an agent is not at it."""
        known = self.progress.story(self.story) if self.story else None
        return min(known.retry_count, 2) + 1 if known and self.state == "IMPLEMENT" else None

    @property
    def next_iteration(self) -> int:
        """The number of the iteration that an agent's run would be of."""
        return self.iteration + (self.begun != self.entered)

    def set_story(self, id_: str, **values: Any) -> None:
        """Change what is said of one story."""
        stories = self.progress.stories
        place = next((place for place, one in enumerate(stories) if one.id == id_), None)
        if place is not None:
            changed = replace(stories[place], **values)
            self.progress = replace(self.progress, stories=(*stories[:place], changed, *stories[place + 1 :]))

    def set_iteration(self, **values: Any) -> None:
        self.progress = replace(self.progress, current_iteration=replace(self.progress.current_iteration, **values))

    def set_metrics(self, **values: Any) -> None:
        self.progress = replace(self.progress, metrics=replace(self.progress.metrics, **values))
