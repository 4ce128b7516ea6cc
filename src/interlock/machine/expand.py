"""The rows of a table, taken apart into single edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from interlock.machine.form import Command, Intent, MachineForm, RefusalForm, TransitionForm
from interlock.machine.model import Transition

__all__ = ["listed", "makes", "sources", "transitions"]


def listed(names: str | list[str] | None) -> list[str]:
    """One name, several or none, as a list."""
    return [] if names is None else [names] if isinstance(names, str) else names


def sources(form: MachineForm, row: TransitionForm | RefusalForm) -> list[str]:
    """The states that a row leads from; `*` is every one that has not ended and is not excepted."""
    if row.source != "*":
        return listed(row.source)
    return [
        name
        for name, state in form.states.items()
        if not state.terminal
        and name not in row.except_
        and not (state.lock and "lock" in row.except_)
        and not (state.human and "human" in row.except_)
    ]


def transitions(form: MachineForm) -> Iterator[Transition]:
    """Every edge of a machine, in the order of its file."""
    for row in form.transitions:
        for source in sources(form, row):
            for to in listed(row.to) or [source]:
                yield _transition(form, row, source, to)


def _transition(form: MachineForm, row: TransitionForm, source: str, to: str) -> Transition:
    return Transition(
        source=source,
        to=to,
        on=row.on,
        by=tuple(row.by),
        gate=row.gate,
        receipt=row.receipt,
        when=row.when,
        added=row.added,
        needs=tuple(row.needs),
        requires=tuple(row.requires),
        voids=tuple(row.voids),
        count=row.count,
        set=row.set,
        selects=row.selects is not None,
        names_task=row.names_task,
        releases=tuple(row.releases),
        holds=row.holds,
        any_holder=row.any_holder,
        commands=tuple(_commands(form, row, source, to)),
        effects=tuple(row.effects),
        after_effects=row.moves == "after_effects",
        outcome=row.outcome,
        off_path=row.off_path,
        progress=row.progress,
        trigger=row.trigger,
        action=row.action,
    )


def _commands(form: MachineForm, row: TransitionForm, source: str, to: str) -> list[str]:
    if row.command:
        return [row.command]
    if not any(intent.event == row.on for intent in form.intents.values()):
        return []
    offered = {name: command for name, command in form.commands.items() if not command.internal}
    return [name for name, command in offered.items() if makes(command, form.intents, row, source, to)]


def makes(command: Command, intents: Mapping[str, Intent], row: TransitionForm, source: str, to: str) -> bool:
    """Whether a command makes a move: it claims its lock, gives it back, or produces an output."""
    begins = source in command.inputs
    inside = source == command.lock
    if row.holds:
        return to == command.lock and (begins or inside)
    if "lock" in row.releases:
        return inside
    from_anywhere = {intent.commands["*"] for intent in intents.values() if "*" in intent.commands}
    return to in command.outputs and (inside or (begins and (command.lock is None or to in from_anywhere)))
