"""What a loop may use: iterations, time, tokens and money. Counted from the journal, so a restart resets nothing."""

from __future__ import annotations

import msgspec

from interlock.work.budget import has_room
from interlock.work.formats.times import day_of
from interlock.work.stories.context import Limits
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.plan import task_name
from interlock.work.stories.record import Loop

__all__ = ["LIMITS", "LimitUsage", "overdrawn", "used_up"]

_KINDS = (
    ("seconds", "the time for the {} is"),
    ("tokens", "the tokens for the {} are"),
    ("usd", "the money for the {} is"),
)
_SPANS = ("loop", "task", "day")
LIMITS = ("iterations", "day_iterations", *(f"{span}_{kind}" for span in _SPANS for kind, _ in _KINDS))
"""What can be limited, and changed while a loop runs; 0 is no limit."""


class LimitUsage(msgspec.Struct, frozen=True):
    """How much of a limit is used."""

    name: str
    used: float
    limit: float


def used_up(loop: Loop, limits: Limits, day: str) -> list[LimitUsage]:
    """How much is used of all that is limited: in the loop, for the task at hand, on a day."""
    books = loop.books
    task = task_name(loop.story, loop.task or "") if loop.story else ""
    spans = {"loop": books.total(), "task": books.of_task(task), "day": books.of_day(day)}
    used = {
        "iterations": float(loop.iteration),
        "day_iterations": float(books.iterations.get(day, 0)),
        **{f"{span}_{kind}": float(getattr(spent, kind)) for span, spent in spans.items() for kind, _ in _KINDS},
    }
    known = {name: float(loop.limits.get(name, getattr(limits, name))) for name in LIMITS}
    return [LimitUsage(name, used[name], limit) for name, limit in known.items() if limit]


def overdrawn(step: StoryStep) -> str | None:
    """Why nothing more may be spent; None while there is room for one more run like the others."""
    loop, books = step.loop, step.loop.books
    day = day_of(step.context.journal.now())
    iterations, of_day = _limit(step, "iterations"), _limit(step, "day_iterations")
    if iterations and loop.next_iteration > iterations:
        return f"{iterations:.0f} iterations are used up"
    if of_day and loop.next_iteration != loop.iteration and books.iterations.get(day, 0) >= of_day:
        return f"{of_day:.0f} iterations of the day are used up"
    used = {
        "loop": books.total(),
        "task": books.of_task(step.snapshot.task or ""),
        "day": books.of_day(day),
    }
    likely = books.likely()
    for span, spent in used.items():
        for kind, sentence in _KINDS:
            if not has_room(getattr(spent, kind), getattr(likely, kind), _limit(step, f"{span}_{kind}")):
                return f"{sentence.format(span)} used up"
    return None


def _limit(step: StoryStep, name: str) -> float:
    """What a person said while it runs, else what the settings say."""
    return float(step.loop.limits.get(name, getattr(step.context.limits, name)))
