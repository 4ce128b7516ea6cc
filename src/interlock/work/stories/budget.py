"""What a loop may use: iterations, time, tokens and money. Counted from the journal, so a restart resets nothing."""

from __future__ import annotations

from interlock.journal.ids import time_text
from interlock.machine.model import NOTED
from interlock.work.stories.visit import Visit

__all__ = ["overdrawn"]


def overdrawn(visit: Visit) -> str | None:
    """Why nothing more may be spent; None while there is room for one more attempt like the others."""
    loop, limits = visit.loop, visit.yard.limits
    given = loop.limits
    iterations = given.get("iterations", limits.iterations)
    seconds, dollars, tokens = loop.spent()
    _, for_task, _ = loop.spent(visit.snapshot.task)
    likely = dollars / len(loop.attempts) if loop.attempts else 0.0
    money = given.get("loop_usd", limits.loop_usd)
    task_money = given.get("task_usd", limits.task_usd)
    day_money = given.get("day_usd", limits.day_usd)
    today = _spent_today(visit) if day_money else 0.0
    checks = (
        (iterations and loop.next_iteration > iterations, f"{iterations:.0f} iterations are used up"),
        (_over(seconds, given.get("loop_seconds", limits.loop_seconds)), "the time for the loop is used up"),
        (_over(tokens, given.get("loop_tokens", limits.loop_tokens)), "the tokens for the loop are used up"),
        (_over(dollars, money, likely), "the money for the loop is used up"),
        (_over(for_task, task_money, likely), "the money for the task is used up"),
        (_over(today, day_money, likely), "the money for the day is used up"),
    )
    return next((why for over, why in checks if over), None)


def _over(used: float, limit: float, likely: float = 0.0) -> bool:
    return bool(limit) and (used >= limit or used + likely > limit)


def _spent_today(visit: Visit) -> float:
    """What every loop of this repository has paid since midnight, UTC."""
    journal = visit.yard.journal
    day = time_text(int(journal.now() * 1e9))[:10]
    entries = (entry for one in journal.instances("story") for entry in journal.history(one.id))
    data = (entry.decoded_evidence().data for entry in entries if entry.event == NOTED and entry.time[:10] == day)
    return sum(one["cost_usd"] or 0.0 for one in data if one["type"] == "iteration")
