"""A machine, ready to run: the form of its file with every row of the table expanded and indexed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from interlock.machine.form import MachineForm, Parent, Proof, State

if TYPE_CHECKING:
    from interlock.machine.condition import Condition

__all__ = [
    "BUILTIN",
    "EFFECT_INTENDED",
    "EFFECT_SETTLED",
    "NOTED",
    "OBSERVED",
    "SUPERSEDED",
    "Key",
    "Machine",
    "Rule",
    "Table",
    "Transition",
    "led",
]

EFFECT_INTENDED = "effect_intended"
"""The system is about to do something in the world: `data` holds its `key` and `effect`."""
EFFECT_SETTLED = "effect_settled"
"""The outcome of an effect is known: `data` holds its `key` and `result`, `done` or `failed`."""
OBSERVED = "observed"
"""The system saw the hash of a subject, or was given settings; the state stays."""
SUPERSEDED = "superseded"
"""The system closes the instance where it stands: its parent ended, or took another driver."""
NOTED = "noted"
"""Anybody tells something worth keeping: `data` holds it. It moves nothing, and may be told of what has ended."""
BUILTIN = frozenset({EFFECT_INTENDED, EFFECT_SETTLED, NOTED, OBSERVED, SUPERSEDED})
"""The events that every machine knows without naming them; all but `noted` are the system's."""

Key: TypeAlias = "tuple[str, str, str]"
"""State, event and kind of actor."""


class Transition(msgspec.Struct, frozen=True, omit_defaults=True, rename={"source": "from"}):
    """One edge of the machine: one state it leads from, one it leads to."""

    source: str
    to: str
    on: str
    by: tuple[str, ...]
    gate: str | None = None
    receipt: str | None = None
    when: str | None = None
    added: str | None = None
    needs: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    voids: tuple[str, ...] = ()
    count: dict[str, int] = {}
    set: dict[str, int] = {}
    selects: bool = False
    names_task: bool = False
    releases: tuple[str, ...] = ()
    holds: bool = False
    any_holder: bool = False
    commands: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    after_effects: bool = False
    outcome: str | None = None
    off_path: bool = False
    progress: str | None = None
    trigger: str | None = None
    action: str | None = None

    @property
    def id(self) -> str:
        return f"{self.source} --{self.on}--> {self.to}"

    @property
    def stays(self) -> bool:
        return self.source == self.to


class Rule(msgspec.Struct, frozen=True):
    """What the table says for one state, event and kind of actor: a transition, or a refusal with its reason."""

    transition: Transition | None
    because: str | None
    to: str | None
    """The target that the event must name, where the event is a targeted one."""
    condition: Condition | None
    plain: bool
    """Nothing but the state changes, and nothing is asked of the event but its name."""
    asks: bool
    """Something is asked of the event before the transition is made."""
    outcome: str | None
    """The outcome of an instance that ends by it."""
    voided: tuple[str, ...]
    """The proofs that no longer hold after the move."""
    unknown: tuple[str, ...]
    """The subjects whose hash is no longer known after the move."""


class Table(msgspec.Struct, frozen=True, eq=False):
    """The rows of a machine, expanded and indexed."""

    transitions: tuple[Transition, ...]
    rules: Mapping[Key, tuple[Rule, ...]]
    outgoing: Mapping[str, tuple[tuple[Transition, Condition | None], ...]]
    by_id: Mapping[str, Rule]
    actors: Mapping[str, frozenset[str]]
    targets: Mapping[str, frozenset[str]]


class Machine(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A machine that was loaded and is ready to step.

    Its table is made when it is first asked for, and its conditions are parsed when they are first tested: most
    commands look at a few states of a few machines.
    """

    form: MachineForm
    digest: str
    """The SHA-256 of the normalised form: what an instance says it was made by."""
    proofs: Mapping[str, Proof]
    settings: Mapping[str, int | str]
    """The default of every setting, and of every counter's limit as `<counter>.limit`."""
    observes: bool

    @cached_property
    def table(self) -> Table:
        from interlock.machine.table import make_table

        return make_table(self.form)

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        return self.table.transitions

    @cached_property
    def rules(self) -> Mapping[Key, tuple[Rule, ...]]:
        return self.table.rules

    @cached_property
    def plain(self) -> Mapping[tuple[str, str, str, str | None], Transition]:
        """The plain transitions that are the only ones for their state, event, kind of actor and target."""
        from interlock.machine.table import plain_ways

        return plain_ways(self.form, self.rules, self.facts_of)

    @cached_property
    def outgoing(self) -> Mapping[str, tuple[tuple[Transition, Condition | None], ...]]:
        return self.table.outgoing

    @cached_property
    def by_id(self) -> Mapping[str, Rule]:
        """The transitions that are made after their effects: what a snapshot can be awaiting."""
        return self.table.by_id

    @cached_property
    def actors(self) -> Mapping[str, frozenset[str]]:
        """For each event, the kinds of actors that may fire it somewhere."""
        return self.table.actors

    @cached_property
    def targets(self) -> Mapping[str, frozenset[str]]:
        """For each targeted event, the states it can lead to."""
        return self.table.targets

    @cached_property
    def facts_of(self) -> Mapping[Key, frozenset[str]]:
        """For each state, event and kind of actor, the facts that decide where the event leads; none, no entry."""
        from interlock.machine.table import facts_of

        return facts_of(self.form, self.rules)

    @property
    def name(self) -> str:
        return self.form.name

    @property
    def states(self) -> Mapping[str, State]:
        return self.form.states

    def label(self, state: str) -> str:
        """The state's name as people read it."""
        return self.states[state].label or state


def led(machine: Machine, came_from: str | None, to: str) -> Parent | None:
    """The row of `[[parents]]` that leads the instance above, for a move from one state to another.

    What is entered counts more than what is left. Rows without a state to lead to are not meant: whoever drives the
    instance above brings them, with what they need.
    """
    if came_from == to:
        return None
    rows = [row for row in machine.form.parents if row.to is not None]
    entered = (row for row in rows if to in row.enters)
    left = (row for row in rows if came_from in row.leaves)
    return next(entered, None) or next(left, None)
