"""A gate: what a person is asked before a move of a thread, or before a plan is built, the same for every face."""

from __future__ import annotations

import msgspec

from interlock.errors import Refusal
from interlock.machine import Actor, ActorKind, Event, Evidence, Refused
from interlock.machine import step as machine_step
from interlock.work.formats.hashing import sha256_of
from interlock.work.gates.approval import question_of
from interlock.work.threads.choices import PersonNeed, need_of, resets_files
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.showing import shown_at
from interlock.work.threads.spec import faults, parse_spec
from interlock.work.views.ticket import TicketView

__all__ = ["GateView", "gate_view", "plan_gate", "subjects_of"]


class GateView(msgspec.Struct, frozen=True, rename="camel"):
    """The question at a gate, or before another decision of a person: to reset files, or to build a plan."""

    event: str
    gate: str
    """The name of the machine's gate; empty for another decision."""
    subject: str
    """The approved thing: the spec, the tree, the diagnosis or the plan; empty where files are reset."""
    sha256: str
    """The hash of the subject."""
    shown: str
    """The text that the person reads before they decide."""
    question: str
    word: str
    """The word that the person types for yes."""


def gate_view(step: ThreadStep, event: str, actor: Actor) -> GateView | None:
    """Return what a person is asked before a move; None if nothing is. Refuses a move that could not be made anyway."""
    thread, machine = step.thread, step.machine
    if need_of(machine, thread.state, event) is not PersonNeed.GATE:
        if not resets_files(machine, thread.state, event):
            return None
        return GateView(event, "", "", "", _shown(step, event), f"Back to the spec of {thread.title!r}", event)
    gate, subject = _gate(step, event)
    subjects = subjects_of(step, event)
    _refuse_early(step, event, subjects, actor)
    question = question_of(step.context.journal.instance(thread.id), gate, subject, subjects[subject], choice=event)
    return GateView(event, gate, subject, subjects[subject], _shown(step, event), question, event)


def plan_gate(ticket: TicketView, text: str) -> GateView:
    """Return what a person is asked before a ticket is built by its plan, which is this text."""
    plan = ticket.plan or "none is attached"
    shown = f"#{ticket.number} {ticket.title}\nThe plan: {plan}\n\n{text}".rstrip()
    question = f"Build #{ticket.number} by this plan"
    return GateView("build", "", "plan", sha256_of(text), shown, question, "build")


def _shown(step: ThreadStep, event: str) -> str:
    return shown_at(step.thread, event, step.root)


def _gate(step: ThreadStep, event: str) -> tuple[str, str]:
    """The gate of an event and its subject; refuses where the event is not possible here."""
    machine, state = step.machine, step.thread.state
    for rule in machine.rules.get((state, event, ActorKind.HUMAN), ()):
        if rule.transition is not None and rule.transition.gate is not None:
            return rule.transition.gate, machine.proofs[rule.transition.gate].subject
    message = f"{event} is not possible in {state}."
    raise Refusal("not_allowed", message, "`ralph thread` shows what is.")


def subjects_of(step: ThreadStep, event: str) -> dict[str, str]:
    """Return what a move is about, by hash."""
    thread, known = step.thread, step.snapshot.subjects
    if event == "finalize" and thread.revision is not None:
        return {"spec": thread.revision.sha256}
    if event in ("approve", "commit", "polished") and "tree" in known:
        return {"tree": known["tree"]}
    if thread.state == "Stuck" and event in ("revise", "reconfigure", "assist"):
        return {"diagnosis": known["diagnosis"]}
    return {}


def _refuse_early(step: ThreadStep, event: str, subjects: dict[str, str], actor: Actor) -> None:
    """Refuse before a person is asked what they could not have anyway."""
    thread = step.thread
    if event == "finalize":
        if thread.revision is None:
            raise Refusal("spec_missing", "The thread has no spec yet.", "`ralph thread spec --edit` writes one.")
        wrong = faults(parse_spec(thread.revision.text))
        if wrong:
            raise Refusal("spec_invalid", f"The spec cannot be built from: {' '.join(wrong)}", "Fix it, then finalize.")
    elif event in ("approve", "commit") and not subjects:
        raise Refusal("proof_required", "Nothing is proven of these files.", "`ralph thread reverify` proves them.")
    tried = machine_step(step.machine, step.snapshot, Event(event, actor, evidence=Evidence(subjects=subjects)))
    if isinstance(tried, Refused):
        raise Refusal(tried.code, tried.message, tried.hint, {"allowed": msgspec.to_builtins(tried.allowed)})
