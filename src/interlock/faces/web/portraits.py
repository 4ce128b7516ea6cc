"""A machine as a page shows it: plain values that can be sent from one process to another, and nothing to decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from interlock.machine import Machine, Transition
from interlock.machine.check import CheckReport
from interlock.machine.form import MachineForm

__all__ = ["portrait_of", "report_of"]

Row = tuple[str, ...]


def portrait_of(machine: Machine) -> dict[str, Any]:
    """What a machine's file says: its name and size, its states, and its tables."""
    form = machine.form
    return {
        "name": form.name,
        "description": form.description,
        "version": form.version,
        "digest": machine.digest,
        "enforcement": form.enforcement,
        "initial": form.initial,
        "size": f"{len(machine.states)} states, {len(machine.transitions)} transitions",
        "states": [_state(machine, name) for name in machine.states],
        "tables": [table for table in _tables(machine) if table["rows"]],
    }


def _state(machine: Machine, name: str) -> dict[str, Any]:
    state = machine.states[name]
    flags = {
        "begins here": name == machine.form.initial,
        "waits for a person": state.human,
        "owned by one holder": state.lock,
        f"ends: {state.outcome}": state.terminal,
    }
    return {
        "name": name,
        "label": state.label or name,
        "icon": state.icon or "",
        "color": state.color or "gray",
        "phase": state.phase or "",
        "description": state.description,
        "flags": [words for words, is_so in flags.items() if is_so],
    }


def _table_of(title: str, columns: Row, rows: Iterable[Row]) -> dict[str, Any]:
    """A table: its title, its columns and its rows, all of text."""
    return {"title": title, "columns": columns, "rows": list(rows)}


def _tables(machine: Machine) -> Iterator[dict[str, Any]]:
    form = machine.form
    columns = ("From", "Event", "To", "By", "Under which conditions, and what it does")
    yield _table_of("Transitions", columns, (_transition(one) for one in machine.transitions))
    yield _table_of("Refusals", ("From", "Event", "By", "Because"), _refusals(form))
    yield _table_of("Gates and receipts", ("", "Name", "Of the", "Needed for", "What it is"), _proofs(form))
    counters = (
        (name, str(one.start), str(one.limit) if one.limit else "none", one.per or "", one.description)
        for name, one in form.counters.items()
    )
    yield _table_of("Counters", ("Name", "From", "Limit", "Per", "What it counts"), counters)
    facts = ((name, ", ".join(one.values), one.description) for name, one in form.facts.items())
    yield _table_of("Facts that decide", ("Name", "Values", "What it says"), facts)
    settings = ((name, ", ".join(one.values), one.default, one.description) for name, one in form.settings.items())
    yield _table_of("Settings", ("Name", "Values", "Default", "What it does"), settings)
    commands = (
        (name, ", ".join(one.inputs), one.lock or "", ", ".join(one.outputs), one.description)
        for name, one in form.commands.items()
    )
    yield _table_of("Commands", ("Name", "From", "Lock", "To", "What it does"), commands)
    intents = (
        (name, ", ".join(f"{command} → {to}" for command, to in one.commands.items()), one.description)
        for name, one in form.intents.items()
    )
    yield _table_of("Intents", ("Name", "What commands mean by it", "What it says"), intents)


def _transition(one: Transition) -> Row:
    return one.source, one.on, "stays" if one.stays else one.to, ", ".join(one.by), "; ".join(_conditions(one))


def _conditions(one: Transition) -> Iterator[str]:
    told: dict[str, str | None] = {
        "when": one.when,
        "gate": one.gate,
        "gives": one.receipt,
        "needs": ", ".join(one.needs),
        "requires": ", ".join(one.requires),
        "voids": ", ".join(one.voids),
        "counts": ", ".join(one.count),
        "sets": ", ".join(f"{name} = {number}" for name, number in one.set.items()),
        "by the command": ", ".join(one.commands),
        "does": ", ".join(one.effects),
        "added:": one.added,
    }
    yield from (f"{word} {text}" for word, text in told.items() if text)
    if one.after_effects:
        yield "moves when that is done"


def _refusals(form: MachineForm) -> Iterator[Row]:
    for one in form.refusals:
        source = one.source if isinstance(one.source, str) else ", ".join(one.source)
        to = f" to {one.to}" if one.to else ""
        when = f" when {one.when}" if one.when else ""
        yield source, f"{one.on}{to}{when}", ", ".join(one.by), one.because


def _proofs(form: MachineForm) -> Iterator[Row]:
    for kind, proofs in (("gate", form.gates), ("receipt", form.receipts)):
        for name, one in proofs.items():
            yield kind, name, one.subject, one.required_for or "", one.description


def report_of(report: CheckReport, warnings: Iterable[str] = ()) -> Mapping[str, Any]:
    """What the checker found; findings that are only warnings are marked."""
    told: dict[str, Any] = msgspec.to_builtins(report)
    softer = set(warnings)
    for finding in told["findings"]:
        finding["is_warning"] = finding["code"] in softer
    told["faults"] = sum(not finding["is_warning"] for finding in told["findings"])
    return told
