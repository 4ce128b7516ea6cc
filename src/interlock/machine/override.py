"""The ticket machine from a JSON file of the source system's form.

Such a file replaces the states, the edges, the commands and the intents. What Interlock adds for holders,
rework and people stays: an edge that both know keeps our conditions, and nothing that asks for a person asks
for less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.decoding import convert, decode
from interlock.errors import InvalidMachine
from interlock.machine.commands import normalise_command, normalise_intent
from interlock.machine.compile import compile_machine
from interlock.machine.expand import listed, makes
from interlock.machine.form import Command, Intent, MachineForm, RefusalForm, State, TransitionForm
from interlock.machine.load import read_text
from interlock.machine.model import Machine

__all__ = ["WARNINGS", "load_override", "parse_override"]

WARNINGS = frozenset({"unreachable_output", "unreachable_intent", "dead_transition", "no_success"})
"""Findings that are warnings in this form: the source system's own file has them, and it cannot name a success."""

_COMMANDED = frozenset({"handoff", "lock", "release"})
_LEAVING = frozenset({"release", "lock_expired"})


class _SourceState(msgspec.Struct, frozen=True):
    allowed_transitions: list[str]
    description: str = ""
    is_lock_state: bool = False
    is_terminal: bool = False
    requires_human_action: bool = False


class _SourceCommand(msgspec.Struct, frozen=True):
    valid_input_states: list[str]
    valid_output_states: list[str]
    description: str = ""
    lock_state: str | None = None
    valid_input_estimates: list[str] = []
    can_create_tickets: bool = False
    can_modify_blocks: bool = False
    delegates_to: list[str] = []
    modes: list[str] = []
    preconditions: list[str] = []
    postconditions: list[str] = []


class _LockStates(msgspec.Struct, frozen=True):
    states: list[str] = []


class _Source(msgspec.Struct, frozen=True):
    """The part of the source system's file that decides; the rest is documentation."""

    states: dict[str, _SourceState]
    commands: dict[str, _SourceCommand]
    semantic_states: dict[str, Any]
    lock_states: _LockStates = _LockStates()


def load_override(path: Path, base: MachineForm) -> Machine:
    """Load a ticket machine from the source system's JSON; a broken file is an error, never a silent default."""
    return parse_override(read_text(path), str(path), base)


def parse_override(text: str, path: str, base: MachineForm) -> Machine:
    """The same, of the text of a file."""
    try:
        source = decode(text, _Source)
        intents = {
            key: convert(mapping, dict[str, str | None])
            for key, mapping in source.semantic_states.items()
            if key != "description"
        }
    except (msgspec.DecodeError, RecursionError) as error:
        message = f"{path} is no state machine of the source system's form: {error}."
        raise InvalidMachine("machine_invalid", message, "Mend the file or unset RALPH_STATE_MACHINE_CONFIG.") from None
    unknown = [name for name in source.lock_states.states if name not in source.states]
    if unknown:
        message = f"{path}: lock_states names {', '.join(unknown)}, which is no state."
        raise InvalidMachine("machine_invalid", message, "Mend the file or unset RALPH_STATE_MACHINE_CONFIG.")
    return compile_machine(_Merge(base, source, intents).form())


