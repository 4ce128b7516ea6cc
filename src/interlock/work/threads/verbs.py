"""What people do with a thread: one verb for every edge that is theirs.

A verb says what it wants of the machine; how much of a person it needs is decided here: a person, a person at a
terminal, or one who passes a gate.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from interlock.errors import Conflict, InterlockError, Refusal, UsageError
from interlock.journal import Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.model import NOTED, OBSERVED
from interlock.machine.states import target_of
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.context import DriverContext
from interlock.work.formats.hashing import sha256_of
from interlock.work.gates.approval import approval, refused_attempt
from interlock.work.gates.presence import Person, Presence
from interlock.work.threads.attending import attending, look, step_of
from interlock.work.threads.children import close_left
from interlock.work.threads.choices import GATE_EVENTS, PersonNeed, need_of
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.projecting import project
from interlock.work.threads.reading import ACTIVE, named_thread, read_thread
from interlock.work.threads.record import Config, Thread
from interlock.work.threads.replay import thread_of
from interlock.work.threads.ticket_link import check_ticket, open_for
from interlock.work.tickets.threads import rest
from interlock.work.views.gate import GateView, gate_view, subjects_of
from interlock.world.redaction import redacted

__all__ = [
    "act",
    "add_context",
    "configure",
    "gate_at",
    "must_be_person",
    "new_thread",
    "open_checkout",
    "pause",
    "revise_spec",
    "use_thread",
]

_MAX_TITLE = 200
_MAX_SPEC = 200_000
_MAX_CONTEXT = 10_000
_SOMEBODY = Actor(ActorKind.HUMAN, "somebody", Channel.CLI)


# Making a thread and its spec


def new_thread(context: DriverContext, actor: Actor, title: str, mode: str, ticket: str | int | None = None) -> Thread:
    """A new thread, in Drafting; for a ticket, it is the only one that is open, and holds the ticket.

    It becomes the active one, unless an agent begins it: which thread is active is chosen by people.
    """
    title = " ".join(redacted(title).split())
    if not title or len(title) > _MAX_TITLE or not title.isprintable():
        message = f"A title is one line of 1 to {_MAX_TITLE} printable characters."
        raise UsageError("invalid_argument", message, 'Such as `ralph thread new "Greet in French"`.')
    names = () if actor.kind == ActorKind.AGENT else (ACTIVE,)
    event = Event("created", actor, evidence=Evidence(settings={"mode": mode}, data={"title": title}, names=names))
    made = context.journal.transact(partial(open_for, event=event, called=ticket))
    return _projected(context, made, is_chosen=bool(names))


def use_thread(context: DriverContext, id_: str, actor: Actor) -> Thread:
    """Make a thread the active one: the one that a verb without an id is about."""
    must_be_person(context, id_, actor, "use")
    known = named_thread(context.journal)
    if known is None or known.id != id_:
        evidence = Evidence(data={"type": "used"}, names=(ACTIVE,))
        context.journal.append(id_, Event(NOTED, actor, evidence=evidence))
    return _projected(context, id_, is_chosen=True)


def revise_spec(context: DriverContext, id_: str, actor: Actor, text: str, *, on: int | None = None) -> Thread:
    """A new revision of the spec; the ones before it stay as they are.

    `on` is the number of the revision that it was made from, 0 where there was none: one that somebody wrote since
    stays the last.
    """
    context.journal.transact(lambda transaction: _revise(transaction, id_, actor, redacted(text), on))
    return _projected(context, id_)


def _revise(transaction: Transaction, id_: str, actor: Actor, text: str, on: int | None) -> None:
    thread = thread_of(transaction.history(id_))
    if thread.state != "Drafting":
        machine = transaction.machine_of(transaction.instance(id_))
        verb = "revise" if target_of(machine, thread.state, "reopen") is None else "reopen"
        message = f"The spec of a thread in {thread.state} is not written any more."
        raise Refusal("not_allowed", message, f"`ralph thread {verb}` goes back to it.")
    if not text.strip() or len(text) > _MAX_SPEC or "\0" in text:
        message = f"A spec is a text of 1 to {_MAX_SPEC} characters."
        raise UsageError("invalid_argument", message, "`ralph thread spec --template` shows its form.")
    known = thread.revision
    if known is not None and known.text == text:
        return
    number = known.number + 1 if known is not None else 1
    if on not in (None, number - 1):
        message = f"Revision {number - 1} of the spec was written meanwhile, and this is made from another."
        raise Conflict("conflict", message, "Look at it, then say again what is to be different.")
    transaction.append(id_, _noted(actor, "revised", revision=number, sha256=sha256_of(text), text=text))


def add_context(context: DriverContext, id_: str, person: Person, text: str) -> Thread:
    """Tell the next agent something, once. It steers an agent, so it is said by a person at a terminal."""
    if not text.strip() or len(text) > _MAX_CONTEXT:
        message = f"Context is a text of 1 to {_MAX_CONTEXT} characters."
        raise UsageError("invalid_argument", message, "Say it shortly.")
    _must_be_there(context, id_, person, "context")
    context.journal.append(id_, _noted(person.actor, "context_added", text=redacted(text.strip())))
    return read_thread(context.journal, id_)


def _noted(actor: Actor, type_: str, **data: Any) -> Event:
    return Event(NOTED, actor, evidence=Evidence(data={"type": type_, **data}))


def _projected(context: DriverContext, id_: str, *, is_chosen: bool = False) -> Thread:
    thread = read_thread(context.journal, id_)
    project(context, thread, is_chosen=is_chosen)
    return thread


# Moving it


def act(
    context: DriverContext,
    id_: str,
    person: Person,
    name: str,
    *,
    reason: str | None = None,
    **data: Any,
) -> Thread:
    """Make a person's move. A gate shows what it is about, asks, and keeps what was said with it."""
    if name in GATE_EVENTS:
        _present(context, id_, person, name)
    step = step_of(context, id_, None)
    if name in ("approve", "commit", "ready", "polished") and look(step):
        step = step_of(context, id_, None)
        project(context, step.thread)  # what was seen stays seen, also where the verb is refused
    need = need_of(step.machine, step.thread.state, name)
    check_ticket(context.journal, id_, name)  # before anybody is asked
    subjects = subjects_of(step, name)
    if need is PersonNeed.GATE:
        presence = _present(context, id_, person, name)
        asked = gate_view(step, name, presence.actor)
        assert asked is not None
        data["approval"] = approval(
            context.journal, presence, id_, asked.gate, asked.sha256, event=name, shown=asked.shown, choice=name
        )
        actor = presence.actor
        expected = _unchanged(context, step)
    else:
        actor, expected = person.actor, None
        if need is PersonNeed.TERMINAL:
            _must_be_there(context, id_, person, name)
        must_be_person(context, id_, actor, name)
        asked = gate_view(step, name, actor)
        if asked is not None:
            if not _present(context, id_, person, name).confirm(asked.shown, asked.question, asked.word):
                raise Refusal("gate_declined", "Nothing was reset.", "Run it again to be asked again.")
            expected = _unchanged(context, step)
    evidence = Evidence(data=data, subjects=subjects) if data or subjects else None
    event = Event(name, actor, reason=reason, evidence=evidence)

    def move(transaction: Transaction) -> None:  # as one: what the thread drives no more takes no more events
        check_ticket(transaction, id_, name)
        transaction.append(id_, event, expected=expected)
        close_left(transaction, id_, step.config.driver)

    context.journal.transact(move)
    return _projected(context, id_)


