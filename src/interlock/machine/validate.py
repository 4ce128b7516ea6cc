"""What is wrong with a machine's form: every problem at once, in the words of its file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from interlock.machine.expand import listed, makes, sources
from interlock.machine.form import NAME, WORD, MachineForm, RefusalForm, State, TransitionForm
from interlock.machine.model import BUILTIN
from interlock.machine.terms import Conditions

__all__ = ["problems"]

_MAX_COUNT = 1_000_000


def problems(form: MachineForm, conditions: Conditions) -> list[str]:
    """Every reason why a form describes no machine."""
    rows: list[TransitionForm | RefusalForm] = [*form.transitions, *form.refusals]
    return [
        *_names(form),
        *(f"{name!r} is the name of two things" for name in conditions.doubled),
        *_defaults(form),
        *(problem for name, state in form.states.items() for problem in _state(form, name, state)),
        *(problem for row in rows for problem in _row(form, row, conditions)),
        *(problem for row in form.transitions for problem in _transition(form, row)),
        *_awaited(form),
        *_commands(form),
    ]


def _names(form: MachineForm) -> Iterator[str]:
    tables: list[Iterable[str]] = [form.counters, form.gates, form.receipts, form.facts, form.settings]
    tables += [form.commands, form.intents, form.events, [form.name], [row.on for row in form.transitions]]
    for name in dict.fromkeys(name for table in tables for name in table):
        if not WORD.fullmatch(name):
            yield f"{name[:80]!r} is no name: use a-z, 0-9 and _, at most 64"
    for name in form.states:
        if not NAME.fullmatch(name):
            yield f"states: {name[:80]!r} is no name of a state: use letters, digits, spaces, - and _, at most 64"
    if form.never_ends and any(state.terminal for state in form.states.values()):
        yield "`never_ends` says that there is no end, and a state is terminal"
    for name in form.gates.keys() & form.receipts.keys():
        yield f"{name!r} is both a gate and a receipt"
    yield from _unknown(form.states, "initial", [form.initial])
    yield from _unknown(form.states, "starts", [start.state for start in form.starts])
    begins = [name for name in [form.initial, *(start.state for start in form.starts)] if name in form.states]
    yield from (f"{name!r} is terminal, and nothing begins there" for name in begins if form.states[name].terminal)
    told = [name for parent in form.parents for name in [*parent.enters, *parent.leaves]]
    yield from _unknown(form.states, "parents", told)


def _unknown(states: Collection[str], where: str, names: Iterable[str]) -> Iterator[str]:
    yield from (f"{where}: there is no state {name[:80]!r}" for name in names if name not in states)


def _defaults(form: MachineForm) -> Iterator[str]:
    for name, counter in form.counters.items():
        if not 0 <= counter.start <= _MAX_COUNT or not 0 <= counter.limit <= _MAX_COUNT:
            yield f"counters.{name}: `start` and `limit` are numbers from 0 to {_MAX_COUNT}"
    for name, setting in form.settings.items():
        if setting.default not in setting.values:
            yield f"settings.{name}: the default {setting.default!r} is none of its values"
    for name, fact in form.facts.items():
        if not fact.values or (fact.default is not None and fact.default not in fact.values):
            yield f"facts.{name}: it has no values, or its default is none of them"


def _state(form: MachineForm, name: str, state: State) -> Iterator[str]:
    subjects = {proof.subject for proof in [*form.gates.values(), *form.receipts.values()]}
    for subject in state.changes:
        if subject not in subjects:
            yield f"states.{name}: nothing is proven of {subject!r}, so `changes` means nothing"
    if state.outcome and not state.terminal:
        yield f"states.{name}: only a terminal state has an outcome"
    if state.terminal and (state.human or state.lock):
        yield f"states.{name}: a terminal state is no lock and waits for nobody"
    events = {row.on for row in form.transitions}
    for item in state.menu:
        if item.on and item.on not in events:
            yield f"states.{name}: the menu names the event {item.on!r}, which does not exist"
    if state.terminal and (state.driven or state.pause or state.tree or state.next):
        yield f"states.{name}: a terminal state has no driver, no pause, no work tree and no next command"
    yield from _pause(form, name, state)


def _pause(form: MachineForm, name: str, state: State) -> Iterator[str]:
    """The events of `pause` follow one another, and people as well as the system may fire them."""
    here = {name}
    for event in state.pause:
        rows = [row for row in form.transitions if row.on == event and here & set(sources(form, row))]
        here = {to for row in rows if {"human", "system"} <= set(row.by) for to in listed(row.to)}
        if not here:
            yield f"states.{name}: `pause` names {event!r}, which people and the system do not have there"
            return


def _row(form: MachineForm, row: TransitionForm | RefusalForm, conditions: Conditions) -> Iterator[str]:
    where = f"{row.on} from {row.source}"
    yield from _unknown(form.states, where, [name for name in row.except_ if name not in ("lock", "human")])
    yield from _unknown(form.states, where, listed(row.to))
    if row.source != "*":
        yield from _unknown(form.states, where, listed(row.source))
        ended = [name for name in listed(row.source) if name in form.states and form.states[name].terminal]
        yield from (f"{where}: {name!r} is terminal, nothing leads out of it" for name in ended)
        if row.except_:
            yield f"{where}: `except` goes with from = '*'"
    if row.on in BUILTIN:
        yield f"{row.on!r} is an event that every machine has; call yours something else"
    if not row.by or len(set(row.by)) != len(row.by):
        yield f"{where}: `by` names nobody, or an actor twice"
    fault = conditions.fault(row.when)
    if fault:
        yield f"{where}: {fault}"


def _transition(form: MachineForm, row: TransitionForm) -> Iterator[str]:
    where = f"{row.on} from {row.source}"
    known: list[tuple[str, Collection[str], Iterable[str]]] = [
        ("gate", form.gates, [row.gate] if row.gate else []),
        ("receipt", form.receipts, [row.receipt] if row.receipt else []),
        ("requires", [*form.gates, *form.receipts], row.requires),
        ("voids", [*form.gates, *form.receipts], row.voids),
        ("count", form.counters, row.count),
        ("set", form.counters, row.set),
        ("command", form.commands, [row.command] if row.command else []),
    ]
    for field, names, given in known:
        missing = [name for name in given if name not in names]
        yield from (f"{where}: `{field}` names {name!r}, which does not exist" for name in missing)
    targeted = row.on in form.events and form.events[row.on].targeted
    if isinstance(row.to, list) and not targeted:
        yield f"{where}: several targets need [events.{row.on}] with targeted = true"
    if row.moves == "after_effects" and (not row.effects or row.holds or targeted):
        yield f"{where}: a move after effects needs effects, claims no lock, and its event names no target"


def _awaited(form: MachineForm) -> Iterator[str]:
    """Two moves after effects with the same ends and event: a snapshot could not say which it waits for."""
    seen: set[tuple[str, str, str]] = set()
    for row in form.transitions:
        if row.moves != "after_effects":
            continue
        for edge in [(source, row.on, to) for source in sources(form, row) for to in listed(row.to) or [source]]:
            if edge in seen:
                yield f"{row.on} from {edge[0]!r} to {edge[2]!r}: two rows move there after effects; make it one"
            seen.add(edge)


def _commands(form: MachineForm) -> Iterator[str]:
    for name, command in form.commands.items():
        states = [*command.inputs, *command.outputs, *listed(command.lock)]
        yield from _unknown(form.states, f"commands.{name}", states)
        for other in command.delegates_to:
            if other not in form.commands:
                yield f"commands.{name}: it delegates to {other!r}, which does not exist"
    for start in form.starts:
        if start.command is not None and start.command not in form.commands:
            yield f"starts: there is no command {start.command!r}"
    events = {row.on for row in form.transitions}
    for name, intent in form.intents.items():
        yield from _unknown(form.states, f"intents.{name}", intent.commands.values())
        for command_name in [*(intent.commands.keys() - {"*"}), *intent.ambiguous, *intent.unsupported]:
            if command_name not in form.commands:
                yield f"intents.{name}: there is no command {command_name!r}"
        if intent.event not in events:
            yield f"intents.{name}: there is no event {intent.event!r}"
    yield from _unmade(form)


def _unmade(form: MachineForm) -> Iterator[str]:
    """Moves that are an agent's by the table, and that no command makes."""
    commanded = {intent.event for intent in form.intents.values()}
    offered = [command for command in form.commands.values() if not command.internal]
    for row in form.transitions:
        if row.on not in commanded or "agent" not in row.by or row.command:
            continue
        for source in sources(form, row):
            for to in listed(row.to) or [source]:
                if not any(makes(command, form.intents, row, source, to) for command in offered):
                    yield f"{row.on} from {source!r} to {to!r}: no command makes this move, so an agent never can"
