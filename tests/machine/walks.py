"""What a machine's table says, read from its TOML by itself, and the events and snapshots that try it.

Nothing here asks the loader: a table is expanded, its conditions are read and its outcome is foretold in a few
lines of their own, so that a test compares two readings of one file.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.machine import SHIPPED, Actor, ActorKind, Channel, Event, Evidence, Machine, Snapshot, load_shipped
from interlock.machine.load import compile_machine, definition_path

__all__ = [
    "HOLDER",
    "KINDS",
    "SHIPPED",
    "TASK",
    "Row",
    "Table",
    "after",
    "by",
    "edited",
    "event_of",
    "holds",
    "proven",
    "shipped_table",
    "situations",
    "table",
]

KINDS = tuple(ActorKind)
TASK = "task-1"
HOLDER = "run-1"


@dataclass(frozen=True, slots=True)
class Row:
    """One edge of the table, or one refusal of it, with everything else its row says."""

    source: str
    to: str | None
    on: str
    by: tuple[str, ...]
    refuses: bool
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def when(self) -> str | None:
        return self.raw.get("when")

    @property
    def proofs(self) -> list[str]:
        return [self.raw[key] for key in ("gate", "receipt") if key in self.raw]


class Table(msgspec.Struct, frozen=True, eq=False):
    """A machine file as it is written, with its rows expanded."""

    raw: Mapping[str, Any]
    rows: tuple[Row, ...]

    def section(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.raw.get(name, {})
        return found

    @property
    def states(self) -> Mapping[str, Mapping[str, Any]]:
        return self.section("states")

    @property
    def proofs(self) -> Mapping[str, Mapping[str, Any]]:
        return {**self.section("gates"), **self.section("receipts")}

    @property
    def events(self) -> list[str]:
        return sorted({row.on for row in self.rows})

    @property
    def subjects(self) -> dict[str, str]:
        return {proof["subject"]: f"hash of the {proof['subject']}" for proof in self.proofs.values()}

    def terminal(self, state: str) -> bool:
        return bool(self.states[state].get("terminal"))

    def targeted(self, event: str) -> bool:
        return bool(self.section("events").get(event, {}).get("targeted"))

    def speaking(self, state: str, event: str, kind: str | None = None, to: str | None = None) -> list[Row]:
        """The rows for an event in a state, by one kind of actor or any, to one target or any."""
        return [
            row
            for row in self.rows
            if (row.source, row.on) == (state, event)
            and kind in (None, *row.by)
            and (to is None or row.to in (None, to))
        ]

    def facts_of(self, event: str) -> set[str]:
        return {name for row in self.rows if row.on == event for name in self.named(row.when)} & {
            *self.section("facts")
        }

    def named(self, when: str | None) -> set[str]:
        """The counters, facts, settings and proofs in a condition, and `task` and `held`."""
        return set(re.findall(r"\w+", re.sub(r"'[^']*'", "", when or ""))) - {"and", "or", "not", "limit", "valid"}


def table(raw: Mapping[str, Any]) -> Table:
    """Expand a machine file: lists, `*` and `except`."""
    states = raw["states"]

    def expanded(row: Mapping[str, Any], *, refuses: bool) -> Iterator[Row]:
        excepted = set(row.get("except", []))
        everywhere = [
            name
            for name, state in states.items()
            if not state.get("terminal") and name not in excepted and not any(state.get(flag) for flag in excepted)
        ]
        for source in everywhere if row["from"] == "*" else _listed(row["from"]):
            for to in _listed(row.get("to", None if refuses else source)):
                yield Row(source, to, row["on"], tuple(row["by"]), refuses, row)

    moves = [one for row in raw["transitions"] for one in expanded(row, refuses=False)]
    return Table(raw, (*moves, *(one for row in raw.get("refusals", []) for one in expanded(row, refuses=True))))


def _listed(names: Any) -> list[Any]:
    return names if isinstance(names, list) else [names]


@cache
def shipped_table(name: str) -> Table:
    """The table of a shipped machine."""
    return table(tomllib.loads(definition_path(name).read_text()))


def edited(name: str, **changes: Any) -> Machine:
    """A shipped machine with parts of its form replaced."""
    return compile_machine(replace(load_shipped(name).form, **changes))


def by(kind: str) -> Actor:
    return Actor(ActorKind(kind), f"some {kind}", Channel.TEST)


# Events and snapshots that try a row


def proven(table: Table, state: str, **changes: Any) -> Snapshot:
    """An instance in a state with everything proven, its task selected and its lock held."""
    hashes = {name: table.subjects[proof["subject"]] for name, proof in table.proofs.items()}
    held = HOLDER if table.states[state].get("lock") else None
    return replace(Snapshot(state, subjects=table.subjects, proofs=hashes, task=TASK, holder=held), **changes)


def situations(table: Table, state: str, rows: list[Row], event: str) -> Iterator[tuple[Snapshot, dict[str, str]]]:
    """Every snapshot and every choice of facts between which the rows' conditions could tell."""
    names = {name for row in rows for name in table.named(row.when)} | table.facts_of(event)
    claims = any(row.raw.get("holds") for row in rows)
    choices = [[(name, value) for value in _values(table, name)] for name in sorted(names)]
    for chosen in itertools.product(*choices):
        now = dict(chosen)
        snapshot = proven(table, state, settings={n: v for n, v in now.items() if n in table.section("settings")})
        if not now.get("task", True):
            snapshot = replace(snapshot, task=None)
        if claims:
            snapshot = replace(snapshot, holder=None)
        counts = {_key(table, n, snapshot.task): v for n, v in now.items() if n in table.section("counters")}
        proofs = {name: found for name, found in snapshot.proofs.items() if now.get(name, True)}
        facts = {n: v for n, v in now.items() if n in table.section("facts")}
        yield replace(snapshot, counters=counts, proofs=proofs), facts


