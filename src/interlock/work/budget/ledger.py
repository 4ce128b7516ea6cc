"""What all runs of agents used, as a projection of the journal.

Each run is a session. It is reserved when that begins, and settled by the note that its driver leaves at its end.

It is reserved in the very transaction that begins its session, so that of ten processes only one takes the last of
the budget. Where it is never settled, because its driver died, the reserve is what it cost, and that once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from interlock.machine import ActorKind, Channel
from interlock.work.budget.amounts import NOTHING, Amount, DayUsage, likely, refusal

if TYPE_CHECKING:
    from interlock.journal import Entry, Instance, Journal, Sql, Transaction
    from interlock.work.sessions.runs import RunSummary

__all__ = ["RUNS_OF_AGENTS", "DriverUsage", "day_usage", "reserve", "used_by_driver"]

_RESERVED: Final = "reserved"
_RECENT: Final = 20
"""So many of the newest runs that were settled tell what the next one may use."""
_TABLE: Final = (
    """CREATE TABLE agent_runs (
  id TEXT {bytewise} NOT NULL PRIMARY KEY,
  day TEXT NOT NULL,
  settled {integer} NOT NULL,
  milliseconds {integer} NOT NULL,
  tokens {integer} NOT NULL,
  microdollars {integer} NOT NULL
) {rowless}""",
    "CREATE INDEX agent_runs_by_day ON agent_runs (day)",
    "CREATE INDEX agent_runs_settled ON agent_runs (settled, id)",
)
_SETTLE: Final = (
    "UPDATE agent_runs SET settled = 1, milliseconds = ?, tokens = ?, microdollars = ? WHERE id = ? AND settled = 0"
)
_OF_DAY: Final = (
    "SELECT count(*), coalesce(sum(milliseconds), 0), coalesce(sum(tokens), 0), coalesce(sum(microdollars), 0) "
    "FROM agent_runs WHERE day = ?"
)
_BY_DRIVER: Final = (
    "SELECT coalesce(above.machine, ''), count(*), sum(milliseconds), sum(tokens), sum(microdollars) "
    "FROM agent_runs JOIN instances AS own ON own.id = agent_runs.id "
    "LEFT JOIN instances AS above ON above.id = own.parent GROUP BY 1 ORDER BY 1"
)
_NEWEST: Final = (
    f"SELECT milliseconds, tokens, microdollars FROM agent_runs WHERE settled = 1 ORDER BY id DESC LIMIT {_RECENT}"
)


class DriverUsage(msgspec.Struct, frozen=True):
    """The runs of agents that all drivers of one kind began, and what they used."""

    machine: str
    """The machine of what they worked for; empty for a run that worked for nothing else."""
    runs: int
    used: Amount


class _AgentRuns:
    """The projection of every run; only what a driver itself wrote counts, and not what agents tell."""

    name = "agent_runs"
    version = 1
    machine = "session"
    tables: Mapping[str, tuple[str, ...]] = {"agent_runs": _TABLE}

    def fold(self, sql: Sql, instance: Instance, entries: Sequence[Entry]) -> None:
        from interlock.work.sessions.runs import ran_of

        for entry in entries:
            if entry.channel != Channel.DRIVER or entry.actor_kind != ActorKind.SYSTEM:
                continue
            if entry.version == 1 and _RESERVED in entry.evidence:
                _begin(sql, instance.id, entry.decoded_evidence().data.get(_RESERVED))
            elif (found := ran_of([entry])) is not None:
                _settle(sql, instance.id, found[1])


def _begin(sql: Sql, id_: str, data: Any) -> None:
    if data is not None:
        row = (id_, data["day"], *msgspec.structs.astuple(_amount(data)))
        sql.rows("INSERT INTO agent_runs VALUES (?, ?, 0, ?, ?, ?)", row)


def _settle(sql: Sql, id_: str, ran: RunSummary) -> None:
    """What a run used takes the place of what was reserved; of one that nobody heard to its end, nothing is known."""
    from interlock.work.sessions.runs import DIED, UNKNOWN

    if ran.ending not in (DIED, UNKNOWN):
        used = Amount.of(ran.seconds, ran.input + ran.output, ran.cost_usd)
        sql.rows(_SETTLE, (*msgspec.structs.astuple(used), id_))


def _amount(data: Mapping[str, Any]) -> Amount:
    return Amount(data["milliseconds"], data["tokens"], data["microdollars"])


RUNS_OF_AGENTS = _AgentRuns()


def day_usage(journal: Journal, day: str) -> DayUsage:
    """What was used on a day (UTC), at a cost that does not grow with the journal."""
    with journal.projected(RUNS_OF_AGENTS) as sql:
        return _day_usage(sql, day)


def used_by_driver(journal: Journal) -> list[DriverUsage]:
    """Every run of an agent that there was, by what began it."""
    with journal.projected(RUNS_OF_AGENTS) as sql:
        rows = sql.rows(_BY_DRIVER)
    return [DriverUsage(machine, int(runs), Amount(*map(int, used))) for machine, runs, *used in rows]


def _day_usage(sql: Sql, day: str) -> DayUsage:
    [(runs, *used)] = sql.rows(_OF_DAY, (day,))
    newest = [Amount(*row) for row in sql.rows(_NEWEST)]
    return DayUsage(Amount(*map(int, used)), runs, likely(sum(newest, NOTHING), len(newest)))


def reserve(transaction: Transaction, day: str, limits: Amount) -> dict[str, Any]:
    """Reserve what a run may use: what its session is created with. Raises where the day has no room for it."""
    books = _day_usage(transaction.project(RUNS_OF_AGENTS), day)
    refused = refusal(limits, books)
    if refused is not None:
        raise refused
    return {_RESERVED: {"day": day, **msgspec.structs.asdict(books.likely)}}
