"""What an event must bring before a transition that applies to it is made."""

from __future__ import annotations

import msgspec

from interlock.machine.model import Machine, Rule, Transition
from interlock.machine.refusal import refuse, what
from interlock.machine.values import ActorKind, Event, Evidence, Refused, Snapshot

__all__ = ["Candidate", "invalid", "is_task", "lacking", "refixed"]

_MAX_TASK = 200


class Candidate(msgspec.Struct, frozen=True):
    """An event on its way through the table."""

    machine: Machine
    before: Snapshot
    event: Event
    evidence: Evidence
    seen: Snapshot
    """The snapshot as the event saw it."""

    def refused(self, code: str, message: str, hint: str = "") -> Refused:
        return refuse(self.machine, self.before, code, message, hint)

    @property
    def what(self) -> str:
        return what(self.event)

    @property
    def by_person(self) -> bool:
        return self.event.actor.kind == ActorKind.HUMAN


def lacking(attempt: Candidate, transition: Transition) -> Refused | None:
    """What is missing for a transition that otherwise applies, if anything."""
    return (
        _wrong_target(attempt, transition)
        or _wrong_command(attempt, transition)
        or _wrong_holder(attempt, transition)
        or _missing(attempt, transition)
        or _unproven(attempt, transition)
        or _already_begun(attempt, transition)
    )


def _wrong_target(attempt: Candidate, transition: Transition) -> Refused | None:
    if attempt.event.to in (None, transition.to):
        return None
    message = f"{attempt.what} leads to {transition.to!r} here, not to {attempt.event.to!r}."
    return attempt.refused("target_not_allowed", message)


def _wrong_command(attempt: Candidate, transition: Transition) -> Refused | None:
    command, known = attempt.event.command, attempt.machine.form.commands
    if command is None:
        if attempt.event.actor.kind != ActorKind.AGENT or not transition.commands:
            return None
        message = f"{attempt.what} must name the command that makes it."
        return attempt.refused("command_required", message, f"Use one of: {', '.join(transition.commands)}.")
    if command in transition.commands or not known:
        return None
    if command not in known:
        offered = ", ".join(name for name, one in known.items() if not one.internal)
        return attempt.refused("unknown_command", f"There is no command {command[:80]!r}.", f"Use one of: {offered}.")
    makers = ", ".join(transition.commands) or "none; only a person makes this move"
    message = f"The command {command} does not lead from {attempt.before.state!r} to {transition.to!r}."
    return attempt.refused("command_not_allowed", message, f"Commands that do: {makers}.")


def _wrong_holder(attempt: Candidate, transition: Transition) -> Refused | None:
    state, held, wanted = attempt.before.state, attempt.before.holder, attempt.evidence.holder
    if transition.holds and not wanted:
        return attempt.refused("evidence_required", f"{attempt.what} must say who holds the lock.", "Give a holder.")
    if not attempt.machine.states[state].lock or attempt.by_person or transition.any_holder:
        return None
    if held is None and not transition.holds:
        message = f"{state!r} is a lock state that nobody holds yet."
        return attempt.refused("lock_unclaimed", message, "Claim it with the intent lock, then try again.")
    if held is not None and held != wanted:
        message = f"{state!r} is held by {held}."
        return attempt.refused("lock_held", message, "Take other work, or ask a person to release it.")
    return None


def _missing(attempt: Candidate, transition: Transition) -> Refused | None:
    for need in transition.needs:
        if not (attempt.event.reason if need == "reason" else attempt.evidence.data.get(need)):
            return attempt.refused("evidence_required", f"{attempt.what} needs {need!r}.", f"Give {need!r}.")
    for name in (transition.gate, transition.receipt):
        subject = attempt.machine.proofs[name].subject if name else ""
        if name and not attempt.evidence.subjects.get(subject):
            message = f"{attempt.what} must name the {subject} it is for, by hash."
            return attempt.refused("evidence_required", message, f"Give the hash of the {subject}.")
    if _wants_task(attempt, transition) and not attempt.evidence.task:
        return attempt.refused("evidence_required", f"{attempt.what} must name a task.", "Give the task's id.")
    return None


def _wants_task(attempt: Candidate, transition: Transition) -> bool:
    """Whether the event must name a task: to select it, because it is about it, or to count for one at all."""
    counters = attempt.machine.form.counters
    counts = any(counters[name].per for name in transition.count)
    return transition.selects or transition.names_task or (counts and attempt.before.task is None)


