"""The one door: every move of a ticket goes through `handoff`, whoever asks for it and however.

It resolves what is asked for, ends the lock of a holder that is gone, lets the machine decide, and answers with what
comes next. A refusal changes nothing, and ends with the calls that are possible instead.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from interlock.errors import Refusal
from interlock.journal import Entry, Instance, Recorded, Transaction
from interlock.machine import ActorKind, Event, Machine, Snapshot
from interlock.machine.commands import Handoff, normalise_command, normalise_intent, resolve, resolve_for_person
from interlock.machine.refusal import allowed
from interlock.work.sessions.verbs import TIMEOUT_SECONDS, Caller
from interlock.work.tickets.advice import instead
from interlock.work.tickets.fields import reason_text
from interlock.work.tickets.locks import claim, expire, identities, lease_of, spoken, the_holder
from interlock.work.tickets.move_checks import MoveRequest, check_move, events_of, refuse_beside
from interlock.work.tickets.numbers import find_ticket, known_ticket
from interlock.work.tickets.threads import follow_ticket, open_thread
from interlock.work.tickets.ticket_table import TICKETS, line_of

__all__ = ["Guidance", "Handed", "guidance", "handoff"]

_MOVES = ("handoff", "lock", "release")


class Guidance(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What the new state means for whoever goes on."""

    is_lock_state: bool
    is_terminal: bool
    requires_human_action: bool
    allowed_next_transitions: list[str]
    expected_by_commands: list[str]
    only_by_a_person: list[str] = []
    """Those of the next transitions that no agent makes."""
    holder: str | None = None
    note: str | None = None


class Handed(msgspec.Struct, frozen=True, rename="camel"):
    """A ticket that was handed on."""

    number: int
    previous_state: str
    new_state: str
    intent: str | None
    command: str | None
    reason: str
    guidance: Guidance


def handoff(
    caller: Caller,
    called: str | int,
    *,
    reason: str,
    command: str | None = None,
    intent: str | None = None,
    to: str | None = None,
    plan_review: str = "human",
    merged: str | None = None,
    present: bool = True,
    timeout: float = TIMEOUT_SECONDS,
    key: str | None = None,
) -> Callable[[Transaction], Handed]:
    """Move a ticket on, by an intent of a command or to a named state.

    `merged` is a commit of the ticket that was seen in the target branch: the receipt that a merge needs. A person
    who is not `present` at a terminal makes only the moves that an agent could make as well.
    """

    def work(transaction: Transaction) -> Handed:
        ticket = known_ticket(transaction, called)
        said = reason_text(reason)
        made = _made_before(transaction, ticket, key, command, intent, to)
        if made is not None:
            first = transaction.append(ticket.id, made.as_event(transaction.machine_of(ticket)), key=key)
            return _handed(transaction, called, ticket, caller, first)
        if expire(transaction, ticket):
            ticket = transaction.instance(ticket.id)
        machine = transaction.machine_of(ticket)
        holder = the_holder(identities(transaction, caller), ticket.snapshot.holder)
        thread, settings = open_thread(transaction, ticket.id), _settings(ticket, plan_review)
        asked = MoveRequest(caller.actor, holder, present, thread, merged, settings)
        refuse_beside(asked)  # whatever is wanted
        try:
            wanted = _wanted(machine, ticket, caller, command, intent, to)
            check_move(machine, ticket.state, asked, wanted)
            seen, event = events_of(machine, ticket.snapshot, asked, wanted, said)
            if seen is not None:
                _observe(transaction, ticket, seen)
            recorded = transaction.append(ticket.id, event, key=key)
        except Refusal as error:
            line = line_of(transaction.project(TICKETS), ticket.id)
            name = normalise_command(command) if command else None
            raise instead(error, machine, line, ticket.snapshot, asked, name) from None
        if wanted.event == "lock" and holder is not None:
            claim(transaction, ticket, caller, holder, timeout)  # a second time it is held for longer
        elif recorded.written and recorded.snapshot.holder is None:
            transaction.vacate(lease_of(ticket.id))
        follow_ticket(transaction, recorded, caller.actor)
        if wanted.event == "lock" and not recorded.written:
            told = guidance(machine, recorded.snapshot, caller.actor.id, again=True)
            number, state = _number(transaction, called, ticket), recorded.snapshot.state
            return Handed(number, state, state, wanted.intent, wanted.command, said, told)
        return _handed(transaction, called, ticket, caller, recorded)

    return work


