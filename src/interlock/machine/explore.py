"""Every configuration a machine can be in, found by running `step` itself, breadth first.

A configuration is a snapshot brought to its essentials: the state, the counters up to a small limit, which
gates and receipts are valid, whether a lock is held, which task is current, what is awaited. Moves are every
event by every kind of actor with every value of its facts, and, from outside, the change of a subject of
which something was proven. Breadth first makes the way to each configuration a shortest one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from interlock.machine.form import Counter
from interlock.machine.model import EFFECT_SETTLED, Key, Machine, Rule, Transition
from interlock.machine.step import matching, step
from interlock.machine.values import Accepted, Actor, ActorKind, Channel, Event, Evidence, Refused, Snapshot

__all__ = ["Edge", "Exploration", "TriedEvent", "explore"]

_HASH = "1"
_HOLDER = "holder"
_SMALL_LIMIT = 2
_SMALL_LIMIT_PER_TASK = 1
_TRIES_EACH = 20
"""Tries for each configuration that may be looked at, on average; the shipped machines have 10 at most."""
_MOST_COUNTED = 100
_NEAR = 1_000
"""Configurations that are looked at where it is known beforehand that there are too many."""
_MOST_VARIANTS = 2_000
"""Forms in which one event is tried: every value of each of its facts, with every target and every task."""

_ConfigurationKey: TypeAlias = "tuple[object, ...]"


class Edge(msgspec.Struct, frozen=True):
    """One move between two configurations; `transition` is None for what happens outside the table."""

    source: int
    target: int
    label: str
    event: Event | None
    transition: Transition | None

    @property
    def kind(self) -> ActorKind | None:
        return self.event.actor.kind if self.event else None


class TriedEvent(msgspec.Struct, frozen=True):
    """An event that was tried in a configuration, and what came of it."""

    at: int
    event: Event
    code: str | None
    """None where it was accepted."""
    rules: tuple[Rule, ...]


class Exploration(msgspec.Struct):
    """The graph of configurations, with the shortest way to each."""

    machine: Machine
    snapshots: list[Snapshot] = msgspec.field(default_factory=list)
    given: list[frozenset[str]] = msgspec.field(default_factory=list)
    """For each configuration, the required proofs that were given on the way, valid still or not."""
    edges: list[list[Edge]] = msgspec.field(default_factory=list)
    came_by: list[Edge | None] = msgspec.field(default_factory=list)
    tries: list[TriedEvent] = msgspec.field(default_factory=list)
    too_large: str = ""
    """Why not everything was looked at; empty where it was."""

    @property
    def complete(self) -> bool:
        return not self.too_large

    def path(self, to: int) -> tuple[str, ...]:
        """The shortest way to a configuration, a line for each move."""
        steps: list[str] = []
        edge = self.came_by[to]
        while edge is not None:
            steps.append(edge.label)
            edge = self.came_by[edge.source]
        return tuple(reversed(steps))

    def begins(self, to: int) -> str:
        """The start of the shortest way to a configuration, with its settings; empty if there is no choice."""
        while (edge := self.came_by[to]) is not None:
            to = edge.source
        first = self.snapshots[to]
        chosen = " and ".join(f"{name} = {value}" for name, value in first.settings.items())
        state = f"in {first.state!r}" if self.machine.form.starts or chosen else ""
        return f"{state} with {chosen}" if chosen else state

    def all_edges(self) -> Iterator[Edge]:
        return itertools.chain.from_iterable(self.edges)


def explore(machine: Machine, most: int = 200_000) -> Exploration:
    """Explore a machine; beyond `most` configurations it stops and says that it is not complete."""
    return _Explorer(machine, most).run()


class _Explorer:
    def __init__(self, machine: Machine, most: int) -> None:
        self.machine = machine
        self.most = most
        self.found = Exploration(machine)
        self.index: dict[_ConfigurationKey, int] = {}
        self.variants: dict[tuple[Key, bool], list[Event]] = {}
        self.required = frozenset(name for name, proof in machine.proofs.items() if proof.required_for)
        per_task = any(counter.per for counter in machine.form.counters.values())
        self.tasks = ("task-a", "task-b") if per_task else ("task-a",)

    def run(self) -> Exploration:
        if math.prod(len(setting.values) for setting in self.machine.form.settings.values()) > self.most:
            self._give_up("there are too many settings to try each with every other")
        if self._largest > _MOST_COUNTED:
            self._give_up(f"a condition or the start of a counter is a number above {_MOST_COUNTED}")
        for snapshot in itertools.islice(self._starts(), self.most):
            self._enter(snapshot, frozenset(), None)
        position = 0
        while position < len(self.found.snapshots):
            if position >= self.most or len(self.found.tries) > self.most * _TRIES_EACH:
                self.found.too_large = self.found.too_large or f"after {position} configurations there are more"
                break
            self._leave(position)
            position += 1
        return self.found

    def _give_up(self, why: str) -> None:
        """Note that it is too large, which refuses it in any case, and look only at what is near."""
        self.found.too_large = self.found.too_large or why
        self.most = min(self.most, _NEAR)

    # Configurations

    def _starts(self) -> Iterator[Snapshot]:
        form = self.machine.form
        limits: dict[str, int | str] = {
            f"{name}.limit": self._small_limit(counter) for name, counter in form.counters.items()
        }
        choices = [[(name, value) for value in setting.values] for name, setting in form.settings.items()]
        for state in dict.fromkeys([form.initial, *(start.state for start in form.starts)]):
            for chosen in itertools.product(*choices):
                yield Snapshot(state, settings={**limits, **dict(chosen)})

    @staticmethod
    def _small_limit(counter: Counter) -> int:
        return min(counter.limit, counter.start + (_SMALL_LIMIT_PER_TASK if counter.per else _SMALL_LIMIT))

    @cached_property
    def _largest(self) -> int:
        """The largest number that the machine counts from or compares with, its limits aside."""
        conditions = [rule.condition for rules in self.machine.rules.values() for rule in rules if rule.condition]
        named = [condition.largest for condition in conditions]
        return max([*named, *(counter.start for counter in self.machine.form.counters.values())], default=0)

    @cached_property
    def _caps(self) -> dict[str, int]:
        """Beyond these, no condition tells one count from another; nor does one below 0."""
        counters = self.machine.form.counters
        return {name: max(self._small_limit(counter), self._largest) + 1 for name, counter in counters.items()}

    def _essentials(self, snapshot: Snapshot) -> Snapshot:
        counters = {
            name: max(-1, min(count, self._caps[name.partition(":")[0]]))
            for name, count in snapshot.counters.items()
            if count != self.machine.form.counters[name.partition(":")[0]].start
        }
        return replace(snapshot, counters=counters, pending=snapshot.pending if snapshot.awaiting else {})

    def _enter(self, snapshot: Snapshot, given: frozenset[str], by: Edge | None) -> int:
        key: _ConfigurationKey = (
            snapshot.state,
            frozenset(snapshot.counters.items()),
            frozenset(snapshot.settings.items()),
            frozenset(snapshot.subjects),
            frozenset(snapshot.proofs),
            snapshot.task,
            snapshot.holder,
            frozenset(snapshot.pending),
            snapshot.awaiting,
            snapshot.outcome,
            given,
        )
        known = self.index.get(key)
        if known is not None:
            return known
        self.index[key] = position = len(self.found.snapshots)
        self.found.snapshots.append(snapshot)
        self.found.given.append(given)
        self.found.edges.append([])
        self.found.came_by.append(by)
        return position

    # Moves

    def _leave(self, position: int) -> None:
        snapshot = self.found.snapshots[position]
        if snapshot.outcome is not None:
            return
        for event in self._events(snapshot):
            result = step(self.machine, snapshot, event)
            rules = tuple(matching(self.machine, snapshot, event)) if self._several(snapshot, event) else ()
            code = result.code if isinstance(result, Refused) else None
            self.found.tries.append(TriedEvent(position, event, code, rules))
            if isinstance(result, Accepted) and result.changed and not (result.off_path and result.transition is None):
                self._move(position, result, event)
        if snapshot.awaiting is None:
            self._change_outside(position, snapshot)

    def _several(self, snapshot: Snapshot, event: Event) -> bool:
        return len(self.machine.rules.get((snapshot.state, event.name, event.actor.kind), ())) > 1

    def _move(self, position: int, result: Accepted, event: Event) -> None:
        transition = result.transition
        proven = {transition.gate, transition.receipt} if transition else set()
        given = self.found.given[position] | (self.required & {name for name in proven if name})
        self._connect(
            position,
            self._essentials(result.snapshot),
            given,
            _label(result, event, self.found, position),
            event,
            transition,
        )

    def _connect(
        self,
        position: int,
        snapshot: Snapshot,
        given: frozenset[str],
        label: str,
        event: Event | None,
        transition: Transition | None,
    ) -> None:
        edge = Edge(position, len(self.found.snapshots), label, event, transition)
        target = self._enter(snapshot, given, edge)
        self.found.edges[position].append(Edge(position, target, label, event, transition))

    def _change_outside(self, position: int, snapshot: Snapshot) -> None:
        proofs = self.machine.proofs
        subjects = {proofs[name].subject for name in snapshot.proofs if not proofs[name].immutable}
        for subject in sorted(subjects):
            kept = {name: proof for name, proof in snapshot.proofs.items() if proofs[name].subject != subject}
            label = f"{snapshot.state}: the {subject} is changed from outside"
            self._connect(position, replace(snapshot, proofs=kept), self.found.given[position], label, None, None)

    def _events(self, snapshot: Snapshot) -> Iterator[Event]:
        if snapshot.awaiting is not None:
            for key in snapshot.pending:
                for result in ("done", "failed"):
                    yield self._event(EFFECT_SETTLED, ActorKind.SYSTEM, Evidence(data={"key": key, "result": result}))
            return
        for name, kind in self._outgoing[snapshot.state]:
            yield from self._variants((snapshot.state, name, kind), snapshot.task is not None)

    @cached_property
    def _outgoing(self) -> dict[str, list[tuple[str, ActorKind]]]:
        outgoing: dict[str, list[tuple[str, ActorKind]]] = {state: [] for state in self.machine.states}
        for state, name, kind in self.machine.rules:
            outgoing[state].append((name, ActorKind(kind)))
        return outgoing

    def _variants(self, key: Key, has_task: bool) -> list[Event]:
        """The event with every value of its facts, every target, every command and every task it could name."""
        known = self.variants.get((key, has_task))
        if known is None:
            known = self.variants[key, has_task] = list(self._make_variants(key, has_task))
        return known

    def _make_variants(self, key: Key, has_task: bool) -> Iterator[Event]:
        _, name, kind = key
        transitions = [rule.transition for rule in self.machine.rules[key] if rule.transition is not None]
        facts = sorted(self.machine.facts_of.get(key, ()))
        values_of = [self.machine.form.facts[fact].values for fact in facts]
        combinations: Iterator[tuple[str, ...]] = itertools.product(*values_of)
        asked = dict.fromkeys((rule.to, self._command(rule, kind)) for rule in self.machine.rules[key])
        named = any(one.selects or one.names_task for one in transitions)
        counted = not has_task and any(self._counts_for_task(one) for one in transitions)
        tasks: tuple[str | None, ...] = self.tasks if named or counted else (None,)
        if math.prod(map(len, values_of)) * len(asked) * len(tasks) > _MOST_VARIANTS:
            self._give_up(f"{name!r} can come in more than {_MOST_VARIANTS} forms")
            combinations = itertools.islice(combinations, _MOST_VARIANTS // (len(asked) * len(tasks)) + 1)
        for values, (to, command), task in itertools.product(combinations, asked, tasks):
            evidence = Evidence(
                facts=dict(zip(facts, values, strict=True)),
                subjects=self._subjects(transitions),
                task=task,
                holder=_HOLDER,
                data={need: "given" for one in transitions for need in one.needs},
            )
            yield self._event(name, ActorKind(kind), evidence, to, command)

    def _counts_for_task(self, transition: Transition) -> bool:
        return any(self.machine.form.counters[name].per for name in transition.count)

    @staticmethod
    def _command(rule: Rule, kind: str) -> str | None:
        commands = rule.transition.commands if rule.transition else ()
        return commands[0] if commands and kind != ActorKind.HUMAN else None

    def _subjects(self, transitions: list[Transition]) -> dict[str, str]:
        names = [name for one in transitions for name in (one.gate, one.receipt) if name]
        return {self.machine.proofs[name].subject: _HASH for name in names}

    @staticmethod
    def _event(
        name: str, kind: ActorKind, evidence: Evidence, to: str | None = None, command: str | None = None
    ) -> Event:
        return Event(name, Actor(kind, "anybody", Channel.TEST), to, command, "given", evidence)


def _label(result: Accepted, event: Event, found: Exploration, position: int) -> str:
    facts = event.evidence.facts if event.evidence else {}
    brought = "".join(f", {name} = {value}" for name, value in facts.items())
    before, after = found.snapshots[position].state, result.snapshot.state
    if event.name == EFFECT_SETTLED and event.evidence:
        brought = f", {event.evidence.data['key']} {event.evidence.data['result']}"
    return f"{before} --{event.name} ({event.actor.kind}{brought})--> {after}"
