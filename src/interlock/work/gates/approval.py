"""Passing a gate: the person is shown what it is about, types the word and, where keys are enrolled, signs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from interlock.errors import InterlockError, Refusal
from interlock.journal import Instance, Journal
from interlock.journal.entry import GENESIS
from interlock.machine import Actor, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.formats.times import text_of
from interlock.work.gates.presence import AtTerminal, Presence
from interlock.work.gates.statement import VERSION, Approval, Head, Statement, digest_of
from interlock.work.gates.trust import Trust, trust_instance, trust_of
from interlock.world.ssh import Signature, is_signed

__all__ = ["REFUSED", "approval", "question_of", "refused_attempt", "vouch"]

REFUSED = "gate_refused"
"""The type of the note that keeps a refused attempt."""
_LONGEST = 1000
_NO_GATE = "presence"


def approval(
    journal: Journal,
    presence: Presence,
    instance_id: str,
    gate: str,
    subject_hash: str,
    *,
    event: str,
    shown: str,
    choice: str = "",
    subject: str | None = None,
    word: str | None = None,
    trust: Trust | None = None,
) -> dict[str, Any]:
    """Ask the person and give what goes into the event's evidence as `data["approval"]`.

    It holds for one event of one instance and for one hash. The subject is the gate's own where none is named, and
    the word to type is the event's name. A no, and a signature that is missing, raise, and are kept as attempts. One of
    the keys of `trust` signs, or nobody where it has none; who gives it has entered the presence already.
    """
    if trust is None:
        presence.enter(journal)
        trust = trust_of(journal)
    instance = journal.instance(instance_id)
    name = subject or journal.machine_of(instance).form.gates[gate].subject
    about = question_of(instance, gate, name, subject_hash, choice)
    try:
        is_yes = presence.confirm(shown, about, word or event)
    except Refusal as refusal:  # such as a code that is wrong
        refused_attempt(journal, instance.id, presence.actor, gate, refusal.message)
        raise
    if not is_yes:
        why = f"the answer was not {word or event!r}"
        refused_attempt(journal, instance.id, presence.actor, gate, why)
        raise Refusal("gate_declined", f"The gate {gate} was not passed: {why}.", "Run it again to be asked again.")
    statement = Statement(
        version=VERSION,
        repository=trust_instance(journal),
        machine=instance.machine,
        instance=instance.id,
        event=event,
        gate=gate,
        subject=name,
        hash=subject_hash,
        choice=choice,
        shown=digest_of(shown),
        person=presence.actor.id,
        channel=str(presence.actor.channel),
        time=text_of(journal.now()),
        head=_head(journal),
    )
    if not trust.enrolled:
        return _plain(Approval(statement))
    signature = _signature(presence, statement, trust)
    if signature is None:
        refused_attempt(journal, instance.id, presence.actor, gate, "no enrolled key signed")
        message = f"The gate {gate} was not passed: keys are enrolled, and none of them signed."
        hint = "`ralph gate list` shows them; the private half of one must be here, and its owner must unlock it."
        raise Refusal("signature_required", message, hint)
    return _plain(Approval(statement, signature.key, signature.text))


def vouch(journal: Journal, presence: AtTerminal, instance_id: str, name: str) -> None:
    """Prove a person for a move outside the gates; where a terminal proves nothing, a key signs.

    What is signed is the move, the moment and the journal's head, in the form of an approval at no gate of any machine.
    """
    try:
        presence.enter(journal)
    except Refusal as refusal:
        refused_attempt(journal, instance_id, presence.actor, name, refusal.message)
        raise
    if not presence.doubt:
        return
    instance, trust = journal.instance(instance_id), trust_of(journal)
    statement = Statement(
        version=VERSION,
        repository=trust_instance(journal),
        machine=instance.machine,
        instance=instance.id,
        event=name,
        gate=_NO_GATE,
        subject=_NO_GATE,
        hash="",
        choice=name,
        shown="",
        person=presence.actor.id,
        channel=str(presence.actor.channel),
        time=text_of(journal.now()),
        head=_head(journal),
    )
    if _signature(presence, statement, trust) is None:
        refused_attempt(journal, instance_id, presence.actor, name, "no enrolled key signed")
        message = f"{name} was not done: {presence.doubt}, and no key with a passphrase or a touch signed."
        raise Refusal("signature_required", message, "`ralph gate list` shows the keys; unlock one when asked.")


def question_of(instance: Instance, gate: str, subject: str, subject_hash: str, choice: str = "") -> str:
    """What is asked at a gate: it names the instance, the choice, and what is approved by its hash."""
    return f"Gate {gate} of {instance.machine} {instance.id}{f', {choice}' if choice else ''}\n{subject} {subject_hash}"


def _signature(presence: Presence, statement: Statement, trust: Trust) -> Signature | None:
    """A signature that holds, by a key that is enrolled."""
    made = presence.sign(statement.canonical(), trust.enrolled)
    by = [key for key in trust.enrolled if made is not None and key.fingerprint == made.key]
    holds = made is not None and by and is_signed(statement.canonical(), made.text, by[0].public)
    return made if holds else None


def _plain(given: Approval) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(given)
    return made


def _head(journal: Journal) -> Head:
    seq = journal.head()
    newest = journal.entries(seq - 1, most=1) if seq else []
    return Head(newest[0].seq, newest[0].hash) if newest else Head(0, GENESIS)


def refused_attempt(journal: Journal, instance_id: str, actor: Actor, gate: str, why: str) -> None:
    """Keep that somebody tried to pass a gate and was refused. It moves nothing, and never fails in the way of it."""
    data = {"type": REFUSED, "gate": gate, "why": why[:_LONGEST]}
    with suppress(InterlockError):
        journal.append(instance_id, Event(NOTED, actor, evidence=Evidence(data=data)))
