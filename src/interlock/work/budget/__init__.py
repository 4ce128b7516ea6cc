"""What agents may use: one budget a day for all work in a repository, and the books of each loop and run.

amounts   PURE. What runs of agents use, in whole units; whether one more may begin
books     PURE. What one loop or run used, by task and by day
ledger    what all runs used, from the journal; a run is reserved in the transaction that begins it
"""

from __future__ import annotations

from interlock.work.budget.amounts import NOTHING, Amount, DayUsage, has_room, likely, limits_of, refusal
from interlock.work.budget.ledger import RUNS_OF_AGENTS, DriverUsage, day_usage, reserve, used_by_driver

__all__ = [
    "NOTHING",
    "RUNS_OF_AGENTS",
    "Amount",
    "DayUsage",
    "DriverUsage",
    "day_usage",
    "has_room",
    "likely",
    "limits_of",
    "refusal",
    "reserve",
    "used_by_driver",
]