class _Merge:
    def __init__(self, base: MachineForm, source: _Source, intents: dict[str, dict[str, str | None]]) -> None:
        self.base = base
        self.source = source
        self.commands = self._commands(intents.get("__LOCK__", {}))
        self.intents = self._intents(intents)
        self.escalated = self.intents["escalate"].commands.get("*") if "escalate" in self.intents else None
        """Where a ticket waits for a person's help."""

    def form(self) -> MachineForm:
        states = {name: self._state(name, one) for name, one in self.source.states.items()}
        initial = self.base.initial if self.base.initial in states else next(iter(states), self.base.initial)
        return replace(
            self.base,
            description=f"{self.base.description} (overridden)",
            initial=initial,
            starts=[start for start in self.base.starts if start.state in states and start.command in self.commands],
            states=states,
            commands=self.commands,
            intents=self.intents,
            transitions=[*self._kept(), *self._new()],
            refusals=list(self._refusals()),
        )

    def _state(self, name: str, one: _SourceState) -> State:
        known = self.base.states.get(name, State())
        outcome = known.outcome or re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        return replace(
            known,
            description=one.description,
            lock=not one.is_terminal and (one.is_lock_state or name in self.source.lock_states.states),
            human=not one.is_terminal and one.requires_human_action,
            terminal=one.is_terminal,
            outcome=outcome if one.is_terminal else None,
        )

    def _commands(self, locks: dict[str, str | None]) -> dict[str, Command]:
        own = {
            normalise_command(name): Command(
                description=one.description,
                inputs=one.valid_input_states,
                outputs=one.valid_output_states,
                lock=one.lock_state or locks.get(name),
                estimates=one.valid_input_estimates,
                can_create_tickets=one.can_create_tickets,
                can_modify_blocks=one.can_modify_blocks,
                delegates_to=[normalise_command(other) for other in one.delegates_to],
                modes=one.modes,
                preconditions=one.preconditions,
                postconditions=one.postconditions,
                requires=self._known(name).requires,  # the file tells it in words only
                creates=self._known(name).creates,
            )
            for name, one in self.source.commands.items()
        }
        internal = {name: one for name, one in self.base.commands.items() if one.internal}
        usable = {
            name: one for name, one in internal.items() if {*one.inputs, *one.outputs} <= self.source.states.keys()
        }
        return {**own, **usable}

    def _known(self, name: str) -> Command:
        """Our command of that name, or one that says nothing."""
        return self.base.commands.get(normalise_command(name), Command("", [], []))

    def _intents(self, given: dict[str, dict[str, str | None]]) -> dict[str, Intent]:
        intents: dict[str, Intent] = {}
        for key, mapping in given.items():
            name = normalise_intent(key)
            known = self.base.intents.get(name)
            named = {"*" if one == "*" else normalise_command(one): target for one, target in mapping.items()}
            intents[name] = Intent(
                description=known.description if known else name,
                event=known.event if known else "handoff",
                commands={one: target for one, target in named.items() if target is not None},
                ambiguous=[one for one, target in named.items() if target is None],
            )
        release = self.base.intents["release"]
        mapped = {
            name: target
            for name, target in release.commands.items()
            if name in self.commands and target in self.source.states
        }
        intents["release"] = replace(release, commands=mapped)
        return intents

    # Rows

    def _edges(self) -> Iterator[tuple[str, str]]:
        for name, state in self.source.states.items():
            for target in state.allowed_transitions:
                yield name, target

    def _kept(self) -> Iterator[TransitionForm]:
        """Our rows for edges that the file has too, and our rows about holders, threads and receipts."""
        states, edges = self.source.states, set(self._edges())
        for row in self.base.transitions:
            if row.command is not None and row.command not in self.commands:
                continue
            for source in listed(row.source):
                for to in listed(row.to) or [source]:
                    in_graph = row.on != "handoff" or (source, to) in edges
                    if row.on in _LEAVING and to not in states and self.escalated is not None:
                        to = self.escalated  # a lock that could not end would be a trap
                    if source in states and to in states and in_graph:
                        yield from self._by_whom_it_can(replace(row, source=source, to=to))

    def _new(self) -> Iterator[TransitionForm]:
        """The file's edges that we do not know; out of where work is escalated to, only people lead."""
        ours = self._our_edges()
        for source, to in self._edges():
            if (source, to) in ours:
                continue
            by_people = TransitionForm(on="handoff", by=["human"], source=source, to=to)
            yield by_people
            if source != self.escalated:
                counted = replace(by_people, by=["agent"], when="rework < rework.limit", count={"rework": 1})
                backward = self._order(to) <= self._order(source)
                yield from self._by_whom_it_can(counted if backward else replace(by_people, by=["agent"]))

    def _our_edges(self) -> set[tuple[str, str]]:
        """The edges that our table has as a handoff or as the claim of a lock."""
        rows = [row for row in self.base.transitions if row.on in ("handoff", "lock")]
        return {(source, to) for row in rows for source in listed(row.source) for to in listed(row.to)}

    def _refusals(self) -> Iterator[RefusalForm]:
        """Our refusals of edges that the file has, and one for each new edge that sends work back too often."""
        edges, ours = set(self._edges()), self._our_edges()
        for row in self.base.refusals:
            for source in listed(row.source):
                if source in self.source.states and (row.to is None or (source, row.to) in edges):
                    yield replace(row, source=source)
        because = "the ticket was sent back too often; use the intent escalate"
        for new in self._new():
            if new.count and (str(new.source), str(new.to)) not in ours:
                when = "rework >= rework.limit"
                yield RefusalForm("handoff", ["agent"], new.source, because, str(new.to), when)

    def _order(self, state: str) -> int:
        order = list(self.source.states)
        return order.index(state) if state in order else len(order)

    def _by_whom_it_can(self, row: TransitionForm) -> Iterator[TransitionForm]:
        """The row without the agents, where no command makes the move."""
        source, to = str(row.source), str(row.to)
        if "agent" in row.by and row.on in _COMMANDED and not row.command:
            offered = [command for command in self.commands.values() if not command.internal]
            if not any(makes(command, self.intents, row, source, to) for command in offered):
                row = replace(row, by=[kind for kind in row.by if kind != "agent"])
        if row.by:
            yield row