def _values(table: Table, name: str) -> list[Any]:
    if name in table.section("counters"):
        counter = table.section("counters")[name]
        start, limit = counter.get("start", 0), counter["limit"]
        return sorted({start, max(start, limit - 1), limit, limit + 1})
    for section in ("facts", "settings"):
        if name in table.section(section):
            return list(table.section(section)[name]["values"])
    return [True, False]


def event_of(
    table: Table, row: Row, kind: str, snapshot: Snapshot, facts: Mapping[str, str], tree: str | None = None
) -> Event:
    """The event of a row, with all that the row asks for; `tree` is the hash of what it proves."""
    subjects = [table.proofs[name]["subject"] for name in row.proofs]
    evidence = Evidence(
        facts=dict(facts),
        subjects={name: tree or snapshot.subjects.get(name, table.subjects[name]) for name in subjects},
        task=TASK if row.raw.get("selects") or row.raw.get("names_task") else None,
        holder=HOLDER,
        data=dict.fromkeys(row.raw.get("needs", []), "given"),
    )
    command = None if kind == "human" else _maker(table, row)
    return Event(row.on, by(kind), row.to if table.targeted(row.on) else None, command, "given", evidence)


def _maker(table: Table, row: Row) -> str | None:
    """A command that makes the row's move, where the row's event is a command's."""
    if "command" in row.raw or row.on not in {one["event"] for one in table.section("intents").values()}:
        return row.raw.get("command")
    offered = {name: one for name, one in table.section("commands").items() if not one.get("internal")}
    for name, one in offered.items():
        lock = one.get("lock")
        if row.source in (*one["inputs"], lock) and row.to in (*one["outputs"], lock):
            return name
    return next((name for name, one in offered.items() if one.get("lock") == row.source), None)


# What must come of it


class _Count(int):
    limit: float


def holds(table: Table, row: Row, snapshot: Snapshot, facts: Mapping[str, str]) -> bool:
    """Whether a row's condition holds: Python's own reading of it."""
    names: dict[str, Any] = {"task": snapshot.task is not None, "held": snapshot.holder is not None}
    for name, counter in table.section("counters").items():
        names[name] = _Count(snapshot.counters.get(_key(table, name, snapshot.task), counter.get("start", 0)))
        names[name].limit = snapshot.settings.get(f"{name}.limit", counter["limit"]) or math.inf
    for name, setting in table.section("settings").items():
        names[name] = snapshot.settings.get(name, setting["default"])
    for name, fact in table.section("facts").items():
        names[name] = facts.get(name, fact.get("default"))
    for name in table.proofs:
        names[name] = SimpleNamespace(valid=name in snapshot.proofs)
    return row.when is None or bool(eval(row.when, {"__builtins__": {}}, names))


def after(table: Table, row: Row, before: Snapshot, event: Event) -> Snapshot:
    """The snapshot that a row leads to, once its effects are done."""
    evidence, raw, to = event.evidence or Evidence(), row.raw, table.states[str(row.to)]
    changed = to.get("changes", [])
    given = {name: evidence.subjects[table.proofs[name]["subject"]] for name in row.proofs}
    proofs = {**before.proofs, **given}
    voided = {name for name in proofs if table.proofs[name]["subject"] in changed} | set(raw.get("voids", []))
    task = evidence.task if raw.get("selects") else before.task
    moved = row.to != row.source
    kept = None if moved or "lock" in raw.get("releases", []) else before.holder
    return replace(
        before,
        state=row.to,
        counters=_counted(table, row, before, event),
        proofs={name: found for name, found in proofs.items() if name not in voided},
        subjects={n: h for n, h in {**before.subjects, **evidence.subjects}.items() if n not in changed},
        task=None if "task" in raw.get("releases", []) else task,
        holder=evidence.holder if raw.get("holds") else kept,
        pending={**before.pending, **({} if "moves" in raw else {one: one for one in raw.get("effects", [])})},
        outcome=raw.get("outcome", to.get("outcome")) if to.get("terminal") else None,
    )


def _counted(table: Table, row: Row, before: Snapshot, event: Event) -> dict[str, int]:
    counters, task = table.section("counters"), (event.evidence or Evidence()).task or before.task
    reset = {name for name, one in counters.items() if event.actor.kind in one.get("reset_by", [])}
    counts = {key: count for key, count in before.counters.items() if key.partition(":")[0] not in reset}
    counts |= {_key(table, name, task): value for name, value in row.raw.get("set", {}).items()}
    for name, more in row.raw.get("count", {}).items():
        key = _key(table, name, task)
        counts[key] = counts.get(key, counters[name].get("start", 0)) + more
    return counts


def _key(table: Table, counter: str, task: str | None) -> str:
    return f"{counter}:{task}" if table.section("counters")[counter].get("per") else counter
