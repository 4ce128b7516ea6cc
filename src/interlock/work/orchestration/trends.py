"""PURE. The metrics of runs over time: what those of each day add up to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median

import msgspec

from interlock.work.orchestration.metrics import Overall, RunMetrics, over, rate, sessions_of

__all__ = ["Day", "by_day"]


class Day(msgspec.Struct, frozen=True):
    """The sessions that began on a day, with all their runs: so a task is counted once, on one day."""

    date: str
    """In ISO 8601 and UTC."""
    overall: Overall

    @property
    def success(self) -> float | None:
        """The share of the tasks that were qualified, of those that were qualified or failed."""
        return rate(self.overall.ends.get("qualified", 0), self.overall.ends.get("failed", 0))

    @property
    def duration(self) -> float | None:
        """The median duration of the sessions that ended, in milliseconds."""
        ended = [duration for outcome, duration in self.overall.sessions if outcome is not None]
        return median(ended) if ended else None

    @property
    def cost_usd(self) -> float:
        return sum(one.cost_usd for one in self.overall.used.values())

    @property
    def tokens(self) -> int:
        return sum(one.tokens for one in self.overall.used.values())


def by_day(runs: Sequence[RunMetrics]) -> list[Day]:
    """Runs by the day on which their session began, oldest first; days without any are left out."""
    days: dict[str, list[RunMetrics]] = {}
    for session in sessions_of(runs):
        days.setdefault(_date(session.runs[0].began), []).extend(session.runs)
    return [Day(date, over(days[date])) for date in sorted(days)]


def _date(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()
