"""One step of a machine: pure and total. The only way an instance ever moves."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from interlock.machine.demand import Candidate, invalid, is_task, lacking, refixed
from interlock.machine.model import (
    BUILTIN,
    EFFECT_INTENDED,
    EFFECT_SETTLED,
    NOTED,
    OBSERVED,
    SUPERSEDED,
    Machine,
    Rule,
    Transition,
)
from interlock.machine.refusal import refuse, what, who
from interlock.machine.values import Accepted, ActorKind, Event, Evidence, Refused, Snapshot

__all__ = ["matching", "observe", "start", "step"]

_NOTHING = Evidence()
_MAX_COUNT = 1_000_000


def start(machine: Machine, event: Event) -> Accepted | Refused:
    """The first snapshot of a new instance: in `event.to` or the initial state, with what its creation brings."""
    evidence = event.evidence or _NOTHING
    state = event.to or machine.form.initial
    if event.actor.kind not in set(ActorKind):
        return _unknown_actor(event)
    starts = {machine.form.initial: None, **{one.state: one.command for one in machine.form.starts}}
    by_person = event.actor.kind == ActorKind.HUMAN
    if state not in starts:
        message = f"A {machine.name} cannot begin in {state[:80]!r}."
        return Refused("not_allowed", message, f"It begins in {' or '.join(starts)}.")
    if starts[state] not in (None, event.command) and not by_person:
        message = f"Only the command {starts[state]} begins in {state!r}."
        return Refused("command_required", message, f"Begin in {machine.form.initial!r}, or name the command.")
    counters = evidence.data.get("counters", {})
    if not isinstance(counters, dict) or not all(_is_count(machine, name, value) for name, value in counters.items()):
        return Refused("evidence_invalid", "`counters` must map counters of the machine to numbers.", "Leave it out.")
    first = Snapshot(state, counters=counters, settings=evidence.settings, subjects=evidence.subjects)
    return invalid(machine, Snapshot(state), event, evidence) or Accepted(replace(first, task=evidence.task))


def _is_count(machine: Machine, name: object, value: object) -> bool:
    if not isinstance(name, str) or type(value) is not int or not 0 <= value <= _MAX_COUNT:
        return False
    counter, _, task = name.partition(":")
    known = machine.form.counters.get(counter)
    return known is not None and (is_task(task) if known.per else not task)


def step(machine: Machine, snapshot: Snapshot, event: Event) -> Accepted | Refused:
    """What `event` does to an instance at `snapshot`. Never raises, never changes its arguments."""
    if snapshot.awaiting is not None or snapshot.outcome is not None:
        return _only_settled(machine, snapshot, event)
    kind = event.actor.kind
    if event.evidence is None and event.command is None:
        plain = machine.plain.get((snapshot.state, event.name, kind, event.to))
        if plain is not None:
            return Accepted(replace(snapshot, state=plain.to), plain)
    rules = machine.rules.get((snapshot.state, event.name, kind))
    if rules is None:
        return _off_table(machine, snapshot, event)
    evidence = event.evidence or _NOTHING
    if evidence is not _NOTHING or (snapshot.state, event.name, kind) in machine.facts_of:
        wrong = invalid(machine, snapshot, event, evidence)
        if wrong is not None:
            return wrong
    attempt = Candidate(machine, snapshot, event, evidence, observe(machine, snapshot, evidence))
    for rule in rules:
        if _matches(rule, attempt.seen, event, evidence):
            wrong = refixed(attempt, rule) if evidence.subjects else None
            return wrong or _make(attempt, rule)
    return _unmatched(attempt, rules)


def matching(machine: Machine, snapshot: Snapshot, event: Event) -> list[Rule]:
    """Every rule that speaks for this event here; more than one is an ambiguity."""
    evidence = event.evidence or _NOTHING
    seen = observe(machine, snapshot, evidence)
    rules = machine.rules.get((snapshot.state, event.name, event.actor.kind), ())
    return [rule for rule in rules if _matches(rule, seen, event, evidence)]


def observe(machine: Machine, snapshot: Snapshot, evidence: Evidence) -> Snapshot:
    """The snapshot as the event saw it: a subject that has changed voids what was proven of it."""
    if not (evidence.subjects or evidence.settings):
        return snapshot
    changed = {name for name, found in evidence.subjects.items() if snapshot.subjects.get(name) != found}
    voided = {name for name, proof in machine.proofs.items() if proof.subject in changed}
    proofs = {name: proof for name, proof in snapshot.proofs.items() if name not in voided}
    return replace(
        snapshot,
        subjects={**snapshot.subjects, **evidence.subjects},
        proofs=proofs,
        settings={**snapshot.settings, **evidence.settings},
    )


def _matches(rule: Rule, seen: Snapshot, event: Event, evidence: Evidence) -> bool:
    if rule.to is not None and rule.to != event.to:
        return False
    return rule.condition is None or bool(rule.condition.holds(seen, evidence))


def _make(attempt: Candidate, rule: Rule) -> Accepted | Refused:
    transition, evidence, before, seen = rule.transition, attempt.evidence, attempt.before, attempt.seen
    if transition is None:
        return attempt.refused("refused_by_rule", f"{attempt.what} is refused: {rule.because}.")
    if rule.asks or attempt.event.to is not None or attempt.event.command is not None:
        refused = lacking(attempt, transition)
        if refused is not None:
            return refused
    if transition.holds and transition.stays and before.holder == evidence.holder:
        return Accepted(before, transition, changed=False)
    ready = seen
    given = [name for name in (transition.gate, transition.receipt) if name is not None]
    if given or transition.effects:
        proofs = {name: evidence.subjects[attempt.machine.proofs[name].subject] for name in given}
        begun = {effect: effect for effect in transition.effects}
        ready = replace(seen, proofs={**seen.proofs, **proofs}, pending={**seen.pending, **begun})
    if transition.after_effects:
        return Accepted(replace(ready, awaiting=transition.id), transition, transition.effects)
    arrived = _arrive(attempt.machine, ready, attempt.event, rule)
    return Accepted(arrived, transition, transition.effects, transition.off_path)


def _arrive(machine: Machine, ready: Snapshot, event: Event, rule: Rule) -> Snapshot:
    """The snapshot after the move: counted, voided, held, selected and released as the row says."""
    transition, evidence = rule.transition, event.evidence or _NOTHING
    assert transition is not None  # a refusal leads nowhere
    task = evidence.task if transition.selects else ready.task
    holder = ready.holder
    if transition.holds:
        holder = evidence.holder
    elif "lock" in transition.releases or not transition.stays:
        holder = None
    proofs, subjects = ready.proofs, ready.subjects
    if rule.voided:
        proofs = {name: proof for name, proof in proofs.items() if name not in rule.voided}
    if rule.unknown:
        lost = set(rule.unknown) - evidence.subjects.keys()
        subjects = {name: found for name, found in subjects.items() if name not in lost}
    return replace(
        ready,
        state=transition.to,
        counters=_counted(machine, ready.counters, event.actor.kind, transition, evidence.task or ready.task),
        proofs=proofs,
        subjects=subjects,
        task=None if "task" in transition.releases else task,
        holder=holder,
        outcome=rule.outcome,
    )


def _counted(
    machine: Machine, counters: Mapping[str, int], kind: str, transition: Transition, task: str | None
) -> Mapping[str, int]:
    known = machine.form.counters
    reset = {name for name, counter in known.items() if kind in counter.reset_by}
    if not (reset or transition.set or transition.count):
        return counters
    after = {name: count for name, count in counters.items() if name.partition(":")[0] not in reset}
    for name, value in transition.set.items():
        if known[name].per is None:
            after[name] = value
        elif task is not None:
            after[f"{name}:{task}"] = value
    for name, value in transition.count.items():
        key = f"{name}:{task}" if known[name].per else name
        after[key] = after.get(key, known[name].start) + value
    return after


# Effects, and what happens outside the table


def _only_settled(machine: Machine, snapshot: Snapshot, event: Event) -> Accepted | Refused:
    if event.name == NOTED:
        return _note(machine, snapshot, event)
    if event.name == EFFECT_SETTLED and event.actor.kind == ActorKind.SYSTEM:
        return _settle(machine, snapshot, event)
    if snapshot.outcome is not None:
        message = f"{what(event)} is refused: this {machine.name} has ended in {snapshot.state!r}."
        return Refused("terminal", message, f"Begin a new {machine.name} instead.")
    message = f"{what(event)} has to wait: {', '.join(snapshot.pending)} was begun and its outcome is not known."
    return Refused("effect_pending", message, "Settle it first: ask the world what came of it.")


def _settle(machine: Machine, snapshot: Snapshot, event: Event) -> Accepted | Refused:
    data = (event.evidence or _NOTHING).data
    key, result = data.get("key"), data.get("result")
    if not isinstance(key, str) or key not in snapshot.pending:
        pending = ", ".join(snapshot.pending) or "none"
        message = f"No effect {str(key)[:80]!r} is pending."
        return refuse(machine, snapshot, "effect_unknown", message, f"Pending: {pending}.")
    if result not in ("done", "failed"):
        message = f"{str(result)[:80]!r} is no result of an effect."
        return refuse(machine, snapshot, "evidence_invalid", message, "Give 'done' or 'failed'.")
    left = {other: effect for other, effect in snapshot.pending.items() if other != key}
    if snapshot.awaiting is None:
        return Accepted(replace(snapshot, pending=left))
    rule = machine.by_id.get(snapshot.awaiting)
    if rule is None or rule.transition is None:
        message = f"The machine {machine.name} has no transition {snapshot.awaiting!r} to wait for."
        return Refused("unknown_state", message, "The snapshot is of another machine.")
    transition = rule.transition
    if key not in transition.effects:
        return Accepted(replace(snapshot, pending=left))
    if result == "failed":
        others = {other: effect for other, effect in left.items() if other not in transition.effects}
        proofs = {name: proof for name, proof in snapshot.proofs.items() if name != transition.gate}
        return Accepted(replace(snapshot, pending=others, proofs=proofs, awaiting=None), transition)
    if left.keys() & set(transition.effects):
        return Accepted(replace(snapshot, pending=left), transition)
    ready = replace(snapshot, pending=left, awaiting=None)
    return Accepted(_arrive(machine, ready, event, rule), transition)


def _note(machine: Machine, snapshot: Snapshot, event: Event) -> Accepted | Refused:
    """Keep what is told. It brings nothing that a transition or a proof could turn on."""
    if event.actor.kind not in set(ActorKind):
        return _unknown_actor(event)
    evidence = event.evidence or _NOTHING
    if evidence.facts or evidence.subjects or evidence.settings or evidence.task or evidence.holder:
        message = f"{what(event)} may bring data and nothing else."
        return refuse(machine, snapshot, "evidence_invalid", message, "Put it into `data`.")
    return Accepted(snapshot)


def _off_table(machine: Machine, snapshot: Snapshot, event: Event) -> Accepted | Refused:
    if event.name == NOTED and snapshot.state in machine.states:
        return _note(machine, snapshot, event)
    if event.actor.kind == ActorKind.SYSTEM and event.name in BUILTIN:
        return _builtin(machine, snapshot, event)
    if snapshot.state not in machine.states:
        message = f"The machine {machine.name} has no state {snapshot.state!r}."
        return Refused("unknown_state", message, f"Its states are {', '.join(machine.states)}.")
    if event.actor.kind not in set(ActorKind):
        return _unknown_actor(event)
    if event.name in BUILTIN:
        message = f"Only the system may do {event.name!r}, and this is {who(event)}."
        return refuse(machine, snapshot, "actor_not_allowed", message)
    if event.name not in machine.actors:
        message = f"The machine {machine.name} knows no event {event.name[:80]!r}."
        return refuse(machine, snapshot, "unknown_event", message)
    return _off_path(machine, snapshot, event) or _not_here(machine, snapshot, event)


def _unknown_actor(event: Event) -> Refused:
    message = f"{str(event.actor.kind)[:80]!r} is no kind of actor."
    return Refused("unknown_actor", message, f"Actors are {', '.join(ActorKind)}.")


def _not_here(machine: Machine, snapshot: Snapshot, event: Event) -> Refused:
    kinds = [kind for kind in ActorKind if (snapshot.state, event.name, kind) in machine.rules]
    if not kinds:
        return refuse(machine, snapshot, "not_allowed", f"{what(event)} is not possible in {snapshot.state!r}.")
    if kinds == [ActorKind.HUMAN]:
        message = f"In {snapshot.state!r} only a person may do {event.name!r}, and this is {who(event)}."
        return refuse(machine, snapshot, "person_needed", message, "Ask a person to decide.")
    message = f"In {snapshot.state!r} only {' or '.join(kinds)} may do {event.name!r}, and this is {who(event)}."
    return refuse(machine, snapshot, "actor_not_allowed", message)


def _builtin(machine: Machine, snapshot: Snapshot, event: Event) -> Accepted | Refused:
    evidence = event.evidence or _NOTHING
    if event.name == EFFECT_SETTLED:
        return _settle(machine, snapshot, event)
    wrong = invalid(machine, snapshot, event, evidence)
    if wrong is not None:
        return wrong
    if event.name == OBSERVED:
        return Accepted(observe(machine, snapshot, evidence))
    if event.name == SUPERSEDED:
        return Accepted(replace(snapshot, outcome=SUPERSEDED))
    assert event.name == EFFECT_INTENDED
    key, effect = evidence.data.get("key"), evidence.data.get("effect")
    if not (isinstance(key, str) and isinstance(effect, str) and key and effect):
        message = "An effect needs a key and a name."
        return refuse(machine, snapshot, "evidence_required", message, "Give 'key' and 'effect'.")
    if key in snapshot.pending:
        message = f"The effect {key[:80]!r} was begun and is not settled."
        return refuse(machine, snapshot, "effect_pending", message, "Settle it first.")
    return Accepted(replace(snapshot, pending={**snapshot.pending, key: effect}))


def _unmatched(attempt: Candidate, rules: tuple[Rule, ...]) -> Accepted | Refused:
    machine, event, state = attempt.machine, attempt.event, attempt.before.state
    recorded = _off_path(machine, attempt.seen, event)
    if recorded is not None:
        return recorded
    if event.name in machine.targets:
        if event.to is None:
            return attempt.refused("target_required", f"{attempt.what} must name the state it leads to.")
        if event.to not in machine.states:
            message = f"The machine {machine.name} has no state {event.to[:80]!r}."
            return attempt.refused("unknown_state", message, f"Its states are {', '.join(machine.states)}.")
        if event.to not in {rule.to for rule in rules}:
            return _not_there(attempt, event.to)
    return attempt.refused("condition_unmet", f"{attempt.what} is not possible in {state!r} as things are.")


def _not_there(attempt: Candidate, to: str) -> Refused:
    state = attempt.before.state
    command = attempt.machine.form.commands.get(attempt.event.command or "")
    if command and command.lock and state in command.inputs and to in command.outputs:
        message = f"The command {attempt.event.command} finishes from {command.lock!r}, and this is {state!r}."
        return attempt.refused("lock_unclaimed", message, "Claim it with the intent lock, then try again.")
    return attempt.refused("target_not_allowed", f"{attempt.what} does not lead from {state!r} to {to!r}.")


def _off_path(machine: Machine, snapshot: Snapshot, event: Event) -> Accepted | None:
    """In a machine that observes, a move to a named state is recorded as what it is."""
    if not machine.observes or event.to not in machine.targets.get(event.name, ()):
        return None
    if event.actor.kind not in machine.actors[event.name]:
        return None
    if event.to == snapshot.state:
        return Accepted(snapshot, warning=f"already in {event.to!r}")
    usual = [one.to for one, _ in machine.outgoing[snapshot.state] if one.on == event.name and not one.off_path]
    hint = f"; usual here: {', '.join(usual)}" if usual else ""
    warning = f"{snapshot.state!r} to {event.to!r} is off the path{hint}"
    assert event.to is not None  # it is one of the targets
    target = machine.states[event.to]
    outcome = (target.outcome or target.label or event.to) if target.terminal else None
    return Accepted(replace(snapshot, state=event.to, outcome=outcome), off_path=True, warning=warning)
