"""What anything waits for, and the exact command that comes next: every face that tells people asks here.

`waits_for` answers for an instance as it is now. `command_in` is the part of it that follows from a state alone, for
what is told of a state that may be over, such as a notification.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from interlock.journal import Instance, Journal
from interlock.journal.entry import decode_snapshot
from interlock.machine import Actor, ActorKind, Channel, Machine
from interlock.machine.commands import Handoff
from interlock.machine.model import led
from interlock.machine.states import left_to_person, only_gate, onward_event, rows_from, shipped_state
from interlock.work.attention.values import WaitingFor, WaitKind
from interlock.work.driver.agent_failures import hindrance_of, remedy, waiting_text
from interlock.work.driver.lease_holders import current_driver
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.settings.values import Settings
from interlock.work.threads.choices import next_command
from interlock.work.ticket_driver.stages import StageKind, stage_of, too_large
from interlock.work.tickets.advice import command_of, possible
from interlock.work.tickets.audit import is_move
from interlock.work.tickets.circles import circles
from interlock.work.tickets.locks import spoken
from interlock.work.tickets.move_checks import MoveRequest
from interlock.work.tickets.pipeline import distance, escalated
from interlock.work.tickets.threads import PLACES, THREAD, open_thread
from interlock.work.tickets.ticket_table import TICKETS, TicketRow, by_ids, card_of, find_line, know_lines

if TYPE_CHECKING:
    from interlock.journal.look import Look
    from interlock.work.threads.record import Thread

__all__ = ["agent_problem", "command_in", "limit_text", "read_ahead", "waits_for"]

_MOST_LINES: Final = 4
_LATEST: Final = 8
"""So many entries of a ticket are looked at for why it waits."""
_PERSON: Final = Actor(ActorKind.HUMAN, "somebody", Channel.CLI)
_BLOCKED: Final = "only_blocked_left"
_DRIVEN: Final = frozenset({THREAD, "story", "orchestrator"})
_STORY: Final = "ralph story run"


def waits_for(journal: Journal, watch: RecordCaches, settings: Settings, instance: Instance) -> WaitingFor:
    """What an instance waits for now, itself or through what works on it. It changes nothing."""
    match instance.machine:
        case "ticket":
            return _ticket(journal, watch, settings, instance)
        case "thread":
            return _thread(journal, watch, instance)
        case "story" | "orchestrator" if instance.parent is not None and instance.outcome is None:
            return waits_for(journal, watch, settings, journal.instance(instance.parent))  # its thread drives it
        case "story":
            return _loop(journal, watch, instance)
        case "orchestrator":
            return _run(journal, watch, instance)
        case "session" if instance.outcome is None:
            agent = watch.sessions.of(journal, instance).agent or "an agent"
            return WaitingFor(WaitKind.WORK, f"{agent} works in it", instance.updated)
    return _ended(instance)


def read_ahead(look: Look, watch: RecordCaches, instances: Sequence[Instance]) -> None:
    """Read in a few statements what `waits_for` and `called` ask the journal for each of these."""
    tickets = [one for one in instances if one.machine == "ticket"]
    look.read_children([one.id for one in tickets], THREAD)
    look.read_instances({one.parent for one in instances if one.parent is not None})
    look.read_newest_children([one.id for one in instances if one.machine in _DRIVEN], "session")
    latest = {one.id: max(0, one.version - _LATEST) for one in tickets}
    look.read_histories(latest | watch.threads.unread(one for one in instances if one.machine == THREAD))
    know_lines(look, [one.id for one in tickets])


def command_in(machine: Machine, instance: Instance, number: int | None = None, came_from: str | None = None) -> str:
    """What a person runs for an instance in its state, if nobody works on it; `number` is a ticket's."""
    match instance.machine:
        case "ticket" if number is not None:
            wanted = (
                _next_way(machine, instance.state, instance.data, came_from)
                if machine.states[instance.state].human
                else None
            )
            return f"ralph ticket show {number}" if wanted is None else command_of(number, wanted)
        case "thread":
            return next_command(instance.state, instance.id)
        case "story":
            return "ralph story status" if instance.outcome is not None else _STORY
        case "orchestrator":
            return f"ralph orchestrate resume {instance.id[-6:]}"
    return f"ralph log {instance.id[-6:]}"


def agent_problem(journal: Journal, id_: str) -> str | None:
    """The problem of an instance's last agent that a person must fix, or None."""
    ran = hindrance_of(journal, id_, journal.now())
    return None if ran is None or ran.until is not None else f"{ran.why}. {remedy(ran)}."


