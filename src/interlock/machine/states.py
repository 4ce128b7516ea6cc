"""What a state means for whoever drives an instance or shows it, by its flags and by the rows that lead out of it.

An instance keeps the definition that it began with, which may be older than a flag. So flags are read from the shipped
definition, and rows from the instance's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.machine.expand import sources
from interlock.machine.form import State, TransitionForm
from interlock.machine.load import load_shipped
from interlock.machine.model import Machine, Rule
from interlock.machine.values import ActorKind, Evidence, Snapshot

__all__ = ["left_to_person", "only_gate", "onward_event", "pauses", "rows_from", "shipped_state", "target_of"]


def shipped_state(machine: str, state: str) -> State:
    """A state of a shipped machine with its flags; one that the machine no longer has is without any."""
    return load_shipped(machine).states.get(state) or State()


def pauses(machine: str, state: str, event: str) -> bool:
    """True if an event is one of those that pause a state."""
    return event in shipped_state(machine, state).pause


def target_of(machine: Machine, state: str, event: str, kind: ActorKind = ActorKind.HUMAN) -> str | None:
    """The state that an event leads to from a state; None if it is not in the table for that kind of actor."""
    rules = machine.rules.get((state, event, kind), ())
    return next((rule.transition.to for rule in rules if rule.transition is not None), None)


def rows_from(machine: Machine, state: str) -> list[TransitionForm]:
    """The rows that lead out of a state, without making the machine's whole table."""
    return [row for row in machine.form.transitions if state in sources(machine.form, row)]


def only_gate(machine: Machine, state: str) -> str | None:
    """The event that passes the gate of a state; None without a gate, or if several ways lead through it."""
    events = {row.on for row in rows_from(machine, state) if row.gate}
    return events.pop() if len(events) == 1 else None


def onward_event(machine: Machine, state: str) -> str | None:
    """The event by which the system or, with other settings, a person continues from a state."""
    return next((event for event, _ in _by_settings(machine, state)), None)


def left_to_person(machine: Machine, snapshot: Snapshot) -> str | None:
    """The reason why the settings leave the next step to a person; None if they do not."""
    for _, rule in _by_settings(machine, snapshot.state):
        assert rule.condition is not None
        if rule.condition.holds(snapshot, Evidence()):
            return rule.because
    return None


def _by_settings(machine: Machine, state: str) -> Iterator[tuple[str, Rule]]:
    """The system's refusals that nothing but settings decides, with their events."""
    settings = machine.form.settings.keys()
    for (source, event, kind), rules in machine.rules.items():
        if source != state or kind != ActorKind.SYSTEM:
            continue
        for rule in rules:
            if rule.transition is None and rule.condition is not None and rule.condition.names <= settings:
                yield event, rule
