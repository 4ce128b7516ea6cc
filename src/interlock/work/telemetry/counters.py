"""What all entries add up to, as a projection: each entry is counted once, by whoever asks next.

A counter has a family and labels; there are as many as there are states and agents, however long the journal is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from interlock.decoding import decode
from interlock.journal import Entry, Instance, Journal, Sql
from interlock.machine import ActorKind
from interlock.machine.model import NOTED
from interlock.work.sessions.runs import RunSummary, ran_of
from interlock.work.telemetry.words import the_name

__all__ = ["COUNTERS", "counted"]

_TABLE: Final = (
    """CREATE TABLE counters (
  family TEXT {bytewise} NOT NULL,
  labels TEXT {bytewise} NOT NULL,
  number {integer} NOT NULL,
  PRIMARY KEY (family, labels)
) {rowless}""",
)
_ADD: Final = (
    "INSERT INTO counters (family, labels, number) VALUES (?, ?, ?) "
    "ON CONFLICT (family, labels) DO UPDATE SET number = counters.number + excluded.number"
)
_MILLIONTH: Final = 1_000_000

Labels = tuple[str, ...]


class _Counters:
    """The projection of all entries."""

    name = "counters"
    version = 1
    machine = None
    tables: Mapping[str, tuple[str, ...]] = {"counters": _TABLE}

    def fold(self, sql: Sql, instance: Instance, entries: Sequence[Entry]) -> None:
        found: Counter[tuple[str, Labels]] = Counter()
        for entry in entries:
            for family, labels, number in _of(entry, instance):
                found[family, labels] += number
        for (family, labels), number in found.items():
            sql.rows(_ADD, (family, msgspec.json.encode(labels).decode(), number))


COUNTERS = _Counters()


def counted(journal: Journal) -> dict[str, dict[Labels, int]]:
    """Every counter, by family and labels."""
    with journal.projected(COUNTERS) as sql:
        rows = sql.rows("SELECT family, labels, number FROM counters ORDER BY family, labels")
    found: dict[str, dict[Labels, int]] = {}
    for family, labels, number in rows:
        found.setdefault(family, {})[decode(labels, Labels)] = int(number)
    return found


def _of(entry: Entry, instance: Instance) -> Iterator[tuple[str, Labels, int]]:
    machine = instance.machine
    if entry.event == NOTED:
        if machine == "session" and entry.actor_kind == ActorKind.SYSTEM:
            yield from _noted(entry)
        return
    if entry.from_state != entry.to_state:
        yield "moves", (machine, entry.to_state, entry.actor_kind), 1
    if entry.off_path:
        yield "off_path", (machine,), 1


def _noted(entry: Entry) -> Iterator[tuple[str, Labels, int]]:
    if '"denied"' in entry.evidence and entry.decoded_evidence().data.get("type") == "denied":
        yield "denied", (), 1
    if (found := ran_of([entry])) is not None:
        yield from _run(found[1])


def _run(ran: RunSummary) -> Iterator[tuple[str, Labels, int]]:
    agent = the_name(ran.agent, "other")
    yield "runs", (agent, the_name(ran.ending, "other")), 1
    yield "milliseconds", (agent,), round(ran.seconds * 1000)
    yield "micro_usd", (agent,), round((ran.cost_usd or 0.0) * _MILLIONTH)
    yield "calls", (agent,), ran.calls
    for kind, number in (("input", ran.input), ("cached", ran.cached), ("output", ran.output)):
        yield "tokens", (agent, kind), number