def gate_at(context: DriverContext, id_: str, name: str, *, looks: bool = False) -> GateView | None:
    """Return what `act` would ask for a move now; None if it asks nothing. Refuses what could not be made anyway.

    It writes nothing, unless it `looks` at the files first, as `act` does.
    """
    step = step_of(context, id_, None)
    if looks and look(step):
        step = step_of(context, id_, None)
        project(context, step.thread)
    check_ticket(context.journal, id_, name)
    return gate_view(step, name, _SOMEBODY)


def open_checkout(context: DriverContext, id_: str, person: Person) -> Path:
    """Return a checkout in which the person edits the work; it is made if there is none."""
    must_be_person(context, id_, person.actor, "edit")
    with attending(context, id_) as held:
        step = step_of(held.context, id_, held.lease)
        if step.thread.branch is None or step.thread.outcome is not None:
            message = f"A thread in {step.thread.state} has no work to edit."
            raise Refusal("not_allowed", message, "`ralph thread start` begins it.")
        return step.tree.open_checkout()


def _unchanged(context: DriverContext, step: ThreadStep) -> int:
    """The version at which a thread still is what a person was shown; refuses where it became another meanwhile."""
    now = step_of(context, step.thread.id, None)
    if _weighed(now) != _weighed(step):
        message = "The thread changed while you looked at it, so what you decided on is not what it is now."
        raise Conflict("conflict", message, "Look at it again: run the same command once more.")
    return now.thread.version


