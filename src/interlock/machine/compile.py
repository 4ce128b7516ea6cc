"""From a form to a machine: validated, expanded, indexed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

import msgspec

from interlock.errors import InvalidMachine
from interlock.machine.expand import sources, transitions
from interlock.machine.form import MachineForm, RefusalForm
from interlock.machine.model import Key, Machine, Rule, Transition
from interlock.machine.terms import Conditions
from interlock.machine.validate import problems

__all__ = ["compile_machine"]

_SHOWN = 20


def compile_machine(form: MachineForm, *, is_known: bool = False) -> Machine:
    """Make a machine of a form, or refuse it with every problem it has; `is_known` means that it has none."""
    conditions = Conditions(form)
    if not is_known and (found := problems(form, conditions)):
        raise _invalid(form.name, found)
    edges = list(transitions(form))
    made = [_rule(form, transition, conditions) for transition in edges]
    rules = _by_key(form, edges, made, conditions)
    facts = _facts_of(form, rules)
    asking = {key for key, names in facts.items() if any(form.facts[name].default is None for name in names)}
    outgoing: dict[str, list[tuple[Transition, Rule]]] = {name: [] for name in form.states}
    for transition, rule in zip(edges, made, strict=True):
        outgoing[transition.source].append((transition, rule))
    limits: dict[str, int | str] = {f"{name}.limit": counter.limit for name, counter in form.counters.items()}
    return Machine(
        form=form,
        digest=hashlib.sha256(msgspec.json.encode(form, order="sorted")).hexdigest(),
        transitions=tuple(edges),
        rules=rules,
        plain=_plain(rules, asking),
        outgoing={name: tuple((one, rule.condition) for one, rule in found) for name, found in outgoing.items()},
        by_id={one.id: rule for one, rule in zip(edges, made, strict=True) if one.after_effects},
        actors=_actors(edges),
        targets=_targets(form, edges),
        facts_of=facts,
        proofs={**form.gates, **form.receipts},
        settings={**limits, **{name: setting.default for name, setting in form.settings.items()}},
        observes=form.enforcement == "observe",
    )


def _invalid(name: str, found: list[str]) -> InvalidMachine:
    lines = "".join(f"\n  - {problem}" for problem in found[:_SHOWN])
    rest = f"\n  - and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    message = f"The machine {name[:80]!r} does not hold together:{lines}{rest}"
    return InvalidMachine("machine_invalid", message, "Mend these rows of the file, then check it again.")


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
        condition=conditions.compiled(transition.when),
        plain=not (asks or does or resets or lasting or transition.when),
        asks=bool(asks or source.lock or transition.holds or transition.effects or wants_task),
        outcome=outcome,
        voided=(*(name for name, proof in proofs.items() if proof.subject in to.changes), *transition.voids),
        unknown=tuple(to.changes),
    )


def _refusal(row: RefusalForm, conditions: Conditions) -> Rule:
    condition = conditions.compiled(row.when)
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


def _plain(
    rules: Mapping[Key, tuple[Rule, ...]], asking: Collection[Key]
) -> dict[tuple[str, str, str, str | None], Transition]:
    """The short ways, but for keys that ask for a fact: their events cannot come with nothing."""
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


def _facts_of(form: MachineForm, rules: Mapping[Key, tuple[Rule, ...]]) -> dict[Key, frozenset[str]]:
    facts: dict[Key, frozenset[str]] = {}
    for key, here in rules.items():
        named = {name for rule in here if rule.condition for name in rule.condition.names & form.facts.keys()}
        if named:
            facts[key] = frozenset(named)
    return facts
