"""What a refused handoff says: why, and the exact calls that are possible instead, found by trying them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from interlock.errors import InterlockError, Refusal
from interlock.machine import Accepted, Actor, ActorKind, Channel, Machine, Snapshot, step
from interlock.machine.commands import Handoff, resolve, resolve_for_person
from interlock.work.tickets.locks import spoken
from interlock.work.tickets.move_checks import MoveRequest, check_move, events_of
from interlock.work.tickets.pipeline import escalated

if TYPE_CHECKING:
    from interlock.work.tickets.ticket_table import TicketRow

__all__ = ["command_of", "instead", "possible"]

_MOST = 3
_LEAVE = "Leave it to them and take other work: next_ticket."
_PEOPLE = frozenset({"person_needed", "refused_by_rule", "proof_required"})


def instead(
    error: Refusal,
    machine: Machine,
    line: TicketRow,
    snapshot: Snapshot,
    asked: MoveRequest,
    command: str | None,
) -> Refusal:
    """The refusal of a handoff as whoever asked should read it; calls of the command that was asked for come first."""
    actor, holder = asked.actor, asked.holder
    said = f"Ticket {line.number} in {line.state!r}: {error.message[:1].lower()}{error.message[1:]}"
    if error.code == "lock_held" and snapshot.holder is not None:
        said = f"Ticket {line.number} is held by {spoken(snapshot.holder, line.held_by)}."
    if error.code == "evidence_required" and holder is None:
        said = f"Ticket {line.number}: a lock needs a holder, and it is not known which agent asks."
        return Refusal("evidence_required", said, _begin(line), error.details)
    hints = [_hint(error, machine, line, actor)]
    calls = [_call(actor, line.number, one) for one in possible(machine, snapshot, asked, command)]
    if calls:
        hints.append(f"Possible now: {'; '.join(calls[:_MOST])}.")
    elif snapshot.outcome is not None:
        hints = [f"It has ended ({snapshot.outcome}); for more work make a new ticket."]
    told = " ".join(one for one in hints if one)
    return Refusal(error.code, said, told or _otherwise(line, holder), error.details)


def _begin(line: TicketRow) -> str:
    call = f'create_ralph_session({{"ticketId": "{line.number}"}})'
    return f"Begin a session with {call}, then give its id as sessionId."


def _otherwise(line: TicketRow, holder: str | None) -> str:
    """What to do where nothing can be done with the ticket."""
    if line.holder is not None and line.holder != holder:
        return f"It is held by {spoken(line.holder, line.held_by)}. {_LEAVE}"
    return _begin(line) if holder is None else "Nothing can be done with it now; take other work: next_ticket."


def _hint(error: Refusal, machine: Machine, line: TicketRow, actor: Actor) -> str:
    if actor.kind == ActorKind.HUMAN:
        return "" if error.hint.startswith("Allowed now") else error.hint
    if error.code == "lock_held":
        return _LEAVE
    if line.state == escalated(machine):
        return "Only a person moves it on from here. Stop, and say what has to be decided."
    if error.code in _PEOPLE:
        asked = f"`ralph ticket handoff {line.number} …` in their own terminal"
        return f"This needs a person: {asked}. Stop here, and say what has to be decided."
    return "" if error.hint.startswith("Allowed now") else error.hint


def possible(machine: Machine, snapshot: Snapshot, asked: MoveRequest, first: str | None = None) -> list[Handoff]:
    """Every handoff that this caller can make now; those of one command first."""
    found: dict[tuple[str | None, str, str], Handoff] = {}
    for wanted in _wishes(machine, snapshot.state, asked.actor):
        to = _reached(machine, snapshot, asked, wanted)
        if to is not None:
            found.setdefault((wanted.command, wanted.event, to), wanted)
    aside = {meaning.commands.get("*") for meaning in machine.form.intents.values()}
    return sorted(found.values(), key=lambda one: (one.command != first, one.to in aside, one.to == snapshot.state))


def _reached(machine: Machine, snapshot: Snapshot, asked: MoveRequest, wanted: Handoff) -> str | None:
    """The state that a handoff would lead to; None if it would be refused or change nothing."""
    try:
        check_move(machine, snapshot.state, asked, wanted)
    except Refusal:
        return None
    seen, event = events_of(machine, snapshot, asked, wanted, "asked")
    observed = step(machine, snapshot, seen) if seen is not None else None
    before = observed.snapshot if isinstance(observed, Accepted) else snapshot
    result = step(machine, before, event)
    return result.snapshot.state if isinstance(result, Accepted) and result.changed else None


def _wishes(machine: Machine, state: str, actor: Actor) -> Iterator[Handoff]:
    person = actor.kind == ActorKind.HUMAN
    for command, one in {None: None}.items() if person else machine.form.commands.items():
        if one is not None and one.internal:
            continue
        wishes = [{"intent": intent} for intent in machine.form.intents]
        wishes += [{"to": to} for to in (machine.states if one is None else one.outputs)]
        for wish in wishes:
            try:
                if command is None:
                    yield resolve_for_person(machine, state, **wish)
                else:
                    yield resolve(machine, command, **wish)
            except InterlockError:
                continue


def _call(actor: Actor, number: int, wanted: Handoff) -> str:
    """The call as it is made over the channel that was asked over."""
    import json

    if actor.kind == ActorKind.AGENT and actor.channel != Channel.CLI:
        what = {"intent": wanted.intent} if wanted.intent else {"to_state": wanted.to}
        given = {"number": number, "command": wanted.command, **what, "reason": "…"}
        return f"handoff_ticket({json.dumps(given, ensure_ascii=False)}) → {wanted.to}"
    return f"`{command_of(number, wanted)}` → {wanted.to}"


def command_of(number: int, wanted: Handoff) -> str:
    """What makes a handoff on the command line."""
    words = [f"ralph ticket handoff {number}"]
    words += [f"--command {wanted.command}"] if wanted.command else []
    words += [f"--intent {wanted.intent}"] if wanted.intent else [f'--to-state "{wanted.to}"']
    return f"{' '.join(words)} --reason …"
