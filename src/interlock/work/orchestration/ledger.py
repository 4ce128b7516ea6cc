"""The tallies of all runs as a projection of the journal: each entry is counted once, when it is next asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from interlock.decoding import decoder
from interlock.errors import NotFound
from interlock.journal import Entry, Instance, Journal, Sql
from interlock.journal.store import Row
from interlock.work.driver.lease_holders import is_driven
from interlock.work.orchestration.metrics import RunMetrics, measured
from interlock.work.orchestration.tally import Tally, take

__all__ = ["RUNS", "all_runs", "recent_runs", "runs_of_session"]

_MACHINE: Final = "orchestrator"
_TABLE: Final = (
    """CREATE TABLE run_tallies (
  id TEXT {bytewise} NOT NULL PRIMARY KEY,
  session TEXT NOT NULL,
  tally TEXT NOT NULL
) {rowless}""",
    "CREATE INDEX run_tallies_by_session ON run_tallies (session)",
)
_PUT: Final = "INSERT INTO run_tallies VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET tally = excluded.tally"
_encoder = msgspec.json.Encoder()
_tallies = decoder(Tally)


class _OrchestratorRuns:
    """The projection of every run."""

    name = "run_tallies"
    version = 1
    machine = _MACHINE
    tables: Mapping[str, tuple[str, ...]] = {"run_tallies": _TABLE}

    def fold(self, sql: Sql, instance: Instance, entries: Sequence[Entry]) -> None:
        found = sql.rows("SELECT tally FROM run_tallies WHERE id = ?", (instance.id,))
        tally = _tallies.decode(found[0][0]) if found else Tally()
        for entry in entries:
            take(tally, entry)
        sql.rows(_PUT, (instance.id, tally.session, _encoder.encode(tally).decode()))


RUNS = _OrchestratorRuns()


def all_runs(journal: Journal, *, is_settled: bool = False) -> list[RunMetrics]:
    """Every run as it stands now, in the order in which they began; or only what is settled, which never shrinks."""
    with journal.projected(RUNS) as sql:
        rows = sql.rows("SELECT id, tally FROM run_tallies ORDER BY id")
    return _measured(journal, rows, is_settled)


def recent_runs(journal: Journal, most: int, before: str | None = None) -> tuple[list[RunMetrics], bool]:
    """The newest runs, or the newest before an id, in the order in which they began; and whether there are older."""
    clause, values = ("", []) if before is None else (" WHERE id < ?", [before])
    with journal.projected(RUNS) as sql:
        statement = f"SELECT id, tally FROM run_tallies{clause} ORDER BY id DESC LIMIT {int(most) + 1}"
        rows = sql.rows(statement, values)
    return _measured(journal, rows[:most][::-1], is_settled=False), len(rows) > most


def runs_of_session(
    journal: Journal, reference: str, *, is_settled: bool = False
) -> tuple[RunMetrics, list[RunMetrics]]:
    """A run by its id or the end of it, and all runs of its session."""
    found = journal.instance(reference)
    if found.machine != _MACHINE:
        message = f"{found.id} is a {found.machine}, not a run."
        raise NotFound("unknown_instance", message, "`ralph stats` lists the last runs.")
    with journal.projected(RUNS) as sql:
        [(session,)] = sql.rows("SELECT session FROM run_tallies WHERE id = ?", (found.id,))
        rows = sql.rows("SELECT id, tally FROM run_tallies WHERE session = ? ORDER BY id", (session,))
    runs = _measured(journal, rows, is_settled)
    return next(one for one in runs if one.id == found.id), runs


def _measured(journal: Journal, rows: list[Row], is_settled: bool) -> list[RunMetrics]:
    now = None if is_settled else round(journal.now() * 1000)
    tallies = ((id_, _tallies.decode(tally)) for id_, tally in rows)
    return [measured(id_, tally, now, is_driven=_is_driven(journal, id_, tally)) for id_, tally in tallies]


def _is_driven(journal: Journal, id_: str, tally: Tally) -> bool:
    """True if a driver is at work on the run now, or it has ended, so that its time is settled."""
    return tally.outcome is not None or is_driven(journal, _MACHINE, id_)