def limit_text(journal: Journal, id_: str) -> str:
    """The agent limit or provider that an instance waits for, with the time; empty if none."""
    ran = hindrance_of(journal, id_, journal.now())
    return waiting_text(ran) if ran is not None and ran.until is not None else ""


def _ended(instance: Instance) -> WaitingFor:
    why = f"nothing: it has ended as {instance.outcome}" if instance.outcome is not None else "nothing: it is a record"
    return WaitingFor(WaitKind.NOTHING, why, instance.updated)


def _driver(journal: Journal, instance: Instance) -> WaitingFor | None:
    """The process that drives an instance, or None."""
    lease = current_driver(journal, instance.machine, instance.id) if instance.machine in _DRIVEN else None
    if lease is None:
        return None
    limit = limit_text(journal, instance.id)
    why = f"{lease.holder} drives it{f'; it {limit}' if limit else ''}"
    return WaitingFor(WaitKind.WORK, why, instance.updated)


# Threads


def _thread(journal: Journal, watch: RecordCaches, instance: Instance) -> WaitingFor:
    if instance.outcome is not None:
        return _ended(instance)
    thread, machine = watch.threads.of(journal, instance), journal.machine_of(instance)
    state = machine.states[instance.state]
    is_driven = shipped_state(THREAD, instance.state).driven and not thread.is_assessed
    driver = _driver(journal, instance)
    if driver is not None and (is_driven or not state.human):
        return driver
    away = _away(journal, instance)
    if away is not None:
        return away
    if is_driven or instance.snapshot.awaiting is not None:
        return _undriven(journal, instance, thread, state.description)
    gate = only_gate(machine, instance.state)
    if gate is not None:
        return _at_gate(machine, instance, thread, gate)
    command, turn = command_in(machine, instance), left_to_person(machine, instance.snapshot)
    if turn is None and onward_event(machine, instance.state) is not None:
        return WaitingFor(WaitKind.DRIVER, _nobody(state.description), thread.entered_at, command)
    reason = thread.reason.strip()
    why = _with_reason(turn, reason) if turn is not None else reason or state.description
    if thread.diagnosis is not None and "diagnosis" in state.carries:
        why = f"{thread.diagnosis.summary}: {thread.diagnosis.reason.strip() or why}"
    return WaitingFor(WaitKind.PERSON, why, thread.entered_at, command)


def _with_reason(sentence: str, reason: str) -> str:
    return f"{sentence}: {reason}" if reason else sentence


def _nobody(description: str) -> str:
    return f"nobody drives it; {description[:1].lower()}{description[1:]}"


def _away(journal: Journal, instance: Instance) -> WaitingFor | None:
    """The ticket of a thread where it keeps the thread from its next step, or None."""
    ticket = journal.instance(instance.parent) if instance.parent is not None else None
    if ticket is None or ticket.machine != "ticket":
        return None
    if ticket.outcome is not None:
        why, command = f"its ticket has ended, as {ticket.state}", f"ralph thread abandon {instance.id[-6:]}"
        return WaitingFor(WaitKind.PERSON, why, ticket.updated, command)
    machine = journal.machine_of(instance)
    row = led(machine, None, machine.form.initial)
    if only_gate(machine, instance.state) != "commit" or ticket.state in PLACES or row is None or row.to is None:
        return None
    why = f"its ticket is in {ticket.state}, where nothing is committed for it"
    command = command_of(_line(journal, ticket).number, Handoff(None, "handoff", row.to, None))
    return WaitingFor(WaitKind.PERSON, why, ticket.updated, command)


def _undriven(journal: Journal, instance: Instance, thread: Thread, description: str) -> WaitingFor:
    """A thread that a driver continues, and there is none."""
    begun = ", ".join(instance.snapshot.pending.values())
    if instance.snapshot.awaiting is not None:
        why = f"what was begun, and is not known to have ended: {begun}"
        return WaitingFor(WaitKind.DRIVER, why, instance.updated, f"ralph thread drive {instance.id[-6:]}")
    child = thread.child if "tree" in shipped_state(THREAD, instance.state).changes else None
    problem = agent_problem(journal, child or instance.id)
    kind = WaitKind.DRIVER if problem is None else WaitKind.PERSON
    return WaitingFor(
        kind, problem or _nobody(description), thread.entered_at, f"ralph thread resume {instance.id[-6:]}"
    )


