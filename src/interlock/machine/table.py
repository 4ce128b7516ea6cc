"""From the rows of a form to what a step looks up: every row taken apart into edges, with rules for each key."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from interlock.machine.expand import sources, transitions
from interlock.machine.form import MachineForm, RefusalForm
from interlock.machine.model import Key, Rule, Table, Transition
from interlock.machine.terms import Conditions

__all__ = ["facts_of", "make_table", "plain_ways"]


def make_table(form: MachineForm) -> Table:
    """Expand and index the rows of a form that has no problems; no condition is parsed."""
    conditions = Conditions(form)
    edges = list(transitions(form))
    made = [_rule(form, transition, conditions) for transition in edges]
    outgoing: dict[str, list[tuple[Transition, Rule]]] = {name: [] for name in form.states}
    for transition, rule in zip(edges, made, strict=True):
        outgoing[transition.source].append((transition, rule))
    return Table(
        transitions=tuple(edges),
        rules=_by_key(form, edges, made, conditions),
        outgoing={name: tuple((one, rule.condition) for one, rule in found) for name, found in outgoing.items()},
        by_id={one.id: rule for one, rule in zip(edges, made, strict=True) if one.after_effects},
        actors=_actors(edges),
        targets=_targets(form, edges),
    )


def _rule(form: MachineForm, transition: Transition, conditions: Conditions) -> Rule:
    source, to = form.states[transition.source], form.states[transition.to]
    proofs = {**form.gates, **form.receipts}
    outcome = (transition.outcome or to.outcome or to.label or transition.to) if to.terminal else None
    resets = any(set(counter.reset_by) & set(transition.by) for counter in form.counters.values())
    asks = transition.gate or transition.receipt or transition.needs or transition.requires or transition.commands
    does = transition.count or transition.set or transition.selects or transition.releases or transition.voids
    counts_for_task = any(form.counters[name].per for name in transition.count)
    wants_task = transition.selects or transition.names_task or counts_for_task
    lasting = to.changes or outcome or source.lock or transition.holds or transition.effects or transition.off_path
    return Rule(
        transition=transition,
        because=None,
        to=transition.to if _is_targeted(form, transition.on) else None,
        condition=conditions.of(transition.when),
        plain=not (asks or does or resets or lasting or transition.when),
        asks=bool(asks or source.lock or transition.holds or transition.effects or wants_task),
        outcome=outcome,
        voided=(*(name for name, proof in proofs.items() if proof.subject in to.changes), *transition.voids),
        unknown=tuple(to.changes),
    )


def _refusal(row: RefusalForm, conditions: Conditions) -> Rule:
    condition = conditions.of(row.when)
    return Rule(None, row.because, row.to, condition, plain=False, asks=False, outcome=None, voided=(), unknown=())


def _is_targeted(form: MachineForm, event: str) -> bool:
    return event in form.events and form.events[event].targeted


def _by_key(
    form: MachineForm, edges: list[Transition], made: list[Rule], conditions: Conditions
) -> dict[Key, tuple[Rule, ...]]:
    rules: dict[Key, list[Rule]] = {}
    for transition, rule in zip(edges, made, strict=True):
        for kind in transition.by:
            rules.setdefault((transition.source, transition.on, kind), []).append(rule)
    for row in form.refusals:
        refusal = _refusal(row, conditions)
        for source in sources(form, row):
            for kind in row.by:
                rules.setdefault((source, row.on, kind), []).append(refusal)
    return {key: tuple(here) for key, here in rules.items()}


def plain_ways(
    form: MachineForm, rules: Mapping[Key, tuple[Rule, ...]], facts: Mapping[Key, Collection[str]]
) -> dict[tuple[str, str, str, str | None], Transition]:
    """The short ways, but for keys that ask for a fact: their events cannot come with nothing."""
    asking = {key for key, names in facts.items() if any(form.facts[name].default is None for name in names)}
    found: dict[tuple[str, str, str, str | None], list[Rule]] = {}
    for (state, event, kind), here in rules.items():
        for rule in here if (state, event, kind) not in asking else ():
            found.setdefault((state, event, kind, rule.to), []).append(rule)
    alone = {key: here[0] for key, here in found.items() if len(here) == 1}
    return {key: rule.transition for key, rule in alone.items() if rule.plain and rule.transition is not None}


def _actors(edges: list[Transition]) -> dict[str, frozenset[str]]:
    actors: dict[str, frozenset[str]] = {}
    for transition in edges:
        actors[transition.on] = actors.get(transition.on, frozenset()) | set(transition.by)
    return actors


def _targets(form: MachineForm, edges: list[Transition]) -> dict[str, frozenset[str]]:
    targeted = {name for name, event in form.events.items() if event.targeted}
    return {name: frozenset(one.to for one in edges if one.on == name) for name in targeted}


def facts_of(form: MachineForm, rules: Mapping[Key, tuple[Rule, ...]]) -> dict[Key, frozenset[str]]:
    """The facts that the conditions of each key name; none, no entry. Without facts, no condition is parsed."""
    facts: dict[Key, frozenset[str]] = {}
    if not form.facts:
        return facts
    for key, here in rules.items():
        named = {name for rule in here if rule.condition for name in rule.condition.names & form.facts.keys()}
        if named:
            facts[key] = frozenset(named)
    return facts
