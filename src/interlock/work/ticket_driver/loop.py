"""`drive_ticket`: a ticket goes from one station to the next, until it is a person's turn or it has ended."""

from __future__ import annotations

import msgspec

from interlock.errors import Conflict, InterlockError, Refusal
from interlock.journal import Entry, Instance, Journal
from interlock.machine import ActorKind
from interlock.work.driver.context import DriverContext
from interlock.work.gates.person import Person
from interlock.work.sessions.verbs import Caller
from interlock.work.threads.attending import is_told as thread_is_told
from interlock.work.threads.verbs import act
from interlock.work.ticket_driver.command_stage import end_left, last_move, run_command
from interlock.work.ticket_driver.readiness import hindered
from interlock.work.ticket_driver.stages import StageKind, WorkStop, stage_of, too_large
from interlock.work.ticket_driver.thread_stage import Choices, finish, lead, open_thread_for, plan_text
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.locks import expire, spoken
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.queries import TicketView, view
from interlock.work.tickets.showing import show
from interlock.work.tickets.threads import THREAD, open_thread

__all__ = ["TicketResult", "approve_plan", "divide", "drive_ticket", "is_told"]


class TicketResult(msgspec.Struct, frozen=True):
    """Where a ticket is when nothing goes on by itself any more, and why."""

    ticket: TicketView
    stop: WorkStop


def drive_ticket(context: DriverContext, called: str | int, person: Person, choices: Choices) -> TicketResult:
    """Lead a ticket as far as it goes. Called again, it goes on where it was, whatever ended it."""
    if person.actor.kind != ActorKind.HUMAN:
        message = f"Only a person has a ticket worked on, and this is the agent {person.actor.id}."
        raise Refusal("person_needed", message, "Work on the ticket by its commands: `handoff_ticket` says which.")
    _check_again(context, called, person)
    while True:
        context.refresh()
        ticket = _settled(context, called)
        known = view(context.journal, called, comments=0)
        try:
            stop = _go_on(context, ticket, known, person, choices)
        except InterlockError as error:
            stop = _persons(error)
        finally:
            _show(context)
        if stop is not None:
            return TicketResult(view(context.journal, called, comments=0), stop)


def _check_again(context: DriverContext, called: str | int, person: Person) -> None:
    """Repeat a failed preflight: running the command again means that a person fixed the problem."""
    thread = open_thread(context.journal, known_ticket(context.journal, called).id)
    if thread is not None and thread.state == "PreflightFailed":
        act(context, thread.id, person, "retry")


def is_told(journal: Journal, called: str | int, entry: Entry) -> bool:
    """Whether somebody elsewhere said that the thread of this very ticket is to rest or to end."""
    return thread_is_told(entry) and journal.instance(entry.instance).parent == known_ticket(journal, called).id


def _show(context: DriverContext) -> None:
    for trouble in show(context.journal, context.settings, context.environment):
        context.tell(trouble)


def divide(context: DriverContext, called: str | int, person: Person, choices: Choices) -> TicketResult:
    """Let an agent divide a ticket that is too large into parts."""
    ticket = _settled(context, called)
    known = view(context.journal, called, comments=0)
    try:
        stop = run_command(context, ticket, known.number, "split", _agent(context, choices))
    except InterlockError as error:
        stop = _persons(error)
    now = view(context.journal, called, comments=0)
    parts = ", ".join(f"#{one.number}" for one in now.sub_tickets)
    made = WorkStop(f"it has the parts {parts}", "`ralph work NUMBER` works on one of them.")
    return TicketResult(
        now, stop or (made if parts else WorkStop("no parts were made", "`ralph ticket show` says why.", True))
    )


_PERSONS = frozenset(
    ("budget_exhausted", "agent_missing", "agent_unusable", "agent_unavailable", "verifiers_missing", "setup_required")
)
"""Errors that a person must fix before the same command can continue."""


def _persons(error: InterlockError) -> WorkStop:
    """Turn an error that a person must fix into a stop; raise any other."""
    if error.code not in _PERSONS:
        raise error
    return WorkStop(error.message.removesuffix("."), error.hint, failed=True)