def _handed(
    transaction: Transaction, called: str | int, ticket: Instance, caller: Caller, recorded: Recorded
) -> Handed:
    """What is told of a move that was made, now or by the same call before."""
    entry = recorded.entry
    held_by = caller.actor.id if entry.event == "lock" else None
    return Handed(
        number=_number(transaction, called, ticket),
        previous_state=entry.from_state or entry.to_state,
        new_state=entry.to_state,
        intent=entry.decoded_evidence().data.get("intent"),
        command=entry.command,
        reason=entry.reason or "",
        guidance=guidance(transaction.machine_of(ticket), recorded.snapshot, held_by),
    )


def _made_before(
    transaction: Transaction, ticket: Instance, key: str | None, command: str | None, intent: str | None, to: str | None
) -> Entry | None:
    """The entry that the same call made: what it asked for may mean something else where the ticket is now."""
    made = None if key is None else next((one for one in transaction.history(ticket.id) if one.key == key), None)
    if made is None or made.event not in _MOVES or to not in (None, made.to_state):
        return None
    asked = (command and normalise_command(command), intent and normalise_intent(intent))
    return made if asked == (made.command, made.decoded_evidence().data.get("intent")) else None


def _number(transaction: Transaction, called: str | int, ticket: Instance) -> int:
    """The number that a ticket was called by, or else the one that it has; the table is asked only where it must be."""
    digits = str(called).removeprefix("#")
    found = find_ticket(transaction, digits) if digits.isascii() and digits.isdigit() else None
    if found is not None and found.id == ticket.id:
        return int(digits)
    return line_of(transaction.project(TICKETS), ticket.id).number


def _wanted(
    machine: Machine, ticket: Instance, caller: Caller, command: str | None, intent: str | None, to: str | None
) -> Handoff:
    if command is not None:
        return resolve(machine, command, intent=intent, to=to)
    if caller.actor.kind == ActorKind.AGENT:
        offered = ", ".join(name for name, one in machine.form.commands.items() if not one.internal)
        raise Refusal("command_required", "An agent's handoff names the command that makes it.", f"One of: {offered}.")
    return resolve_for_person(machine, ticket.state, intent=intent, to=to)


def _settings(ticket: Instance, plan_review: str) -> dict[str, int | str]:
    """What the ticket has to be told of the settings, because it was told otherwise before."""
    known = ticket.snapshot.settings.get("plan_review", "human")
    return {} if known == plan_review else {"plan_review": plan_review}


def _observe(transaction: Transaction, ticket: Instance, seen: Event) -> None:
    try:
        transaction.append(ticket.id, seen)
    except Refusal:
        return  # not in review: the move itself will say so


def guidance(machine: Machine, ticket: Snapshot, held_by: str | None = None, *, again: bool = False) -> Guidance:
    """What a ticket's state means, and where it leads; `held_by` is who has just claimed it."""
    state = machine.states[ticket.state]
    rows = [one for one in allowed(machine, ticket) if one.event in _MOVES and one.to != ticket.state]
    by: dict[str, set[str]] = {}
    for row in rows:
        by.setdefault(row.to, set()).update(row.by)
    note = None
    if held_by is not None:
        note = "You hold it already." if again else "Lock acquired. This ticket is now exclusively claimed."
    elif state.terminal:
        note = "Terminal state. No further transitions possible."
    elif state.human:
        note = "Human action required before next transition."
    elif state.lock and ticket.holder is None:
        note = "Nobody holds it: claim it with the intent lock before you work on it."
    commands = machine.form.commands.items()
    return Guidance(
        is_lock_state=state.lock,
        is_terminal=state.terminal,
        requires_human_action=state.human,
        allowed_next_transitions=list(by),
        expected_by_commands=[name for name, one in commands if ticket.state in one.inputs and not one.internal],
        only_by_a_person=[to for to, kinds in by.items() if kinds == {"human"}],
        holder=None if ticket.holder is None else spoken(ticket.holder, held_by),
        note=note,
    )
