"""The thread of a ticket: opened from its plan, led from gate to gate, and merged."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError, Refusal
from interlock.journal import Instance
from interlock.machine.states import only_gate, onward_event
from interlock.work.attention.next_step import waits_for
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.context import DriverContext
from interlock.work.gates.presence import Person
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.sessions.verbs import Caller
from interlock.work.settings.values import isolation_of
from interlock.work.threads.dialogue import say
from interlock.work.threads.driver_step import default_config
from interlock.work.threads.loop import drive
from interlock.work.threads.reading import read_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.spec import faults, parse_spec
from interlock.work.threads.verbs import act, configure, new_thread, revise_spec
from interlock.work.ticket_driver.command_stage import wait_out
from interlock.work.ticket_driver.stages import WorkStop
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.merged import merged_commit
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.threads import THREAD
from interlock.work.tickets.verbs import edit
from interlock.work.views.ticket import TicketView
from interlock.world.repository import own_tree

__all__ = ["Choices", "finish", "lead", "open_thread_for", "plan_text", "stop_at"]

_MAX_PLAN = 100_000
_TURNS = 2
"""How often an agent is asked for a spec before it is a person's to write."""


class Choices(msgspec.Struct, frozen=True):
    """What was chosen for this walk."""

    agent: str | None = None
    """Who works, `name` or `name:model`."""
    driver: str | None = None
    """What runs the loop of the thread."""
    isolation: str | None = None
    """Whether the person's checkout is brought along with the work: `own` or `checkout`."""
    asks: bool = False
    """Whether somebody is there who is asked at the gates."""


def open_thread_for(context: DriverContext, ticket: TicketView, person: Person, choices: Choices) -> None:
    """A thread on a ticket that is In Progress, with what was chosen."""
    mode = context.settings.text("thread.mode")
    thread = new_thread(context, person.actor, ticket.title, mode, ticket.number)
    agents = (choices.agent,) if choices.agent else None
    chosen = {"agents": agents, "driver": choices.driver, "isolation": isolation_of(choices.isolation or "") or None}
    given = {name: value for name, value in chosen.items() if value is not None}
    if given:
        configure(context, thread.id, person, replace(default_config(context.settings), **given))


def lead(
    context: DriverContext, known: Instance, ticket: TicketView, person: Person, choices: Choices
) -> WorkStop | None:
    """Bring a thread as far as it goes now; None where it moved, and may go further."""
    thread = drive(context, known.id)
    state = thread.state
    if thread.outcome is not None:
        return None
    has_spec = state != "Drafting" or _has_spec(context, thread, ticket, person, choices)
    if context.journal.instance(thread.id).state != state:
        return None  # somebody went on with it meanwhile
    if not has_spec:
        return None if context.is_interrupted else stop_at(context, thread.id)
    machine = context.journal.machine_of(known)
    onward, gate = onward_event(machine, state), only_gate(machine, state)
    if onward is not None:  # whoever asked for the whole way has asked for what is between the gates
        _move(context, thread, person, onward)
        return None
    if gate is not None:
        return _at_gate(context, thread, person, choices, gate)
    return stop_at(context, thread.id, failed=machine.states[state].human)


def stop_at(context: DriverContext, id_: str, *, failed: bool = False) -> WorkStop:
    """Stop at what an instance waits for now; `failed` means that something went wrong."""
    instance = context.journal.instance(id_)
    waits = waits_for(context.journal, RecordCaches(), context.settings, instance)
    hint = f"`{waits.command}`." if waits.command else ""
    return WorkStop(waits.why, hint, failed, id_ if instance.machine == THREAD else None)


def _move(context: DriverContext, thread: Thread, person: Person, event: str) -> None:
    act(context, thread.id, person, event)


def _at_gate(context: DriverContext, thread: Thread, person: Person, choices: Choices, event: str) -> WorkStop | None:
    """At a gate somebody is asked who is there; whoever is not there finds it where it waits."""
    if choices.asks:
        try:
            _move(context, thread, person, event)
            return None
        except Refusal as error:
            if error.code != "gate_declined":
                raise
    return stop_at(context, thread.id)


# The spec


def _has_spec(context: DriverContext, thread: Thread, ticket: TicketView, person: Person, choices: Choices) -> bool:
    """Whether there is a spec to build from: the thread's own, the plan itself, or what an agent makes of it."""
    if _is_sound(thread):
        return True
    plan = plan_text(context, ticket)
    if plan is not None and thread.revision is None and not faults(parse_spec(plan)):
        revise_spec(context, thread.id, person.actor, plan)
        return True
    while sum(one.role == "assistant" for one in thread.messages) < _TURNS and not context.is_interrupted:
        wrong = faults(parse_spec(thread.revision.text)) if thread.revision is not None else []
        asked = _mend(wrong) if wrong else _ask(ticket, plan)
        try:
            thread = say(context, thread.id, person.actor, asked, choices.agent)
        except InterlockError as error:
            if error.code == "agent_unavailable" and "until" in error.details and not context.stop.is_set():
                wait_out(context, thread.id)
                continue
            if error.code != "agent_failed":
                raise
            context.report(f"{error.message} {error.hint}")
            return False
        if _is_sound(thread):
            return True
    return False


def _is_sound(thread: Thread) -> bool:
    return thread.revision is not None and not faults(parse_spec(thread.revision.text))


def plan_text(context: DriverContext, ticket: TicketView) -> str | None:
    """Return the plan of a ticket; None if it has none, or it is not committed.

    Agents name it and are told what is in it, so nothing is read that only the person's checkout has. While the
    person's branch does not have it yet, it is on that of the ticket's tree.
    """
    if ticket.plan is None:
        return None
    id_ = known_ticket(context.journal, ticket.number).id
    is_prepared = context.ports.files.mark(own_tree(context.state_directory, id_)) is not None
    for revision in (f"ralf/{id_}", "HEAD") if is_prepared else ("HEAD",):
        content = context.git.contents(context.root, revision, [ticket.plan]).get(ticket.plan)
        if content is not None:
            return content[:_MAX_PLAN].decode("utf-8", "replace")
    return None


def _ask(ticket: TicketView, plan: str | None) -> str:
    parts = [
        f"Write the whole spec for the ticket #{ticket.number}, “{ticket.title}”. There will be no answers: decide "
        "what is open from the code and the plan, and give the spec at once. Each criterion must be something that "
        "can be checked, with a command where one can check it.",
        f"The ticket says:\n\n{ticket.body}" if ticket.body else "",
        f"The approved plan:\n\n{plan}" if plan else "There is no plan in the repository.",
    ]
    return "\n\n".join(part for part in parts if part)


def _mend(wrong: list[str]) -> str:
    return f"This spec cannot be built from: {' '.join(wrong)} Give the whole spec again, mended."


# When it is built


def finish(context: DriverContext, ticket: TicketView, thread: Instance | None) -> WorkStop | None:
    """A ticket in review is done when its commit is in the target branch; until then, merging is the person's."""
    number, branch = ticket.number, context.settings.text("ticket.target_branch")
    made = read_thread(context.journal, thread.id) if thread is not None else None
    if made is not None and made.commit is not None and made.commit not in ticket.commits:
        context.journal.transact(edit(DRIVER, number, add={"commits": [made.commit]}))
    merged = merged_commit(context.journal, context.git, number, context.root, branch) if made is not None else None
    if merged is None:
        return stop_at(context, known_ticket(context.journal, number).id)
    reason = f"{merged[:10]} is in {branch}"
    work = handoff(Caller(DRIVER), number, reason=reason, command="merge", intent="complete", merged=merged)
    context.journal.transact(work)
    return None
