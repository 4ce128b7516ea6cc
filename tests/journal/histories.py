"""Events that move the shipped machines, found by looking at their tables; and a clock for them to happen by."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator
from functools import cache

from interlock.journal.entry import encode
from interlock.machine import (
    Accepted,
    Actor,
    ActorKind,
    Channel,
    Event,
    Evidence,
    Machine,
    Snapshot,
    Transition,
    start,
    step,
)
from interlock.machine.model import BUILTIN

__all__ = ["AGENT", "HUMAN", "SYSTEM", "Clock", "by", "created", "every_event", "paths", "reports", "tries"]


_MOST = 50_000
"""How many situations of a machine are looked at; counters make endlessly many."""


def by(kind: str) -> Actor:
    return Actor(ActorKind(kind), f"some {kind}", Channel.TEST)


AGENT, HUMAN, SYSTEM = by("agent"), by("human"), by("system")


class Clock:
    """A clock that a test sets. Each look at it takes a millisecond, so that what is made later is named later."""

    def __init__(self, nanoseconds: int = 1_700_000_000_000_000_000) -> None:
        self.nanoseconds = nanoseconds

    def __call__(self) -> int:
        self.nanoseconds += 1_000_000
        return self.nanoseconds

    def forward(self, seconds: float) -> None:
        self.nanoseconds += int(seconds * 1_000_000_000)


def created(actor: Actor = HUMAN, evidence: Evidence | None = None, **changes: str) -> Event:
    return Event("created", actor, evidence=evidence, **changes)


def reports(state: str, evidence: Evidence | None = None) -> Event:
    """An agent's report of the phase it is in: a session takes any, and writes an entry for each."""
    return Event("update_session_state", AGENT, state, evidence=evidence)


def tries(machine: Machine, snapshot: Snapshot) -> Iterator[Event]:
    """Events with all that some row asks for, most of which move the instance."""
    for key in snapshot.pending:
        for result in ("done", "failed"):
            yield Event("effect_settled", SYSTEM, evidence=Evidence(data={"key": key, "result": result}))
    for transition in machine.transitions:
        if transition.source == snapshot.state:
            for kind in transition.by:
                yield from _events(machine, snapshot, transition, kind)


def _events(machine: Machine, snapshot: Snapshot, transition: Transition, kind: str) -> Iterator[Event]:
    names = _facts(machine, transition.on)
    proofs = [machine.proofs[name].subject for name in (transition.gate, transition.receipt) if name]
    subjects = {name: snapshot.subjects.get(name, f"hash of the {name}") for name in proofs}
    command = transition.commands[0] if transition.commands and kind != ActorKind.HUMAN else None
    for values in itertools.product(*(machine.form.facts[name].values for name in names)):
        evidence = Evidence(
            facts=dict(zip(names, values, strict=True)),
            subjects=subjects,
            task="task-1" if transition.selects else None,
            holder=snapshot.holder or "run-1",
            data=dict.fromkeys(transition.needs, "given"),
        )
        target = transition.to if transition.on in machine.targets else None
        yield Event(transition.on, by(kind), target, command, "given", evidence)


def _facts(machine: Machine, event: str) -> list[str]:
    """The facts between whose values the rows of an event decide."""
    conditions = [row.when or "" for row in machine.form.transitions if row.on == event]
    conditions += [row.when or "" for row in machine.form.refusals if row.on == event]
    return [name for name in machine.form.facts if any(re.search(rf"\b{name}\b", when) for when in conditions)]


@cache
def paths(machine: Machine) -> dict[str, tuple[Event, ...]]:
    """For every state of a machine, the events that lead from the beginning into it."""
    first = start(machine, created())
    assert isinstance(first, Accepted)
    found: dict[str, tuple[Event, ...]] = {first.snapshot.state: ()}
    seen: set[str] = set()
    waiting: deque[tuple[Snapshot, tuple[Event, ...]]] = deque([(first.snapshot, ())])
    while len(found) < len(machine.states):
        assert waiting, f"no way leads to {machine.states.keys() - found.keys()}"
        assert len(seen) < _MOST, f"no short way leads to {machine.states.keys() - found.keys()}"
        snapshot, path = waiting.popleft()
        for event in tries(machine, snapshot):
            after = step(machine, snapshot, event)
            if isinstance(after, Accepted) and encode(after.snapshot) not in seen:
                seen.add(encode(after.snapshot))
                longer = (*path, event)
                found.setdefault(after.snapshot.state, longer)
                waiting.append((after.snapshot, longer))
    return found


def every_event(machine: Machine) -> Iterator[Event]:
    """Every event by every kind of actor, a targeted one to every state and to none, with nothing else given."""
    for name in (*machine.actors, *sorted(BUILTIN), "no_such_event"):
        for kind in ActorKind:
            for to in (None, *machine.states) if name in machine.targets else (None,):
                yield Event(name, by(kind), to)