def _weighed(step: ThreadStep) -> tuple[object, ...]:
    """What a person weighs at a gate. A refused attempt of somebody else changes none of it."""
    thread = step.thread
    known = (thread.state, thread.entered, thread.revision, thread.baseline, thread.branch, thread.place)
    return *known, thread.receipt, thread.diagnosis, thread.message, step.snapshot.subjects, step.snapshot.proofs


def must_be_person(context: DriverContext, id_: str, actor: Actor, name: str) -> None:
    """Refuse what is a person's to whoever is none, and keep that it was tried."""
    if actor.kind != ActorKind.HUMAN:
        message = f"Only a person may {name.replace('_', ' ')} a thread, and this is the agent {actor.id}."
        refused_attempt(context.journal, id_, actor, name, message)
        raise Refusal("person_needed", message, "Say in your last lines what you need, and leave it to the person.")


def _must_be_there(context: DriverContext, id_: str, person: Person, name: str) -> None:
    """Refuse a caller that is not a person at a terminal, and record the attempt."""
    must_be_person(context, id_, person.actor, name)
    if not person.is_at_terminal():
        message = f"{name} is a person's decision, and there is no terminal here at which one could make it."
        refused_attempt(context.journal, id_, person.actor, name, message)
        raise Refusal("person_needed", message, f"Type `ralph thread {name}` in a terminal yourself.")
    person.vouch(id_, name)


def _present(context: DriverContext, id_: str, person: Person, name: str) -> Presence:
    """A proof of presence; an attempt without one is refused, and kept."""
    try:
        return person.presence()
    except InterlockError as error:
        refused_attempt(context.journal, id_, person.actor, name, error.message)
        raise


def pause(context: DriverContext, id_: str, person: Person) -> Thread:
    """Let the loop rest; what verifies is stopped first."""
    must_be_person(context, id_, person.actor, "pause")
    context.journal.transact(lambda transaction: rest(transaction, id_, person.actor))
    return _projected(context, id_)


def configure(context: DriverContext, id_: str, person: Person, config: Config, mode: str | None = None) -> Thread:
    """Choose how the loop runs: who works, for how long, what it may cost."""
    must_be_person(context, id_, person.actor, "configure")
    if not config.is_bounded:
        message = "A loop without a limit of iterations needs a budget."
        raise UsageError("invalid_argument", message, "Give --budget-usd, --budget-minutes or --budget-tokens.")
    thread = read_thread(context.journal, id_)
    is_begun = thread.place is not None
    if is_begun and thread.config is not None and config.isolation != thread.config.isolation:
        message = "Where a thread works is settled when it has begun."
        raise UsageError("invalid_argument", message, "Leave --isolation out.")
    for name in config.agents:
        context.agent(name)
    settings: dict[str, int | str] = {"iteration.limit": config.iterations}
    if mode is not None:
        settings["mode"] = mode
    data = {"config": msgspec.to_builtins(config), "by": person.actor.id}
    evidence = Evidence(settings=settings, data=msgspec.json.decode(msgspec.json.encode(data)))

    def choose(transaction: Transaction) -> None:
        transaction.append(id_, Event(OBSERVED, DRIVER, evidence=evidence))
        close_left(transaction, id_, config.driver)

    context.journal.transact(choose)
    return _projected(context, id_)
