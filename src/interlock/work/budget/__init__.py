"""One budget a day for all work in a repository, whichever driver, process or work tree it is for.

amounts   PURE. What runs of agents use, in whole units; whether one more may begin
ledger    what all runs used, from the journal; a run is reserved in the transaction that begins it
"""

from __future__ import annotations

from interlock.work.budget.amounts import NOTHING, Amount, Standing, likely, limits_of, refusal
from interlock.work.budget.ledger import RUNS_OF_AGENTS, reserve, standing

__all__ = [
    "NOTHING",
    "RUNS_OF_AGENTS",
    "Amount",
    "Standing",
    "likely",
    "limits_of",
    "refusal",
    "reserve",
    "standing",
]
