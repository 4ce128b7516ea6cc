"""`walk`: a ticket goes from one station to the next, until it is a person's turn or it has ended."""

from __future__ import annotations

from dataclasses import dataclass

from interlock.errors import Conflict, InterlockError, Refusal
from interlock.journal import Entry, Instance, Journal
from interlock.machine import ActorKind
from interlock.work.sessions.verbs import Caller
from interlock.work.threads.attending import is_told as thread_is_told
from interlock.work.threads.verbs import Person, act
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.locks import expire, spoken
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.queries import View, view
from interlock.work.tickets.showing import show
from interlock.work.tickets.threads import THREAD, open_thread
from interlock.work.way.building import Choices, finish, lead, open_thread_for, plan_text
from interlock.work.way.commands import end_left, last_move, run_command
from interlock.work.way.readiness import hindered
from interlock.work.way.stations import Stop, What, station_of, too_large
from interlock.work.workshop import Workshop

__all__ = ["Walked", "approve_plan", "divide", "is_told", "walk"]


@dataclass(frozen=True, slots=True)
class Walked:
    """Where a ticket is when nothing goes on by itself any more, and why."""

    ticket: View
    stop: Stop


def walk(workshop: Workshop, called: str | int, person: Person, choices: Choices) -> Walked:
    """Lead a ticket as far as it goes. Called again, it goes on where it was, whatever ended it."""
    if person.actor.kind != ActorKind.HUMAN:
        message = f"Only a person has a ticket worked on, and this is the agent {person.actor.id}."
        raise Refusal("person_needed", message, "Work on the ticket by its commands: `handoff_ticket` says which.")
    _check_again(workshop, called, person)
    while True:
        workshop.heed()
        ticket = _settled(workshop, called)
        known = view(workshop.journal, called, comments=0)
        try:
            stop = _go_on(workshop, ticket, known, person, choices)
        except InterlockError as error:
            stop = _persons(error)
        finally:
            _show(workshop)
        if stop is not None:
            return Walked(view(workshop.journal, called, comments=0), stop)


def _check_again(workshop: Workshop, called: str | int, person: Person) -> None:
    """Repeat a failed preflight: running the command again means that a person fixed the problem."""
    thread = open_thread(workshop.journal, known_ticket(workshop.journal, called).id)
    if thread is not None and thread.state == "PreflightFailed":
        act(workshop, thread.id, person, "retry")


def is_told(journal: Journal, called: str | int, entry: Entry) -> bool:
    """Whether somebody elsewhere said that the thread of this very ticket is to rest or to end."""
    return thread_is_told(entry) and journal.instance(entry.instance).parent == known_ticket(journal, called).id


def _show(workshop: Workshop) -> None:
    for trouble in show(workshop.journal, workshop.settings, workshop.environment):
        workshop.tell(trouble)


def divide(workshop: Workshop, called: str | int, person: Person, choices: Choices) -> Walked:
    """Let an agent divide a ticket that is too large into parts."""
    ticket = _settled(workshop, called)
    known = view(workshop.journal, called, comments=0)
    try:
        stop = run_command(workshop, ticket, known.number, "split", _agent(workshop, choices))
    except InterlockError as error:
        stop = _persons(error)
    now = view(workshop.journal, called, comments=0)
    parts = ", ".join(f"#{one.number}" for one in now.sub_tickets)
    made = Stop(f"it has the parts {parts}", "`ralph work NUMBER` works on one of them.")
    return Walked(now, stop or (made if parts else Stop("no parts were made", "`ralph ticket show` says why.", True)))


_PERSONS = frozenset(
    ("budget_exhausted", "agent_missing", "agent_unusable", "agent_unavailable", "verifiers_missing", "setup_required")
)
"""Errors that a person must fix before the same command can continue."""


def _persons(error: InterlockError) -> Stop:
    """Turn an error that a person must fix into a stop; raise any other."""
    if error.code not in _PERSONS:
        raise error
    return Stop(error.message.removesuffix("."), error.hint, failed=True)


