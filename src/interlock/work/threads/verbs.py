"""What people do with a thread: one verb for every edge that is theirs.

A verb says what it wants of the machine; how much of a person it needs is decided here: a person, a person at a
terminal, or one who passes a gate.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any

import msgspec

from interlock.errors import Conflict, InterlockError, Refusal, UsageError
from interlock.journal import Transaction
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence, Machine, Refused
from interlock.machine import step as machine_step
from interlock.machine.model import NOTED, OBSERVED
from interlock.machine.states import target_of
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.context import DriverContext
from interlock.work.formats.hashing import sha256_of
from interlock.work.gates.approval import approval, question_of, refused_attempt
from interlock.work.gates.person import Person
from interlock.work.gates.presence import Presence
from interlock.work.threads.active import ACTIVE, named_thread
from interlock.work.threads.attending import look, step_of
from interlock.work.threads.children import close_left
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.projecting import project
from interlock.work.threads.reading import read_thread
from interlock.work.threads.record import Config, Thread
from interlock.work.threads.replay import thread_of
from interlock.work.threads.spec import faults, parse_spec
from interlock.work.threads.ticket_link import check_ticket, open_for
from interlock.work.tickets.threads import rest
from interlock.world.redaction import redacted

__all__ = [
    "Confirmation",
    "PersonNeed",
    "act",
    "add_context",
    "configure",
    "must_be_person",
    "need_of",
    "new_thread",
    "pause",
    "question_at",
    "resets_files",
    "revise_spec",
    "use_thread",
]

_MAX_TITLE = 200
_MAX_SPEC = 200_000
_MAX_CONTEXT = 10_000
_TERMINAL = frozenset({"reject", "revise", "reconfigure", "resume", "withdraw"})
_CHECKPOINTS = frozenset({("Stuck", "abandon")})
"""The moves that need a person at a terminal in one state only."""
_GATE_EVENTS = frozenset({"finalize", "assist", "approve", "commit"})
"""The events that are a gate wherever they are possible: whoever is no person is told so before anything else."""

_RESET = "reset_workspace"
_SOMEBODY = Actor(ActorKind.HUMAN, "somebody", Channel.CLI)


class PersonNeed(IntEnum):
    """How much of a person a move needs."""

    PERSON = 1
    TERMINAL = 2
    GATE = 3


class Confirmation(msgspec.Struct, frozen=True):
    """What a person is asked before a move is made: what is shown, the question, and the word that is yes."""

    shown: str
    text: str
    word: str


def need_of(machine: Machine, state: str, event: str) -> PersonNeed:
    """What an event needs in a state; the machine's gates decide, and the design's list of what needs a terminal."""
    rules = machine.rules.get((state, event, ActorKind.HUMAN), ())
    if event in _GATE_EVENTS or any(rule.transition is not None and rule.transition.gate for rule in rules):
        return PersonNeed.GATE
    return PersonNeed.TERMINAL if event in _TERMINAL or (state, event) in _CHECKPOINTS else PersonNeed.PERSON


def resets_files(machine: Machine, state: str, event: str) -> bool:
    """True if a person's move puts the files back to where the thread began."""
    rules = machine.rules.get((state, event, ActorKind.HUMAN), ())
    return any(rule.transition is not None and _RESET in rule.transition.effects for rule in rules)


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
    shown: Callable[[Thread], str] = lambda thread: thread.title,
    **data: Any,
) -> Thread:
    """Make a person's move. A gate shows what it is about, asks, and keeps what was said with it."""
    if name in _GATE_EVENTS:
        _present(context, id_, person, name)
    step = step_of(context, id_, None)
    if name in ("approve", "commit", "ready", "polished") and look(step):
        step = step_of(context, id_, None)
        project(context, step.thread)  # what was seen stays seen, also where the verb is refused
    thread, need = step.thread, need_of(step.machine, step.thread.state, name)
    check_ticket(context.journal, id_, name)  # before anybody is asked
    subjects = _subjects(thread, step.snapshot.subjects, name)
    if need is PersonNeed.GATE:
        presence = _present(context, id_, person, name)
        gate, subject = _gate(step.machine, thread.state, name)
        _refuse_early(step, name, subjects, presence.actor)
        given = approval(
            context.journal, presence, id_, gate, subjects[subject], event=name, shown=shown(thread), choice=name
        )
        data["approval"] = given
        actor = presence.actor
        expected = _unchanged(context, step)
    else:
        actor, expected = person.actor, None
        if need is PersonNeed.TERMINAL:
            _must_be_there(context, id_, person, name)
        must_be_person(context, id_, actor, name)
        if resets_files(step.machine, thread.state, name):
            _ask_to_reset(_present(context, id_, person, name), thread, shown(thread))
            expected = _unchanged(context, step)
    evidence = Evidence(data=data, subjects=subjects) if data or subjects else None
    event = Event(name, actor, reason=reason, evidence=evidence)

    def move(transaction: Transaction) -> None:  # as one: what the thread drives no more takes no more events
        check_ticket(transaction, id_, name)
        transaction.append(id_, event, expected=expected)
        close_left(transaction, id_, step.config.driver)

    context.journal.transact(move)
    return _projected(context, id_)


