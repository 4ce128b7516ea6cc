"""A machine as text that other tools draw: a Mermaid state diagram, and the JSON of an XState machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from interlock.machine.form import State
from interlock.machine.model import Machine, Transition

__all__ = ["DiagramEdge", "edges", "mermaid", "xstate"]


class DiagramEdge(msgspec.Struct, frozen=True):
    """All transitions from one state to another, drawn as one."""

    source: str
    to: str
    transitions: tuple[Transition, ...]

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(transition.on for transition in self.transitions))

    @property
    def gates(self) -> frozenset[str]:
        """The events that pass a gate."""
        return frozenset(transition.on for transition in self.transitions if transition.gate)

    @property
    def added(self) -> bool:
        """The seed's table has none of it."""
        return all(transition.added for transition in self.transitions)

    def by(self, event: str | None = None) -> frozenset[str]:
        """Who may take it, or fire the one event."""
        return frozenset(kind for one in self.transitions if event in (None, one.on) for kind in one.by)


def edges(machine: Machine) -> tuple[DiagramEdge, ...]:
    """The edges of a machine, one for each pair of states, in the order of its table."""
    pairs: dict[tuple[str, str], list[Transition]] = {}
    for transition in machine.transitions:
        pairs.setdefault((transition.source, transition.to), []).append(transition)
    return tuple(DiagramEdge(source, to, tuple(found)) for (source, to), found in pairs.items())


# Mermaid

_RESERVED = re.compile(
    "accdescr|acctitle|as|choice|class|classdef|click|constructor|default|direction|end|fork|hasownproperty|hide|href|"
    "isprototypeof|join|note|phase_.*|propertyisenumerable|root|scale|state|statediagram|style|to(locale)?string|valueof",
    re.IGNORECASE,
)
"""Words that Mermaid reads as its own, or that its renderer stumbles over."""
_ENTITIES = {"#": "#35;", ";": "#59;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "%": "#37;", "\\": "#92;"}
_KEYWORDS = re.compile(r"\b(end|direction)\s+(?=note|TB|BT|RL|LR)", re.IGNORECASE)


def mermaid(machine: Machine) -> str:
    """The machine as a Mermaid `stateDiagram-v2`, with a block for each phase and every edge."""
    ids = _ids(machine.states)
    phases: dict[str | None, list[str]] = {}
    for name, state in machine.states.items():
        phases.setdefault(_text(state.phase or "") or None, []).append(name)
    of = {name: phase for phase, names in phases.items() for name in names}
    within: dict[str | None, list[str]] = {}
    for edge in edges(machine):
        phase = of[edge.source] if of[edge.source] == of[edge.to] else None
        within.setdefault(phase, []).append(_arrow(edge, ids))
    lines = [f"[*] --> {ids[machine.form.initial]}"]
    lines += [f"[*] --> {ids[one.state]}" + (f": {one.command}" if one.command else "") for one in machine.form.starts]
    for number, (phase, names) in enumerate(phases.items(), 1):
        body = [_declared(machine, name, ids) for name in names]
        if phase is None:
            lines += body
        else:
            lines += [f'state "{phase}" as phase_{number} {{', *_indented([*body, *within.get(phase, [])]), "}"]
    lines += within.get(None, [])
    lines += [f"{ids[name]} --> [*]" for name, state in machine.states.items() if state.terminal]
    lines += [line for name, state in machine.states.items() for line in _note(ids[name], state)]
    return "\n".join(["stateDiagram-v2", *_indented(lines)]) + "\n"


def _ids(names: Mapping[str, State]) -> dict[str, str]:
    """An id for each state that Mermaid reads as one word and as no word of its own."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        word = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if _RESERVED.fullmatch(word):
            word = f"{word}_"
        number = 1
        unique = word
        while unique.lower() in taken:
            number += 1
            unique = f"{word}_{number}"
        taken.add(unique.lower())
        ids[name] = unique
    return ids


def _declared(machine: Machine, name: str, ids: Mapping[str, str]) -> str:
    label = _text(machine.label(name)) or name
    return ids[name] if label == ids[name] else f'state "{label}" as {ids[name]}'


def _arrow(edge: DiagramEdge, ids: Mapping[str, str]) -> str:
    events = [f"{event} (gate)" if event in edge.gates else event for event in edge.events]
    return f"{ids[edge.source]} --> {ids[edge.to]}: {' / '.join(events)}"


def _note(name: str, state: State) -> Iterator[str]:
    notes = [text for text in map(_text, state.notes) if text]
    if notes:
        yield from [f"note right of {name}", *_indented(notes), "end note"]


def _text(text: str) -> str:
    """Free text on one line, with what Mermaid would read as its own written as an entity."""
    words = _KEYWORDS.sub(r"\1-", " ".join(text.split()))
    return "".join(_ENTITIES.get(character, character) for character in words if character.isprintable())


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


# XState


def xstate(machine: Machine) -> dict[str, Any]:
    """The machine as the configuration of an XState v5 `createMachine`, ready for JSON.

    A guard is the text of `when`. Who may fire an event, and the gate it passes, stand in `meta`: XState knows
    no actors.
    """
    form = machine.form
    return {
        "id": form.name,
        "version": str(form.version),
        "description": form.description,
        "initial": form.initial,
        "context": {name: counter.start for name, counter in form.counters.items()},
        "states": {name: _state_node(machine, name) for name in machine.states},
    }


def _state_node(machine: Machine, name: str) -> dict[str, Any]:
    state = machine.states[name]
    on: dict[str, list[Transition]] = {}
    for transition, _ in machine.outgoing[name]:
        on.setdefault(transition.on, []).append(transition)
    flags = {"human": state.human, "lock": state.lock, "terminal": state.terminal}
    shown = ("phase", "owner", "icon", "color", "outcome", "notes")
    node: dict[str, Any] = {
        "description": state.description,
        "tags": [tag for tag, holds in flags.items() if holds],
        "meta": {"label": machine.label(name), **_given(state, shown)},
    }
    if state.terminal:
        return {"type": "final", **node}
    return {**node, "on": {event: _candidates(machine, found) for event, found in on.items()}}


def _candidates(machine: Machine, transitions: Sequence[Transition]) -> list[dict[str, Any]]:
    """The guarded ones first: XState takes the first that holds."""
    return [_candidate(machine, one) for one in sorted(transitions, key=lambda one: one.when is None)]


def _candidate(machine: Machine, transition: Transition) -> dict[str, Any]:
    shown = ("gate", "receipt", "needs", "requires", "voids", "count", "set", "commands", "added")
    meta: dict[str, Any] = {"by": list(transition.by), **_given(transition, shown)}
    if transition.on in machine.targets:
        meta["targeted"] = True
    return {
        "target": transition.to,
        **({"guard": transition.when} if transition.when else {}),
        **({"actions": list(transition.effects)} if transition.effects else {}),
        **({"description": transition.trigger} if transition.trigger else {}),
        "meta": meta,
    }


def _given(value: State | Transition, names: Sequence[str]) -> dict[str, Any]:
    """The named fields that say something, as JSON knows them."""
    fields = {name: getattr(value, name) for name in names}
    return {name: list(found) if isinstance(found, tuple) else found for name, found in fields.items() if found}
