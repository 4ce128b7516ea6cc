"""`drive_ticket`: a ticket goes from one stage to the next, until it is a person's turn or it has ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec.structs import replace

from interlock.errors import Conflict, InterlockError, Refusal
from interlock.journal import Entry, Instance, Journal, Lease, Transaction
from interlock.machine import ActorKind, Event
from interlock.work.driver import loop as driver
from interlock.work.driver.agent_run import end_orphaned_runs
from interlock.work.driver.context import DriverContext
from interlock.work.driver.driver_lease import DriverLease, hold_lease
from interlock.work.driver.fold import Fold
from interlock.work.driver.lease_holders import lease_name
from interlock.work.driver.readiness import missing_program, nameless
from interlock.work.driver.record import DriverRecord
from interlock.work.driver.step import DriverStep
from interlock.work.driver.system import NoEvent, StepFunction, StepResult
from interlock.work.gates.presence import Person
from interlock.work.sessions.verbs import Caller
from interlock.work.threads.attending import is_told as thread_is_told
from interlock.work.threads.driver_step import default_config
from interlock.work.threads.verbs import act
from interlock.work.ticket_driver.command_stage import run_command
from interlock.work.ticket_driver.stages import StageKind, WorkStop, stage_of, too_large
from interlock.work.ticket_driver.thread_stage import Choices, finish, lead, open_thread_for, plan_text, stop_at
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.locks import expire
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.showing import show
from interlock.work.tickets.threads import THREAD, open_thread
from interlock.work.verification.request import plan_of
from interlock.work.verification.verifiers import missing_verifiers, uncarried
from interlock.work.views.gate import plan_gate
from interlock.work.views.ticket import TicketView, ticket_view

__all__ = ["TicketResult", "approve_plan", "divide", "drive_ticket", "hindered", "is_told"]


class TicketResult(msgspec.Struct, frozen=True):
    """Where a ticket is when it does not continue by itself, and why."""

    ticket: TicketView
    stop: WorkStop


class TicketStep(DriverStep[DriverContext, DriverRecord], frozen=True):
    """A ticket in one state."""

    known: TicketView
    instance: Instance


def drive_ticket(context: DriverContext, called: str | int, person: Person, choices: Choices) -> TicketResult:
    """Drive a ticket as far as it goes. Calling it again continues; a paused or stuck thread stays with the person."""
    _must_be_person(person)
    _check_again(context, called, person)
    with _held(context, called) as (held, id_):
        system = _TicketSystem(held.context, Fold(id_, DriverRecord, _take), called, person, choices)
        quiet = replace(held.context, report=lambda record: None)  # its agents and its thread say where it is
        step = driver.drive(system, quiet, held.lease, held.check)
        return TicketResult(step.known, system.stop)


@contextmanager
def _held(context: DriverContext, called: str | int) -> Iterator[tuple[DriverLease, str]]:
    """Be the only one who drives a ticket; `ticket:ID` is the lock of whoever works on it."""
    id_ = known_ticket(context.journal, called).id
    with hold_lease(context, lease_name("work", id_)) as held:
        end_orphaned_runs(context, id_)
        yield held, id_


def _must_be_person(person: Person) -> None:
    if person.actor.kind != ActorKind.HUMAN:
        message = f"Only a person has a ticket worked on, and this is the agent {person.actor.id}."
        raise Refusal(
            "person_needed",
            message,
            "Use `ralph ticket handoff` for the commands of the ticket.",
        )


def _take(record: DriverRecord, entry: Entry) -> None:
    record.id, record.version, record.updated, record.state = entry.instance, entry.version, entry.time, entry.to_state


class _TicketSystem(msgspec.Struct):
    """One ticket, as the driver's loop drives it: its agents and its thread move it, and the driver appends nothing."""

    context: DriverContext
    fold: Fold[DriverRecord]
    called: str | int
    person: Person
    choices: Choices
    stop: WorkStop = WorkStop("it has ended", "")

    def read(self, lease: Lease) -> TicketStep:
        journal, id_ = self.context.journal, self.fold.id
        journal.transact(lambda transaction: expire(transaction, transaction.instance(id_)))
        known = ticket_view(journal, self.called, comments=0)
        return TicketStep.read(self.context, self.fold, lease, known, journal.instance(id_))

    def next(self, step: TicketStep) -> StepFunction[TicketStep]:
        return self._stage

    def _stage(self, step: TicketStep) -> StepResult:
        """Take the stage that the ticket is at."""
        try:
            stop = _take_stage(self.context, step.instance, step.known, self.person, self.choices)
        except InterlockError as error:
            stop = _for_person(error)
        finally:
            _show(self.context)
        self.stop = stop or self.stop
        return NoEvent.RETRY if stop is None else NoEvent.STOP

    def enter(self, step: TicketStep) -> bool:
        return True

    def settle(self, step: TicketStep) -> bool:
        return False

    def pause(self, step: TicketStep) -> Sequence[Event]:
        """Stop before the next stage. Nothing is recorded: a stage that was interrupted has recorded its own pause."""
        self.stop = WorkStop("it is paused", f"`ralph work {step.known.number}` continues.")
        return ()

    def overspent(self, step: TicketStep, refusal: Refusal) -> StepResult:
        raise refusal  # a stage that is refused stops

    def append(self, transaction: Transaction, step: TicketStep, events: Sequence[Event]) -> None:
        """A stage has no events of its own."""

    def leave(self, step: TicketStep) -> None:
        """Nothing is written at the end."""

    def close(self) -> None:
        """Nothing is held open."""


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
        context.report(trouble)