def question_at(
    context: DriverContext, id_: str, name: str, shown: Callable[[Thread], str], *, looks: bool = False
) -> Confirmation | None:
    """What `act` would ask for a move now; None where it asks nothing. Refuses what could not be made anyway.

    It writes nothing, unless it `looks` at the files first, as `act` does.
    """
    step = step_of(context, id_, None)
    if looks and look(step):
        step = step_of(context, id_, None)
        project(context, step.thread)
    thread = step.thread
    check_ticket(context.journal, id_, name)
    if need_of(step.machine, thread.state, name) is not PersonNeed.GATE:
        resets = resets_files(step.machine, thread.state, name)
        return Confirmation(shown(thread), _resetting(thread), name) if resets else None
    gate, subject = _gate(step.machine, thread.state, name)
    subjects = _subjects(thread, step.snapshot.subjects, name)
    _refuse_early(step, name, subjects, _SOMEBODY)
    text = question_of(context.journal.instance(id_), gate, subject, subjects[subject], choice=name)
    return Confirmation(shown(thread), text, name)


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


def _ask_to_reset(presence: Presence, thread: Thread, shown: str) -> None:
    """What was built is put away, so it is asked for once more; it is no gate, as all of it can be brought back."""
    if not presence.confirm(shown, _resetting(thread), "revise"):
        raise Refusal("gate_declined", "Nothing was reset.", "Run it again to be asked again.")


def _resetting(thread: Thread) -> str:
    return f"Back to the spec of {thread.title!r}"


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


def _gate(machine: Machine, state: str, event: str) -> tuple[str, str]:
    """The gate of an event and its subject; refuses where the event is not possible here."""
    for rule in machine.rules.get((state, event, ActorKind.HUMAN), ()):
        if rule.transition is not None and rule.transition.gate is not None:
            return rule.transition.gate, machine.proofs[rule.transition.gate].subject
    message = f"{event} is not possible in {state}."
    raise Refusal("not_allowed", message, "`ralph thread` shows what is.")


def _subjects(thread: Thread, known: dict[str, str], event: str) -> dict[str, str]:
    """What a move is about, by hash."""
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
            raise Refusal(
                "spec_invalid", f"The spec cannot be built from: {' '.join(wrong)}", "Mend it, then finalize."
            )
    elif event in ("approve", "commit") and not subjects:
        raise Refusal("proof_required", "Nothing is proven of these files.", "`ralph thread reverify` proves them.")
    tried = machine_step(step.machine, step.snapshot, Event(event, actor, evidence=Evidence(subjects=subjects)))
    if isinstance(tried, Refused):
        raise Refusal(tried.code, tried.message, tried.hint, {"allowed": msgspec.to_builtins(tried.allowed)})


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