def _at_gate(machine: Machine, instance: Instance, thread: Thread, gate: str) -> WaitingFor:
    """A thread at a gate: what a person passes it for, or what is missing before they can."""
    end, reason = instance.id[-6:], thread.reason.strip()
    why, command = _with_reason(f"{gate} is yours", reason), f"ralph thread {gate} {end}"
    rows = [row for row in rows_from(machine, instance.state) if row.on == gate]
    wrong = _faults(thread) if any(row.gate == "finalize" for row in rows) else []
    if wrong:
        why, command = f"the spec is yours to write: {' '.join(wrong)}", f"ralph thread spec {end} --edit"
    elif any("receipt" in row.requires for row in rows) and "receipt" not in instance.snapshot.proofs:
        why, command = "the files are not those that were proven", f"ralph thread reverify {end}"
    return WaitingFor(WaitKind.PERSON, why, thread.entered_at, command)


def _faults(thread: Thread) -> list[str]:
    """What keeps a spec from being built."""
    from interlock.work.threads.spec import faults, parse_spec  # only drafts need the parser

    return ["there is none."] if thread.revision is None else faults(parse_spec(thread.revision.text))


# Tickets


def _line(journal: Journal, ticket: Instance) -> TicketRow:
    with journal.look(TICKETS):
        line = journal.ask(find_line, ticket.id)
    assert line is not None  # every ticket has a number
    return line


def _ticket(journal: Journal, watch: RecordCaches, settings: Settings, ticket: Instance) -> WaitingFor:
    if ticket.outcome is not None:
        return _ended(ticket)
    line, machine = _line(journal, ticket), journal.machine_of(ticket)
    if line.outside is not None:
        why, command = f"the tracker's board says {line.outside}", f"ralph ticket sync --accept {line.number}"
        return WaitingFor(WaitKind.PERSON, why, line.updated, command)
    thread = open_thread(journal, ticket.id)
    if thread is not None:
        return waits_for(journal, watch, settings, thread)
    if machine.states[ticket.state].human:
        return _human(journal, watch, settings, ticket, line)
    return _before(journal, ticket, line) or _to_be_worked_on(journal, machine, ticket, line, settings)


def _human(journal: Journal, watch: RecordCaches, settings: Settings, ticket: Instance, line: TicketRow) -> WaitingFor:
    """A ticket in a state that waits for a person."""
    machine = journal.machine_of(ticket)
    latest = journal.history(line.id, max(0, ticket.version - _LATEST))
    came = next((one for one in reversed(latest) if is_move(one) and one.from_state != one.to_state), None)
    why = (came.reason if came is not None else None) or machine.states[line.state].description
    command = command_in(machine, ticket, line.number, came.from_state if came is not None else None)
    stage = stage_of(machine, ticket.state, settings.text("ticket.plan_review"))
    made = next(iter(journal.recent(THREAD, 1, parent=ticket.id)), None) if stage.what is StageKind.MERGE else None
    built = watch.threads.of(journal, made) if made is not None else None
    if built is not None and built.commit is not None and built.branch is not None:
        target = settings.text("ticket.target_branch")
        why = f"it waits to be merged into {target}; then `ralph work {line.number}` closes it"
        command = f"git switch {target} && git merge {built.branch}"
    elif stage.what is StageKind.PLAN:
        with journal.projected(TICKETS) as sql:
            plans = [one.path for one in card_of(sql, ticket.id).artifacts if one.kind == "plan_document"]
        why = f"its plan is yours to approve ({plans[-1] if plans else 'none is attached'}): {why}"
    return WaitingFor(WaitKind.PERSON, why, line.since, command)


@lru_cache(maxsize=256)
def _next_way(machine: Machine, state: str, data: str, came_from: str | None) -> Handoff | None:
    """What leads on: to the next state of the pipeline, or from beside it to where the ticket came from.

    `data` is the snapshot as it is written: many tickets wait in the same one, and it is asked for once.
    """
    ways = possible(machine, decode_snapshot(data), MoveRequest(_PERSON, f"person:{_PERSON.id}"))
    ahead = [one for one in ways if distance(machine, state, one.to) > 0]
    back = [one for one in ways if one.to == came_from and state == escalated(machine)]
    first = min(ahead, key=lambda one: distance(machine, state, one.to), default=None)
    return first or next(iter(back or ways), None)


