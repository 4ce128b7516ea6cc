"""A run as its entries tell it: the goal, the plan and where its tasks stand, what was asked, answered and reviewed."""

from __future__ import annotations

from typing import Any

import msgspec

from interlock.work.driver.record import Beginning, DriverRecord, PaidRun
from interlock.work.orchestration.values import CLOSED_MARKS, OPEN_MARKS, Cycle, Mark, Plan, Task, TaskReport

__all__ = ["ActiveRole", "AtWork", "Invocation", "Proven", "Run"]


class AtWork(msgspec.Struct, frozen=True):
    """A role that is asked: the agent that plays it, and on what."""

    role: str
    mode: str
    task: str | None
    attempt: int
    agent: str


class ActiveRole(AtWork, frozen=True):
    """The role at work for a run, as far as its entries tell: asked, and not heard of since."""

    at: str


class Invocation(PaidRun, frozen=True, kw_only=True):
    """One run of one role."""

    mode: str
    task: str | None
    attempt: int


class Proven(msgspec.Struct, frozen=True):
    """A tree that our verifiers and a reviewer have passed, and that is to be committed."""

    tree: str
    subject: str
    """The first line of the commit's message."""
    version: int
    """The entry that says so."""


class Run(DriverRecord):
    """A run as its entries tell it."""

    session: str = ""
    """The name of its directory."""
    follows: str | None = None
    """The run before it on the same directory."""
    parent: str | None = None
    """The thread that drives it."""
    goal: str = ""
    reason: str = ""
    started: str = ""
    roles: dict[str, str] = msgspec.field(default_factory=dict)
    """The agent of each role, `name` or `name:model`."""
    files: dict[str, str] = msgspec.field(default_factory=dict)
    """The hashes of the roles' files with which a person began or resumed it."""
    chosen: tuple[str, ...] = ()
    """The roles whose agents a person named, whatever their files and the settings say."""
    base: str = ""
    """The commit that the work began on."""
    beginning: Beginning | None = None
    """None in a run of a thread, and in one of an earlier version, which worked in the person's checkout."""
    tree: str = ""
    """The name of its agents' tree: the id of the first run that worked in it."""
    proven: Proven | None = None
    """The tree to be committed next; None if all is committed."""
    commit: str | None = None
    """The last commit of its work."""
    branch: str = ""
    """The branch that has it: the person's, or that of the tree if theirs stayed behind."""
    plan: Plan = msgspec.field(default_factory=lambda: Plan(""))
    cycles: list[Cycle] = msgspec.field(default_factory=list)
    reports: dict[str, list[TaskReport]] = msgspec.field(default_factory=dict)
    planning: dict[str, Mark] = msgspec.field(default_factory=dict)
    """The marks of the steps of planning."""
    mode: str = "INITIALIZE"
    """The next mode of the planner."""
    asks: str = ""
    """The next mode of the questioner, because the planner has asked; empty if it is the planner's turn."""
    cycle: int = 0
    """The number of the cycle that the questioner is at."""
    asked: tuple[str, ...] = ()
    """The questions of the planner."""
    why: str = ""
    """The reason why it is planned again: what blocked, what is missing, what a person wants."""
    task: str | None = None
    before: dict[str, str] = msgspec.field(default_factory=dict)
    """The tree that each task was begun on."""
    complaint: str = ""
    unusable: int = 0
    """The unusable answers in a row of a role whose answer does not move the run."""
    retry_at: float = 0.0
    """The time at which a network that failed is tried again."""
    receipt: dict[str, Any] | None = None
    """The results of our verifiers for the task under review."""
    at_work: ActiveRole | None = None
    invocations: list[Invocation] = msgspec.field(default_factory=list)
    wishes: list[str] = msgspec.field(default_factory=list)
    """The requirements that a person has added."""
    told: int = 0
    """The number of these that the plan includes."""
    discovered: int = 0
    """The number of tasks that were discovered and added."""
    projected: dict[str, str] = msgspec.field(default_factory=dict)
    """The hash of the text last projected to each file."""
    left: dict[str, set[str]] = msgspec.field(default_factory=dict)
    """The hashes of what else may be in a file as long as it is not known that it was written: what was there before
    it, and edits that were taken in."""
    found: dict[str, str] = msgspec.field(default_factory=dict)
    """The hashes of the files of a directory that no run is known of, until they were written for the first time: they
    are nobody's edits, and kept as they were."""
    beside: dict[str, str] = msgspec.field(default_factory=dict)
    """The files as people last wrote them, where something of theirs stands between our lines."""
    is_foreign: bool = False
    """True while an agent, or what it wrote, may still run."""
    words: int = 0
    """The number of changes of the tasks' words or order; marks do not count."""
    asked_at: str = ""
    """The time of the last question or answer."""
    verdict: str = ""
    """The last verdict, and why."""
    moves: list[tuple[str, str, str]] = msgspec.field(default_factory=list)
    """Every state that was entered: from, to, when."""

    def find(self, id_: str) -> Task | None:
        return next((one for one in self.plan.tasks if one.id == id_), None)

    @property
    def open_tasks(self) -> list[Task]:
        return [one for one in self.plan.tasks if one.mark in OPEN_MARKS]

    @property
    def closed(self) -> int:
        """The number of tasks for which nothing is left to do."""
        return sum(one.mark in CLOSED_MARKS for one in self.plan.tasks)

    @property
    def untold(self) -> list[str]:
        """The requirements that no plan includes yet."""
        return self.wishes[self.told :]

    @property
    def is_verifying(self) -> bool:
        """True while our own verifiers look at what was done, before a role is asked about it."""
        return self.state in ("Reviewing", "Complete") and self.receipt is None and self.at_work is None

    @property
    def request(self) -> str:
        """The goal with all that people added."""
        return "\n\n".join([self.goal, *self.wishes])

    @property
    def spent(self) -> tuple[float, float, int]:
        """Seconds, dollars and tokens that agents have used."""
        total = self.books.total()
        return total.seconds, total.usd, total.tokens
