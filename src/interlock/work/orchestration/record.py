"""A run as its entries tell it: the goal, the plan and where its tasks stand, what was asked, answered and reviewed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from interlock.work.orchestration.values import Cycle, Mark, Plan, Report, Task

__all__ = ["Invocation", "Run"]


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of one role, as it was paid for."""

    role: str
    mode: str
    task: str | None
    attempt: int
    agent: str
    ending: str
    seconds: float
    cost_usd: float
    tokens: int
    at: str


@dataclass(slots=True)
class Run:
    """A run as its entries tell it."""

    id: str = ""
    session: str = ""
    """The name of its directory."""
    parent: str | None = None
    goal: str = ""
    state: str = ""
    outcome: str | None = None
    reason: str = ""
    started: str = ""
    updated: str = ""
    version: int = 0
    entered: int = 0
    roles: dict[str, str] = field(default_factory=dict)
    """Which agent plays which role, `name` or `name:model`."""
    base: str = ""
    """The commit that the work began on."""
    plan: Plan = field(default_factory=lambda: Plan(""))
    cycles: list[Cycle] = field(default_factory=list)
    reports: dict[str, list[Report]] = field(default_factory=dict)
    mode: str = "INITIALIZE"
    """What the planner is asked for next."""
    asks: bool = False
    """Whether the planner has asked, and the questioner is next."""
    asked: tuple[str, ...] = ()
    """What the planner wants to know."""
    why: str = ""
    """Why it is planned again: what blocked, what is missing, what a person wants."""
    task: str | None = None
    complaint: str = ""
    receipt: dict[str, Any] | None = None
    """What our verifiers saw of the task that is reviewed."""
    invocations: list[Invocation] = field(default_factory=list)
    limited: dict[str, float] = field(default_factory=dict)
    wishes: list[str] = field(default_factory=list)
    """What a person added, and no planner was told yet."""
    projected: dict[str, list[str]] = field(default_factory=dict)
    """The hashes of what each file was made to be, the newest last."""
    verdict: str = ""
    """The last verdict, and why."""
    stopped: str | None = None
    moves: list[tuple[str, str, str]] = field(default_factory=list)
    """Every state that was entered: from, to, when."""

    def find(self, id_: str) -> Task | None:
        return next((one for one in self.plan.tasks if one.id == id_), None)

    @property
    def open_tasks(self) -> list[Task]:
        return [one for one in self.plan.tasks if one.mark in (Mark.OPEN, Mark.WORKING)]

    @property
    def spent(self) -> tuple[float, float, int]:
        """Seconds, dollars and tokens that agents have used."""
        those = self.invocations
        return sum(one.seconds for one in those), sum(one.cost_usd for one in those), sum(one.tokens for one in those)