def _settled(workshop: Workshop, called: str | int) -> Instance:
    """A ticket, without the agents and the lock of anybody who is gone."""
    ticket = known_ticket(workshop.journal, called)
    end_left(workshop, ticket.id)
    workshop.journal.transact(lambda transaction: expire(transaction, transaction.instance(ticket.id)))
    return workshop.journal.instance(ticket.id)


def _go_on(workshop: Workshop, ticket: Instance, known: View, person: Person, choices: Choices) -> Stop | None:
    """The next station; None where something moved."""
    journal, number = workshop.journal, known.number
    thread = open_thread(journal, ticket.id)
    if thread is not None:
        return lead(workshop, thread, known, person, choices)
    machine = journal.machine_of(ticket)
    station = station_of(machine, ticket.state, workshop.settings.text("ticket.plan_review"))
    if station.what is What.NOTHING:
        return Stop("it has ended", "")
    if station.what is What.PERSON:
        why = (last_move(journal, ticket).reason or "a person has to decide").strip()
        return Stop(why, f'`ralph ticket handoff {number} --to-state STATE --reason "…"` sends it on.', failed=True)
    if station.what is What.MERGE:
        return finish(workshop, known, next(iter(journal.recent(THREAD, 1, parent=ticket.id)), None))
    if ticket.snapshot.holder is not None:
        return Stop(f"it is held by {spoken(ticket.snapshot.holder, None)}", f"`ralph ticket show {number}` says who.")
    blockers = known.blockers(machine)
    if blockers:
        return Stop(f"it waits for {', '.join(f'#{one}' for one in blockers)}", f"`ralph work {blockers[0]}` first.")
    if station.what is What.THREAD:
        return _begun(workshop, known, person, choices)
    assert station.command is not None
    if too_large(machine, station.command, known.estimate):
        why = f"an estimate of {known.estimate} is too large for {station.command}: it has to be divided"
        return Stop(why, f"`ralph work {number} --split` lets an agent do it.")
    if station.what is What.PLAN:
        return _plan_reviewed(workshop, known, person, choices)
    agent = _agent(workshop, choices)
    return hindered(workshop, number, agent) or run_command(workshop, ticket, number, station.command, agent)


def _begun(workshop: Workshop, known: View, person: Person, choices: Choices) -> Stop | None:
    """Open a thread, unless nothing could come of it."""
    stop = hindered(workshop, known.number, _agent(workshop, choices))
    if stop is None:
        open_thread_for(workshop, known, person, choices)
    return stop


def approve_plan(workshop: Workshop, ticket: View, person: Person) -> bool:
    """Ask a person whether the plan of a ticket is to be built; it is In Progress where they say so."""
    text = plan_text(workshop.root, ticket) or ""
    shown = f"#{ticket.number} {ticket.title}\nThe plan: {_plan(ticket)}\n\n{text}".rstrip()
    is_approved = person.presence().confirm(shown, f"Build #{ticket.number} by this plan", "build")
    if is_approved:
        person.vouch(known_ticket(workshop.journal, ticket.number).id, "build")
        now = view(workshop.journal, ticket.number, comments=0)
        if (now.plan, plan_text(workshop.root, now) or "") != (ticket.plan, text):
            message = f"The plan of #{ticket.number} changed while you looked at it, so it was not approved."
            raise Conflict("conflict", message, "Look at it again: run the same command once more.")
        work = handoff(Caller(person.actor), ticket.number, reason="the plan was approved", to="In Progress")
        workshop.journal.transact(work)
    return is_approved


def _plan_reviewed(workshop: Workshop, ticket: View, person: Person, choices: Choices) -> Stop | None:
    """A plan is approved by whoever is there; where nobody is, it waits."""
    if choices.asks and approve_plan(workshop, ticket, person):
        return None
    hint = f'`ralph ticket handoff {ticket.number} --to-state "In Progress" --reason "…"` lets it be built.'
    return Stop(f"its plan is yours to approve ({_plan(ticket)})", hint)


def _plan(ticket: View) -> str:
    return ticket.plan or "none is attached"


def _agent(workshop: Workshop, choices: Choices) -> str:
    rotation = workshop.settings.texts("agent.rotation")
    return choices.agent or (rotation[0] if rotation else workshop.settings.text("agent.name"))