def _settled(context: DriverContext, called: str | int) -> Instance:
    """A ticket, without the agents and the lock of anybody who is gone."""
    ticket = known_ticket(context.journal, called)
    end_left(context, ticket.id)
    context.journal.transact(lambda transaction: expire(transaction, transaction.instance(ticket.id)))
    return context.journal.instance(ticket.id)


def _go_on(
    context: DriverContext, ticket: Instance, known: TicketView, person: Person, choices: Choices
) -> WorkStop | None:
    """The next station; None where something moved."""
    journal, number = context.journal, known.number
    thread = open_thread(journal, ticket.id)
    if thread is not None:
        return lead(context, thread, known, person, choices)
    machine = journal.machine_of(ticket)
    stage = stage_of(machine, ticket.state, context.settings.text("ticket.plan_review"))
    if stage.what is StageKind.NOTHING:
        return WorkStop("it has ended", "")
    if stage.what is StageKind.PERSON:
        why = (last_move(journal, ticket).reason or "a person has to decide").strip()
        return WorkStop(why, f'`ralph ticket handoff {number} --to-state STATE --reason "…"` sends it on.', failed=True)
    if stage.what is StageKind.MERGE:
        return finish(context, known, next(iter(journal.recent(THREAD, 1, parent=ticket.id)), None))
    if ticket.snapshot.holder is not None:
        return WorkStop(
            f"it is held by {spoken(ticket.snapshot.holder, None)}", f"`ralph ticket show {number}` says who."
        )
    blockers = known.blockers(machine)
    if blockers:
        return WorkStop(
            f"it waits for {', '.join(f'#{one}' for one in blockers)}", f"`ralph work {blockers[0]}` first."
        )
    if stage.what is StageKind.THREAD:
        return _begun(context, known, person, choices)
    assert stage.command is not None
    if too_large(machine, stage.command, known.estimate):
        why = f"an estimate of {known.estimate} is too large for {stage.command}: it has to be divided"
        return WorkStop(why, f"`ralph work {number} --split` lets an agent do it.")
    if stage.what is StageKind.PLAN:
        return _plan_reviewed(context, known, person, choices)
    agent = _agent(context, choices)
    return hindered(context, number, agent) or run_command(context, ticket, number, stage.command, agent)


def _begun(context: DriverContext, known: TicketView, person: Person, choices: Choices) -> WorkStop | None:
    """Open a thread, unless nothing could come of it."""
    stop = hindered(context, known.number, _agent(context, choices))
    if stop is None:
        open_thread_for(context, known, person, choices)
    return stop


def approve_plan(context: DriverContext, ticket: TicketView, person: Person) -> bool:
    """Ask a person whether the plan of a ticket is to be built; it is In Progress where they say so."""
    text = plan_text(context.root, ticket) or ""
    shown = f"#{ticket.number} {ticket.title}\nThe plan: {_plan(ticket)}\n\n{text}".rstrip()
    is_approved = person.presence().confirm(shown, f"Build #{ticket.number} by this plan", "build")
    if is_approved:
        person.vouch(known_ticket(context.journal, ticket.number).id, "build")
        now = view(context.journal, ticket.number, comments=0)
        if (now.plan, plan_text(context.root, now) or "") != (ticket.plan, text):
            message = f"The plan of #{ticket.number} changed while you looked at it, so it was not approved."
            raise Conflict("conflict", message, "Look at it again: run the same command once more.")
        work = handoff(Caller(person.actor), ticket.number, reason="the plan was approved", to="In Progress")
        context.journal.transact(work)
    return is_approved


def _plan_reviewed(context: DriverContext, ticket: TicketView, person: Person, choices: Choices) -> WorkStop | None:
    """A plan is approved by whoever is there; where nobody is, it waits."""
    if choices.asks and approve_plan(context, ticket, person):
        return None
    hint = f'`ralph ticket handoff {ticket.number} --to-state "In Progress" --reason "…"` lets it be built.'
    return WorkStop(f"its plan is yours to approve ({_plan(ticket)})", hint)


def _plan(ticket: TicketView) -> str:
    return ticket.plan or "none is attached"


def _agent(context: DriverContext, choices: Choices) -> str:
    rotation = context.settings.texts("agent.rotation")
    return choices.agent or (rotation[0] if rotation else context.settings.text("agent.name"))
