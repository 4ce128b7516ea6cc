"""A thread as its entries tell it: its spec, its baseline, what was tried, what was proven, what is kept."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from interlock.work.driver.record import DriverRecord, OpenRun, PaidRun
from interlock.world.place import Place

__all__ = [
    "Baseline",
    "Config",
    "Diagnosis",
    "Iteration",
    "LeftPlace",
    "Revision",
    "SpecMessage",
    "Thread",
]


class Config(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the loop of a thread runs; what a person chose, or the defaults of the settings."""

    agents: tuple[str, ...] = ("claude",)
    """They take turns, or are asked in this order; `name` or `name:model`."""
    iterations: int = 5
    """0 is no limit, and then a budget must be set."""
    driver: str = "plain"
    selection: str = "round_robin"
    isolation: str = "none"
    """`own` or `checkout`; `none` and `worktree` are what earlier versions called `checkout` and `own`."""
    judge: str = ""
    budget_minutes: int = 0
    budget_usd: int = 0
    budget_tokens: int = 0

    @property
    def follows_checkout(self) -> bool:
        """True if the person's own checkout is brought along with the work."""
        return self.isolation in ("checkout", "none")

    @property
    def is_bounded(self) -> bool:
        return bool(self.iterations or self.budget_minutes or self.budget_usd or self.budget_tokens)


class Revision(msgspec.Struct, frozen=True):
    """One revision of the spec; it never changes."""

    number: int
    sha256: str
    text: str
    by: str
    at: str


class SpecMessage(msgspec.Struct, frozen=True):
    """One turn of the talk about the spec."""

    role: str
    content: str
    agent: str | None
    at: str


class Baseline(msgspec.Struct, frozen=True):
    """Where the work began: the branch and the commit to go back to, and since when it is recorded."""

    branch: str
    commit: str
    at: str


class Iteration(PaidRun, frozen=True, kw_only=True):
    """One run of an agent in a run of the loop."""

    number: int
    run: str
    promised: bool
    verified: bool | None = None
    """The result of the verification that followed, if one did."""
    criteria_passed: int | None = None


class LeftPlace(msgspec.Struct, frozen=True):
    """The place that a thread left when it went back to its spec: what a reset is to undo."""

    branch: str
    commit: str
    own_branch: str
    path: str
    """As in `Place`."""
    is_isolated: bool


