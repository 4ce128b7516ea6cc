"""What waits for a person: gates and menus of threads, tickets, loops and runs that rest, settings not accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from interlock.journal import Instance, Journal
from interlock.machine import Actor, ActorKind, Channel, Machine
from interlock.machine.commands import Handoff
from interlock.work.attention.values import WaitingItem
from interlock.work.driver.agent_failures import hindrance_of, remedy
from interlock.work.driver.lease_holders import is_driven
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.inspection.references import Reference, called
from interlock.work.orchestration.needs import need_of
from interlock.work.settings.accepted import standing
from interlock.work.threads.upcoming import next_command
from interlock.work.tickets.advice import command_of, possible
from interlock.work.tickets.audit import is_move
from interlock.work.tickets.pipeline import distance, escalated
from interlock.work.tickets.threads import PLACES, THREAD, open_thread
from interlock.work.tickets.ticket_table import LINE, TICKETS, TicketRow, by_ids

__all__ = ["open_states", "ticket_command", "wait_of", "waiting"]

_MOST: Final = 20
"""So many of each kind are listed."""
_MOST_LINES: Final = 4
_LATEST: Final = 8
"""So many entries of a ticket are looked at for why it waits."""
_PERSON: Final = Actor(ActorKind.HUMAN, "somebody", Channel.CLI)
_BLOCKED: Final = "only_blocked_left"


def waiting(journal: Journal, watch: RecordCaches, root: Path | None) -> tuple[tuple[WaitingItem, ...], int]:
    """What waits, and how many more there are of it."""
    threads, unlisted, tickets = _threads(journal, watch)
    found = [*_settings(journal, root), *threads]
    for some, more in (_tickets(journal, tickets), (_outside(journal), 0), (_unworkable(journal), 0)):
        found += some
        unlisted += more
    found += [one for one in (*_loops(journal, watch), *_runs(journal, watch)) if one is not None]
    return tuple(sorted(found, key=_rank)), unlisted


def _rank(one: WaitingItem) -> tuple[bool, str, str]:
    """Gates first, then by waiting time; ids break the tie of one millisecond."""
    return not one.is_gate, one.since or "", one.of.id if one.of else ""


def wait_of(journal: Journal, watch: RecordCaches, instance: Instance) -> WaitingItem | None:
    """What one instance needs of a person, itself or through what works on it; None where it needs nothing."""
    machine = journal.machine_of(instance)
    is_last = any(one.id == instance.id for one in journal.recent(instance.machine, 1))
    match instance.machine:
        case "story" | "orchestrator" if instance.parent is not None:
            return wait_of(journal, watch, journal.instance(instance.parent)) if instance.outcome is None else None
        case "story":
            return _loop(journal, watch, instance) if instance.outcome is None or is_last else None
        case "orchestrator":
            is_asking = instance.outcome is None or (is_last and instance.outcome == "failure")
            return _run(journal, watch, instance) if is_asking else None
        case "thread" if instance.outcome is None:
            is_asking = machine.states[instance.state].human
            is_asking = is_asking or not is_driven(journal, "thread", instance.id)
            return _thread(journal, watch, instance) if is_asking else None
        case "ticket" if instance.outcome is None:
            thread = open_thread(journal, instance.id)
            if thread is not None:
                return wait_of(journal, watch, thread)
            with journal.projected(TICKETS) as sql:
                line = by_ids(sql, [instance.id])[instance.id]
            return _ticket(journal, line) if machine.states[instance.state].human else None
    return None


def open_states(machine: Machine, *, human: bool | None = None) -> list[str]:
    """The states that do not end an instance; with `human`, those that wait for a person, or do not."""
    return [
        name for name, state in machine.states.items() if not state.terminal and (human is None or state.human is human)
    ]


def _settings(journal: Journal, root: Path | None) -> Iterator[WaitingItem]:
    if standing(journal, root).is_waiting:
        why = "ralph.toml says something that nobody has accepted; until then the settings before it are in force"
        yield WaitingItem(None, "not accepted", why, None, "ralph config accept")


# Threads


def _threads(journal: Journal, watch: RecordCaches) -> tuple[list[WaitingItem], int, set[str]]:
    """The threads that wait, how many more there are, and the tickets that wait with them."""
    machine = journal.current("thread")
    count, asking = journal.standing("thread", open_states(machine, human=True), _MOST)
    _, others = journal.standing("thread", open_states(machine, human=False), _MOST)
    resting = [one for one in others if not is_driven(journal, "thread", one.id)]
    found = [_thread(journal, watch, one) for one in (*asking, *resting)]
    return found, count - len(asking), {one.parent for one in (*asking, *others) if one.parent is not None}


def _thread(journal: Journal, watch: RecordCaches, instance: Instance) -> WaitingItem:
    thread, state = watch.threads.of(journal, instance), journal.machine_of(instance).states[instance.state]
    why = thread.reason.strip() or state.description
    if instance.state == "Stuck" and thread.diagnosis is not None:
        why = f"{thread.diagnosis.summary}: {thread.diagnosis.reason.strip() or why}"
    needs = None
    if not state.human:
        needs = _needs(journal, thread.child if instance.state == "Running" and thread.child else instance.id)
        why = needs or f"nobody drives it; {state.description[:1].lower()}{state.description[1:]}"
    command, is_gate = next_command(instance.state, instance.id), state.human or needs is not None
    return WaitingItem(called(journal, watch, instance), instance.state, why, thread.entered_at, command, is_gate)


def _needs(journal: Journal, id_: str) -> str | None:
    """Return the agent problem that a person must fix for an instance, or None."""
    ran = hindrance_of(journal, id_, journal.now())
    return None if ran is None or ran.until is not None else f"{ran.why}. {remedy(ran)}."


# Tickets


def _tickets(journal: Journal, with_threads: set[str]) -> tuple[list[WaitingItem], int]:
    """Those that wait for a person; not those whose thread says why."""
    machine = journal.current("ticket")
    found: list[WaitingItem] = []
    more = 0
    for state in reversed(open_states(machine, human=True)):
        with journal.projected(TICKETS) as sql:
            [(count,)] = sql.rows("SELECT count(*) FROM tickets WHERE state = ?", (state,))
            shown = f"SELECT {LINE} FROM tickets AS t WHERE t.state = ? ORDER BY t.rank, t.number LIMIT {_MOST}"
            lines = [TicketRow(*row) for row in sql.rows(shown, (state,))]
        more += count - len(lines)
        found += [_ticket(journal, line) for line in lines if line.id not in with_threads]
    return found, more


def _ticket(journal: Journal, line: TicketRow) -> WaitingItem:
    instance = journal.instance(line.id)
    machine = journal.machine_of(instance)
    latest = journal.history(line.id, max(0, instance.version - _LATEST))
    came = next((one for one in reversed(latest) if is_move(one) and one.from_state != one.to_state), None)
    why = (came.reason if came is not None else None) or machine.states[line.state].description
    command = ticket_command(machine, instance, line.number, came.from_state if came is not None else None)
    if line.state in PLACES and journal.recent(THREAD, 1, parent=line.id):  # it is built, and is to be merged
        command = f"ralph work {line.number}"
    return WaitingItem(_reference(line), line.state, why, line.since, command)


def ticket_command(machine: Machine, ticket: Instance, number: int, came_from: str | None) -> str:
    """What to type for a ticket that waits for a person."""
    wanted = _next_way(machine, ticket, came_from)
    return command_of(number, wanted) if wanted is not None else f"ralph ticket show {number}"


def _next_way(machine: Machine, ticket: Instance, came_from: str | None) -> Handoff | None:
    """What leads on: to the next state of the pipeline, or from beside it to where the ticket came from."""
    ways = possible(machine, ticket.snapshot, _PERSON, f"person:{_PERSON.id}", None, {})
    ahead = [one for one in ways if distance(machine, ticket.state, one.to) > 0]
    back = [one for one in ways if one.to == came_from and ticket.state == escalated(machine)]
    first = min(ahead, key=lambda one: distance(machine, ticket.state, one.to), default=None)
    return first or next(iter(back or ways), None)


def _reference(line: TicketRow) -> Reference:
    return Reference("ticket", line.id, " ".join(line.title.split())[:200], line.number)


def _unworkable(journal: Journal) -> list[WaitingItem]:
    """Those whose agent cannot work until a person fixes something."""
    parents = dict.fromkeys(one.parent for one in journal.recent("session", _MOST) if one.parent is not None)
    found = {one: why for one in parents if (why := _needs(journal, one)) is not None}
    if not found:
        return []
    with journal.projected(TICKETS) as sql:
        lines = by_ids(sql, [*found])
    human = set(open_states(journal.current("ticket"), human=True))
    return [
        WaitingItem(_reference(line), line.state, found[id_], line.updated, f"ralph work {line.number}")
        for id_, line in lines.items()
        if line.outcome is None and line.state not in human
    ]


def _outside(journal: Journal) -> list[WaitingItem]:
    """Those that somebody moved on the tracker's board as only a person may."""
    with journal.projected(TICKETS) as sql:
        statement = f"SELECT {LINE} FROM tickets AS t WHERE t.outside IS NOT NULL ORDER BY t.number LIMIT {_MOST}"
        lines = [TicketRow(*row) for row in sql.rows(statement)]
    return [
        WaitingItem(
            _reference(line),
            line.state,
            f"the tracker's board says {line.outside}",
            line.updated,
            f"ralph ticket sync --accept {line.number}",
        )
        for line in lines
    ]