def divide(context: DriverContext, called: str | int, person: Person, choices: Choices) -> TicketResult:
    """Let an agent divide a ticket that is too large into parts."""
    journal = context.journal
    with _held(context, called) as (held, id_):
        journal.transact(lambda transaction: expire(transaction, transaction.instance(id_)))
        number = ticket_view(journal, called, comments=0).number
        try:
            stop = run_command(held.context, journal.instance(id_), number, "split", _agent(context, choices))
        except InterlockError as error:
            stop = _for_person(error)
    now = ticket_view(context.journal, called, comments=0)
    parts = ", ".join(f"#{one.number}" for one in now.sub_tickets)
    made = WorkStop(f"it has the parts {parts}", "`ralph work NUMBER` works on one of them.")
    return TicketResult(
        now, stop or (made if parts else WorkStop("no parts were made", "`ralph ticket show` says why.", True))
    )


_PERSONS = frozenset(
    ("budget_exhausted", "agent_missing", "agent_unusable", "agent_unavailable", "verifiers_missing", "setup_required")
)
"""Errors that a person must fix before the same command can continue."""


def _for_person(error: InterlockError) -> WorkStop:
    """Turn an error that a person must fix into a stop; raise any other."""
    if error.code not in _PERSONS:
        raise error
    return WorkStop(error.message.removesuffix("."), error.hint, failed=True)


def _take_stage(
    context: DriverContext, ticket: Instance, known: TicketView, person: Person, choices: Choices
) -> WorkStop | None:
    """Take the next stage; None where something moved."""
    journal, number = context.journal, known.number
    thread = open_thread(journal, ticket.id)
    if thread is not None:
        return lead(context, thread, known, person, choices)
    machine = journal.machine_of(ticket)
    stage = stage_of(machine, ticket.state, context.settings.text("ticket.plan_review"))
    if stage.what is StageKind.NOTHING:
        return WorkStop("it has ended", "")
    if stage.what is StageKind.PERSON:
        return stop_at(context, ticket.id, failed=True)
    if stage.what is StageKind.MERGE:
        return finish(context, known, next(iter(journal.recent(THREAD, 1, parent=ticket.id)), None))
    if ticket.snapshot.holder is not None or known.blockers(machine):
        return stop_at(context, ticket.id)
    if stage.what is StageKind.THREAD:
        return _begun(context, known, person, choices)
    assert stage.command is not None
    if too_large(machine, stage.command, known.estimate):
        return stop_at(context, ticket.id)
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
    gate = plan_gate(ticket, plan_text(context, ticket) or "")
    is_approved = person.presence().confirm(gate.shown, gate.question, gate.word)
    if is_approved:
        person.vouch(known_ticket(context.journal, ticket.number).id, gate.event)
        now = ticket_view(context.journal, ticket.number, comments=0)
        if (now.plan, plan_gate(now, plan_text(context, now) or "").sha256) != (ticket.plan, gate.sha256):
            message = f"The plan of #{ticket.number} changed while you looked at it, so it was not approved."
            raise Conflict("conflict", message, "Look at it again: run the same command once more.")
        work = handoff(Caller(person.actor), ticket.number, reason="the plan was approved", to="In Progress")
        context.journal.transact(work)
    return is_approved


def _plan_reviewed(context: DriverContext, ticket: TicketView, person: Person, choices: Choices) -> WorkStop | None:
    """A plan is approved by whoever is there; where nobody is, it waits."""
    if choices.asks and approve_plan(context, ticket, person):
        return None
    return stop_at(context, known_ticket(context.journal, ticket.number).id)


def _agent(context: DriverContext, choices: Choices) -> str:
    rotation = context.settings.texts("agent.rotation")
    return choices.agent or (rotation[0] if rotation else context.settings.text("agent.name"))


def hindered(context: DriverContext, number: int, agent: str) -> WorkStop | None:
    """Return why a ticket cannot be worked on here, else None.

    No configured verifier is not among it: the spec that is to be written may bring commands of its own.
    """
    root, environment = context.root, context.environment
    if missing_program(context, context.agent(agent)) is not None:
        hint = f"Install it, or choose another: `ralph work {number} --agent NAME`, or agent.name in ralph.toml."
        return WorkStop(f"the agent {agent} cannot be started: it is not installed", hint, failed=True)
    again = f"`ralph work {number}` then continues."
    judge = default_config(context.settings).judge
    if judge and missing_program(context, context.agent(judge, is_judge=True)) is not None:
        hint = f"Install it, or choose another with agent.judge in ralph.toml; {again}"
        return WorkStop(f"the judge {judge} cannot be started: it is not installed", hint, failed=True)
    plan = plan_of(context.settings)
    lost = missing_verifiers(plan, (), root, environment)
    if lost:
        hint = f"Install it, or correct verify.commands in ralph.toml; {again}"
        return WorkStop(f"a verifier cannot be found: {', '.join(lost)}", hint, failed=True)
    wrong = next(uncarried(plan, root), None) or nameless(context)
    return WorkStop(wrong.rstrip("."), again, failed=True) if wrong is not None else None
