"""A machine, and what the checker says of it, as a picture in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from interlock.decoding import convert
from interlock.faces.cli.looks import shade
from interlock.faces.cli.output import one_line
from interlock.machine import Machine, Transition
from interlock.machine.check import CheckReport, Finding
from interlock.machine.compile import compile_machine
from interlock.machine.form import MachineForm

__all__ = ["show_machine", "show_report"]

_COLUMNS = 4
_ACTORS = {"human": ("person", "green"), "agent": ("agent", "yellow"), "system": ("system", "cyan")}


def show_machine(console: Console, machine: Machine) -> None:
    """A machine from its name to its last command; what its file says is shown without control characters."""
    machine = _cleaned(machine)
    form = machine.form
    console.print()
    console.print(Text.assemble((f" {form.name} ", "bold reverse"), "  ", (form.description, "bold")))
    enforced = "refuses what is off its table" if form.enforcement == "strict" else "records what is off its table"
    facts = (
        f"version {form.version} · {len(machine.states)} states · {len(machine.transitions)} transitions · {enforced}"
    )
    console.print(Text(facts, "dim"))
    phase = None
    for name, state in machine.states.items():
        if state.phase and state.phase != phase:
            phase = state.phase
            _show_heading(console, phase)
        _show_state(console, machine, name)
    _show_terms(console, machine)
    _show_commands(console, machine)


def _cleaned(machine: Machine) -> Machine:
    told: MachineForm = convert(_each_cleaned(msgspec.to_builtins(machine.form)), MachineForm)
    return compile_machine(told)


def _each_cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {one_line(key): _each_cleaned(one) for key, one in value.items()}
    return [_each_cleaned(one) for one in value] if isinstance(value, list | tuple) else value


def _show_heading(console: Console, text: str) -> None:
    console.print()
    console.print(Rule(Text(text, "bold"), align="left", style="dim"))


def _show_state(console: Console, machine: Machine, name: str) -> None:
    state = machine.states[name]
    color = shade(state) or "default"
    title = Text.assemble((f"{state.icon or '•'} {machine.label(name)}", f"bold {color}"))
    if state.label and state.label != name:
        title.append(f" {name}", "dim")
    flags = [("◀ begins here", name == machine.form.initial), ("waits for a person", state.human)]
    flags += [("lock", state.lock), (f"ends: {state.outcome}", state.terminal)]
    for flag, is_so in flags:
        if is_so:
            title.append(f"  {flag}", "italic dim")
    console.print()
    console.print(title)
    details = [state.description, state.duration and f"typically {state.duration}", state.owner and f"by {state.owner}"]
    console.print(Text(f"  {' · '.join(one for one in details if one)}", "dim"), soft_wrap=True)
    table = Table.grid(padding=(0, 1))
    for column in range(_COLUMNS):
        table.add_column(no_wrap=column < _COLUMNS - 1)
    for transition, _ in machine.outgoing[name]:
        table.add_row(*_cells(machine, transition))
    if table.row_count:
        console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _cells(machine: Machine, transition: Transition) -> tuple[Text, Text, Text, Text]:
    target = machine.states[transition.to]
    color = shade(target) or "default"
    gate = Text(f"◈ {transition.on}", "bold red") if transition.gate else Text(f"  {transition.on}", "bold")
    arrow = Text("↻ stays", "dim") if transition.stays else Text.assemble("→ ", (machine.label(transition.to), color))
    who = Text(", ").join(Text(*_ACTORS[kind]) for kind in transition.by)
    return gate, arrow, who, Text("; ".join(_remarks(transition)), "dim")


def _remarks(transition: Transition) -> Iterable[str]:
    remarks = (
        ("when", transition.when),
        ("gate", transition.gate),
        ("gives", transition.receipt),
        ("requires", transition.requires),
        ("needs", transition.needs),
        ("counts", transition.count),
        ("by", transition.commands),
        ("does", transition.effects),
    )
    for word, value in remarks:
        if value:
            yield f"{word} {value if isinstance(value, str) else ', '.join(value)}"
    if transition.added:
        yield "added"


def _show_terms(console: Console, machine: Machine) -> None:
    form = machine.form
    table = Table.grid(padding=(0, 2))
    for name, counter in form.counters.items():
        kept = f"from {counter.start}, limit {counter.limit}" + (f", per {counter.per}" if counter.per else "")
        table.add_row(Text("counter", "dim"), Text(name, "bold"), kept, Text(counter.description, "dim"))
    for kind, proofs in (("gate", form.gates), ("receipt", form.receipts)):
        for name, proof in proofs.items():
            needed = ", required for success" if proof.required_for else ""
            table.add_row(
                Text(kind, "dim"), Text(name, "bold"), f"of the {proof.subject}{needed}", Text(proof.description, "dim")
            )
    for name, fact in form.facts.items():
        table.add_row(Text("fact", "dim"), Text(name, "bold"), ", ".join(fact.values), Text(fact.description, "dim"))
    for name, setting in form.settings.items():
        values = ", ".join(setting.values)
        table.add_row(
            Text("setting", "dim"),
            Text(name, "bold"),
            f"{values} ({setting.default})",
            Text(setting.description, "dim"),
        )
    if table.row_count:
        _show_heading(console, "What it counts, asks and knows")
        console.print(table)


def _show_commands(console: Console, machine: Machine) -> None:
    form = machine.form
    if not form.commands:
        return
    _show_heading(console, "Commands")
    table = Table.grid(padding=(0, 2))
    for name, command in form.commands.items():
        lock = f" [{command.lock}] →" if command.lock else ""
        sizes = f" ({', '.join(command.estimates)})" if command.estimates else ""
        way = f"{', '.join(command.inputs)} →{lock} {', '.join(command.outputs)}{sizes}"
        table.add_row(Text(name, "bold"), Text(way), Text("internal" if command.internal else "", "dim"))
    console.print(table)
    _show_heading(console, "Intents")
    table = Table.grid(padding=(0, 2))
    for name, intent in form.intents.items():
        meant = ", ".join(f"{command} → {target}" for command, target in intent.commands.items())
        table.add_row(Text(name, "bold"), Text(intent.description, "dim"), Text(meant))
    console.print(table)


def show_report(console: Console, report: CheckReport, warnings: set[str]) -> None:
    """What the checker looked at, took on trust, and found."""
    faults = [one for one in report.findings if one.code not in warnings]
    mark = Text("✗", "bold red") if faults else Text("✓", "bold green")
    counted = f"{report.configurations:,} configurations, {report.moves:,} moves explored"
    size = f"{report.states} states, {report.transitions} transitions"
    console.print(Text.assemble(mark, " ", (report.machine, "bold"), f"  {size}: {counted}"))
    for finding in report.findings:
        _show_finding(console, finding, finding.code in warnings)
    for assumption in report.assumptions:
        console.print(Text(f"    assumed: {assumption}", "dim"), soft_wrap=True)


def _show_finding(console: Console, finding: Finding, is_warning: bool) -> None:
    style = "yellow" if is_warning else "bold red"
    console.print(Text.assemble("  ", (finding.code, style), f"  {finding.message}"), soft_wrap=True)
    if finding.begins:
        console.print(Text(f"        begins {finding.begins}"), soft_wrap=True)
    for number, move in enumerate(finding.path, 1):
        console.print(Text(f"    {number:>2}. {move}"), soft_wrap=True)