class Diagnosis(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known when the loop could not complete the task."""

    spec_revision: int
    iterations_attempted: int
    models_tried: tuple[str, ...]
    best_criteria_passed: int
    total_criteria: int
    reason: str
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    closest: str = ""
    """The end of what was said in the iteration that came closest."""
    stat: str = ""
    """What differs from the baseline, a line for each file."""
    tree: str = ""

    @property
    def summary(self) -> str:
        many = "" if self.iterations_attempted == 1 else "s"
        tried = f"{self.iterations_attempted} iteration{many}"
        return f"{self.best_criteria_passed}/{self.total_criteria} criteria ({tried})"


class Thread(DriverRecord):
    """A thread as its entries tell it."""

    title: str = ""
    mode: str = "methodical"
    ticket: str | None = None
    """The ticket that it is for."""
    created: str = ""
    entered_at: str = ""
    revisions: list[Revision] = msgspec.field(default_factory=list)
    messages: list[SpecMessage] = msgspec.field(default_factory=list)
    assessment: str = ""
    is_assessed: bool = False
    """Whether the assessment of this state is there."""
    config: Config | None = None
    checks: list[dict[str, Any]] = msgspec.field(default_factory=list)
    baseline: Baseline | None = None
    branch: str | None = None
    place: Place | None = None
    """Where it works, from Preflight on: the repository's own work tree, or one of its own."""
    before_reset: LeftPlace | None = None
    guarded: str = ""
    """The hash of the repository's settings and hooks at Preflight, or as a person accepted them since."""
    changed_settings: str = ""
    """The same as they were when the loop stopped because of them: a person who goes on accepts exactly these."""
    run: str | None = None
    runs: int = 0
    run_started: str | None = None
    run_revision: int = 1
    """The revision of the spec that the run builds from; a later one is written after it."""
    run_ended: tuple[str, str] | None = None
    """The state that ended the run, and when; None until then."""
    children_before: tuple[float, float, int] = (0.0, 0.0, 0)
    """The use of the children when the run began."""
    iteration: int = 1
    child: str | None = None
    """The story loop or run that drives it, or did so last."""
    child_run: str | None = None
    """The run of the thread in which it was begun or gone on with: a person's decision makes a new one."""
    is_settled: bool = False
    """Whether what came of the child was concluded."""
    is_heard: bool = False
    """Whether a child was told the feedback."""
    children: dict[str, tuple[float, float, int]] = msgspec.field(default_factory=dict)
    """What the children have used: seconds, dollars and tokens."""
    ran: OpenRun | None = None
    is_claimed: bool = False
    """Whether the verification of finished work was stopped: the loop claims again that it is done, and pays nobody."""
    iterations: list[Iteration] = msgspec.field(default_factory=list)
    feedback: str = ""
    """What the next iteration must know: what failed, or why a person sent it back."""
    context: list[str] = msgspec.field(default_factory=list)
    receipt: dict[str, Any] | None = None
    """What verification last came to, passed or not."""
    best: tuple[int, str] = (-1, "")
    """The number of criteria that the closest iteration of the run met, and the end of what was said in it."""
    verified_run: str | None = None
    """The run to which the receipt belongs."""
    said: str = ""
    diagnosis: Diagnosis | None = None
    reason: str = ""
    """Why it is in the state it is in, where the move said so."""
    message: str = ""
    commit: str | None = None
    kept: list[str] = msgspec.field(default_factory=list)
    """What was put away, by the name under `refs/ralf/`, the newest last."""
    refused: list[dict[str, Any]] = msgspec.field(default_factory=list)
    """Attempts at a gate that were refused."""

    @property
    def revision(self) -> Revision | None:
        return self.revisions[-1] if self.revisions else None

    def directory(self, base: Path, otherwise: Path) -> Path:
        """Where its agents work; before Preflight, where it would begin."""
        return self.place.directory(base) if self.place is not None else otherwise

    @property
    def judged(self) -> list[dict[str, Any]]:
        """The criteria with the result of the last verification in this run; empty where there was none."""
        if self.receipt is None or self.verified_run != self.run:
            return []
        criteria: list[dict[str, Any]] = self.receipt["criteria"]
        return criteria

    @property
    def attempted(self) -> int:
        """The iterations of the run in which work was done; one of them is one run of an agent or of a child."""
        has_child = self.child is not None and self.child_run == self.run and not self.is_settled
        is_tried = self.state == "Verifying" or self.ran is not None or self.is_claimed or has_child
        return self.iteration if is_tried else self.iteration - 1

    @property
    def spent(self) -> tuple[float, float, int]:
        """Seconds, dollars and tokens that agents have used, those of the children, too."""
        own = self.books.total()
        return _total([(own.seconds, own.usd, own.tokens), self.spent_by_children])

    @property
    def spent_by_children(self) -> tuple[float, float, int]:
        return _total(self.children.values())

    @property
    def spent_in_run(self) -> tuple[float, float, int]:
        """The same for the current run: its agents, its judges and its child."""
        roles = ("implementer", "judge")
        own = [one for one in self.iterations if one.run == self.run and one.role in roles]
        seconds, dollars, tokens = self.spent_by_children
        before = self.children_before
        below = (seconds - before[0], dollars - before[1], tokens - before[2])
        return _total([*((one.seconds, one.cost_usd, one.tokens) for one in own), below])


def _total(amounts: Iterable[tuple[float, float, int]]) -> tuple[float, float, int]:
    seconds, dollars, tokens = zip((0.0, 0.0, 0), *amounts, strict=True)
    return sum(seconds), sum(dollars), sum(tokens)