# Loops and runs


def _loops(journal: Journal, watch: RecordCaches) -> Iterator[WaitingItem | None]:
    """The loop that rests, or has blocked stories; and the last one, where it ended for want of a person."""
    _, found = journal.standing("story", open_states(journal.current("story")), _MOST)
    ended = [one for one in journal.recent("story", 1) if one.outcome is not None]
    for instance in (*found, *ended):
        if instance.parent is None:  # else its thread says what it needs
            yield _loop(journal, watch, instance)


def _loop(journal: Journal, watch: RecordCaches, instance: Instance) -> WaitingItem | None:
    loop = watch.loops.of(journal, instance)
    of = called(journal, watch, instance)
    blocked = [one.id for one in loop.progress.stories if one.status == "blocked"]
    unblock = f"ralph story unblock {blocked[0]}" if blocked else "ralph story run"
    if loop.outcome == _BLOCKED:
        needs = "; ".join(f"{one}: {why}" for one, why in loop.needs.items())
        return WaitingItem(of, loop.state, f"only blocked stories are left: {needs}", loop.updated, unblock)
    if instance.outcome is not None:
        is_told = bool(loop.explanation)
        return WaitingItem(of, loop.state, loop.explanation, loop.updated, "ralph story init") if is_told else None
    if loop.paused is not None:
        why = f"it rests: {loop.paused.reason}"
        return WaitingItem(of, loop.state, why, loop.updated, "ralph story run", loop.paused.needs_person)
    if not is_driven(journal, "story", instance.id):
        unmet = _needs(journal, instance.id)
        why = unmet or "nobody drives it"
        return WaitingItem(of, loop.state, why, loop.updated, "ralph story run", is_gate=unmet is not None)
    if blocked:
        why = f"{', '.join(blocked[:5])} {'is' if len(blocked) == 1 else 'are'} blocked; the others go on"
        return WaitingItem(of, loop.state, why, loop.updated, unblock, is_gate=False)
    return None