def _unproven(attempt: Candidate, transition: Transition) -> Refused | None:
    for name in transition.requires:
        if name not in attempt.seen.proofs:
            subject = attempt.machine.proofs[name].subject
            voided = name in attempt.before.proofs
            why = f"a change of the {subject} voided it" if voided else f"it was not given for this {subject}"
            message = f"{attempt.what} requires a valid {name!r}, and {why}."
            return attempt.refused("proof_required", message, f"Get {name!r} for the {subject} as it is now.")
    return None


def _already_begun(attempt: Candidate, transition: Transition) -> Refused | None:
    for effect in transition.effects:
        if effect in attempt.before.pending:
            message = f"{attempt.what} would begin {effect!r}, which was begun and is not settled."
            return attempt.refused("effect_pending", message, "Settle it first: ask the world what came of it.")
    return None


def invalid(machine: Machine, snapshot: Snapshot, event: Event, evidence: Evidence) -> Refused | None:
    """What is wrong with the evidence itself, whatever the table says."""
    wrong = (
        _invalid_facts(machine, snapshot.state, event, evidence)
        or _invalid_settings(machine, evidence)
        or _invalid_subjects(machine, snapshot, event, evidence)
        or _invalid_task(evidence)
    )
    return refuse(machine, snapshot, *wrong) if wrong else None


def _invalid_facts(machine: Machine, state: str, event: Event, evidence: Evidence) -> tuple[str, str, str] | None:
    known = machine.form.facts
    for name, value in evidence.facts.items():
        if name not in known or value not in known[name].values:
            values = ", ".join(known[name].values if name in known else known) or "none"
            return "fact_invalid", f"{name} = {value!r} is no fact of the machine {machine.name}.", f"Known: {values}."
    for name in sorted(machine.facts_of.get((state, event.name, event.actor.kind), ())):
        if name not in evidence.facts and known[name].default is None:
            values = ", ".join(known[name].values)
            return "fact_required", f"{what(event)} must bring the fact {name!r}.", f"One of: {values}."
    return None


def _invalid_settings(machine: Machine, evidence: Evidence) -> tuple[str, str, str] | None:
    for name, value in evidence.settings.items():
        choices = machine.form.settings[name].values if name in machine.form.settings else None
        fits = value in choices if choices else name in machine.settings and type(value) is int and value >= 0
        if not fits:
            message = f"{name} = {value!r} is no setting of the machine {machine.name}."
            return "setting_invalid", message, f"Known: {', '.join(choices or machine.settings) or 'none'}."
    return None


def _invalid_subjects(
    machine: Machine, snapshot: Snapshot, event: Event, evidence: Evidence
) -> tuple[str, str, str] | None:
    known = {proof.subject for proof in machine.proofs.values()}
    for name, found in evidence.subjects.items():
        if name not in known or not found:
            message = f"{name!r} is no subject of the machine {machine.name}, or its hash is empty."
            return "evidence_invalid", message, f"Known: {', '.join(sorted(known)) or 'none'}."
    if not evidence.subjects:
        return None
    rules = machine.rules.get((snapshot.state, event.name, event.actor.kind), ())
    return _refixed(machine, snapshot, evidence, {name for rule in rules for name in rule.unknown})


def refixed(attempt: Candidate, rule: Rule) -> Refused | None:
    """A subject that is fixed becomes another only on the way into a state that makes it anew."""
    wrong = _refixed(attempt.machine, attempt.before, attempt.evidence, set(rule.unknown))
    return attempt.refused(*wrong) if wrong else None


def _refixed(
    machine: Machine, snapshot: Snapshot, evidence: Evidence, made_anew: set[str]
) -> tuple[str, str, str] | None:
    fixed = {proof.subject for proof in machine.proofs.values() if proof.immutable} - made_anew
    for name, found in evidence.subjects.items():
        if name in fixed and snapshot.subjects.get(name, found) != found:
            message = f"The {name} is {snapshot.subjects[name]} and cannot become {found} in {snapshot.state!r}."
            return "evidence_invalid", message, f"Name the {name} as it was fixed, or go back to where it is made."
    return None


def _invalid_task(evidence: Evidence) -> tuple[str, str, str] | None:
    if evidence.task is None or is_task(evidence.task):
        return None
    message = f"A task's id is 1 to {_MAX_TASK} printable characters without ':', '/' and '\\'."
    return "evidence_invalid", message, "Rename the task."


def is_task(text: str) -> bool:
    """Whether a text can be the id of a task: it becomes part of a counter's key and of file names."""
    return 0 < len(text) <= _MAX_TASK and text.isprintable() and not set(text) & set(":/\\")
