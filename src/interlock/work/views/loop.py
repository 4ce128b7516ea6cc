"""A loop over stories: where its stories stand, what was tried, what it needs, and what a person can do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from interlock.journal import Entry, Journal
from interlock.work.stories.progress import LoopMetrics, StoryProgress
from interlock.work.stories.record import Loop
from interlock.work.stories.stuck import standstill
from interlock.work.views.values import DrivenView, driver_of, spent_of

__all__ = ["AttemptView", "LoopView", "loop_view"]

_MOST_ATTEMPTS = 50


class AttemptView(msgspec.Struct, frozen=True, rename="camel"):
    """One run of an agent for a subtask, or for a judgement."""

    iteration: int
    task: str
    role: str
    agent: str
    ending: str
    seconds: float
    usd: float
    tokens: int


class LoopView(DrivenView, frozen=True, kw_only=True, rename="camel"):
    """The current state of a loop, or its state after one of its earlier entries."""

    parent: str | None
    """The thread that drives it."""
    project: str
    story: str | None
    task: str | None
    iteration: int
    attempt: int | None
    """Which attempt at the subtask is made; None where none is."""
    is_halted: bool
    """True if it paused by itself, and needs a person."""
    limited: dict[str, float]
    stories: tuple[StoryProgress, ...]
    counts: dict[str, int]
    """The number of stories by their status."""
    metrics: LoopMetrics
    branch: str | None
    last_commit: str | None
    needs: dict[str, str]
    """What each blocked story needs."""
    skipped: list[str]
    context: list[str]
    """What the next agent is told."""
    last_failure: str
    no_progress: list[str]
    """The facts that the last attempt at the subtask did not change."""
    weakened: list[str]
    """What was done to tests that were there before."""
    judged: list[str]
    tests: str
    tested: str
    """The tree that passed the tests."""
    unsent: int
    """The memory events of this loop that the server does not have yet."""
    attempts: list[AttemptView]
    """The newest of them, the oldest first."""
    attempt_count: int
    choices: list[str]


def loop_view(
    journal: Journal, loop: Loop, entries: Sequence[Entry] | None = None, *, is_now: bool = True, trouble: str = ""
) -> LoopView:
    """The view of a loop whose entries were read."""
    entries = journal.history(loop.id) if entries is None else entries
    instance = journal.instance(loop.id)
    machine = journal.machine_of(instance)
    driver = driver_of(journal, machine.name, loop.id, entries)
    progress, tried = loop.progress, loop.attempts
    return LoopView(
        id=loop.id,
        machine=machine.name,
        title=progress.project,
        state=loop.state,
        label=machine.label(loop.state),
        outcome=loop.outcome,
        updated_at=loop.updated,
        reason=loop.explanation or None,
        driver=driver,
        paused=loop.paused.reason if loop.paused is not None else None,
        spent=spent_of(loop.spent()),
        trouble=trouble,
        parent=instance.parent,
        project=progress.project,
        story=loop.story,
        task=loop.task,
        iteration=loop.iteration,
        attempt=loop.attempt,
        is_halted=loop.paused is not None and loop.paused.needs_person,
        limited=loop.limited,
        stories=progress.stories,
        counts=dict(Counter(str(one.status) for one in progress.stories)),
        metrics=progress.metrics,
        branch=loop.branch,
        last_commit=loop.last_commit,
        needs=loop.needs,
        skipped=sorted(loop.skipped),
        context=loop.context,
        last_failure=loop.failure,
        no_progress=list(standstill(loop.base, loop.facts)) if loop.story else [],
        weakened=loop.weakened,
        judged=loop.judged,
        tests=loop.tests,
        tested=loop.tested,
        unsent=len(loop.unsent),
        attempts=[
            AttemptView(one.number, one.task, one.role, one.agent, one.ending, one.seconds, one.cost_usd, one.tokens)
            for one in tried[-_MOST_ATTEMPTS:]
        ],
        attempt_count=len(tried),
        choices=_choices(loop, is_driven=driver is not None) if is_now and instance.parent is None else [],
    )


def _choices(loop: Loop, *, is_driven: bool) -> list[str]:
    """The verbs that steer it, unless a thread drives it: then the thread is steered."""
    if loop.outcome is not None:
        return []
    is_paused = loop.paused is not None
    first = (["resume"] if is_paused or not is_driven else []) + ([] if is_paused else ["pause"])
    return [*first, "context", "unblock", "skip", "limit"]