def _runs(journal: Journal, watch: RecordCaches) -> Iterator[WaitingItem | None]:
    """The run that rests; and the last one, where it failed."""
    _, found = journal.standing("orchestrator", open_states(journal.current("orchestrator")), _MOST)
    failed = [one for one in journal.recent("orchestrator", 1) if one.outcome == "failure"]
    for instance in (*found, *failed):
        if instance.parent is None:
            yield _run(journal, watch, instance)


def _run(journal: Journal, watch: RecordCaches, instance: Instance) -> WaitingItem | None:
    run, end = watch.runs.of(journal, instance), instance.id[-6:]
    of = called(journal, watch, instance)
    if instance.outcome is not None:
        need = need_of(run, journal.history(instance.id, run.entered - 1)[0])
        command = f'ralph orchestrate resume {end} --say "…"'
        why = "\n".join((need.says, *need.details[:_MOST_LINES], *need.questions[:_MOST_LINES], need.help))
        return WaitingItem(of, run.state, why, run.updated, command)
    if run.paused is not None:
        return WaitingItem(
            of, run.state, f"stopped: {run.paused.reason}", run.updated, f"ralph orchestrate resume {end}"
        )
    if not is_driven(journal, "orchestrator", instance.id):
        command = f"ralph orchestrate resume {end}"
        needs = _needs(journal, instance.id)
        return WaitingItem(of, run.state, needs or "nobody drives it", run.updated, command, is_gate=needs is not None)
    return None