def _before(journal: Journal, ticket: Instance, line: TicketRow) -> WaitingFor | None:
    """Who holds a ticket, or which others come before it; None if nothing does."""
    if line.holder is not None:
        return WaitingFor(WaitKind.WORK, f"{spoken(line.holder, line.held_by)} holds it", line.updated)
    if not line.blockers:
        return None
    with journal.projected(TICKETS) as sql:
        circle = next((one for one in circles(sql) if any(each.id == ticket.id for each in one.tickets)), None)
        others = by_ids(sql, card_of(sql, ticket.id).blocked_by).values()
    if circle is not None:
        why = f"it waits for itself: {circle.message}; `{circle.way_out}` takes out a link"
        return WaitingFor(WaitKind.OTHERS, why, line.updated, circle.way_out)
    numbers = sorted(one.number for one in others if one.outcome is None)
    why = f"it waits for {', '.join(f'#{one}' for one in numbers)}"
    return WaitingFor(WaitKind.OTHERS, why, line.updated, f"ralph work {numbers[0]}" if numbers else "")


def _to_be_worked_on(
    journal: Journal, machine: Machine, ticket: Instance, line: TicketRow, settings: Settings
) -> WaitingFor:
    """A ticket that anybody may continue, unless its agent cannot work."""
    command = f"ralph work {line.number}"
    problem, limit = agent_problem(journal, ticket.id), limit_text(journal, ticket.id)
    if problem is not None:
        return WaitingFor(WaitKind.PERSON, problem, line.updated, command)
    if limit:
        return WaitingFor(WaitKind.OTHERS, f"it {limit}", line.updated, command)
    stage = stage_of(machine, ticket.state, settings.text("ticket.plan_review"))
    if stage.command is not None and too_large(machine, stage.command, line.estimate):
        why = f"an estimate of {line.estimate} is too large for {stage.command}: it has to be divided"
        return WaitingFor(WaitKind.DRIVER, why, line.updated, f"{command} --split")
    return WaitingFor(WaitKind.DRIVER, "nobody works on it", line.updated, command)


# Loops and runs


def _is_last(journal: Journal, instance: Instance) -> bool:
    return any(one.id == instance.id for one in journal.recent(instance.machine, 1))


def _loop(journal: Journal, watch: RecordCaches, instance: Instance) -> WaitingFor:
    """A story loop that works for no thread; one that has ended waits only while there is no newer one."""
    loop = watch.loops.of(journal, instance)
    blocked = [one.id for one in loop.progress.stories if one.status == "blocked"]
    unblock = f"ralph story unblock {blocked[0]}" if blocked else _STORY
    if instance.outcome is not None and (instance.parent is not None or not _is_last(journal, instance)):
        return _ended(instance)
    if loop.outcome == _BLOCKED:
        needs = "; ".join(f"{one}: {why}" for one, why in loop.needs.items())
        return WaitingFor(WaitKind.PERSON, f"only blocked stories are left: {needs}", loop.updated, unblock)
    if instance.outcome is not None:
        is_told = bool(loop.explanation)
        told = WaitingFor(WaitKind.PERSON, loop.explanation, loop.updated, "ralph story init")
        return told if is_told else _ended(instance)
    if loop.paused is not None:
        kind = WaitKind.PERSON if loop.paused.needs_person else WaitKind.DRIVER
        return WaitingFor(kind, f"it is paused: {loop.paused.reason}", loop.updated, _STORY)
    driver = _driver(journal, instance)
    if driver is None:
        return _nobody_drives(journal, instance, _STORY)
    if not blocked:
        return driver
    why = f"{', '.join(blocked[:5])} {'is' if len(blocked) == 1 else 'are'} blocked; the others continue"
    return WaitingFor(WaitKind.WORK, why, loop.updated, unblock)


def _nobody_drives(journal: Journal, instance: Instance, command: str) -> WaitingFor:
    problem = agent_problem(journal, instance.id)
    kind = WaitKind.DRIVER if problem is None else WaitKind.PERSON
    return WaitingFor(kind, problem or "nobody drives it", instance.updated, command)


def _run(journal: Journal, watch: RecordCaches, instance: Instance) -> WaitingFor:
    """A run that works for no thread; one that failed waits only while there is no newer one."""
    run, command = watch.runs.of(journal, instance), f"ralph orchestrate resume {instance.id[-6:]}"
    if instance.outcome is not None:
        is_asking = instance.parent is None and instance.outcome == "failure" and _is_last(journal, instance)
        if not is_asking:
            return _ended(instance)
        from interlock.work.orchestration.needs import need_of

        need = need_of(run, journal.history(instance.id, run.entered - 1)[0])
        why = "\n".join((need.says, *need.details[:_MOST_LINES], *need.questions[:_MOST_LINES], need.help))
        return WaitingFor(WaitKind.PERSON, why, run.updated, f'{command} --say "…"')
    if run.paused is not None:
        return WaitingFor(WaitKind.PERSON, f"it is paused: {run.paused.reason}", run.updated, command)
    return _driver(journal, instance) or _nobody_drives(journal, instance, command)
