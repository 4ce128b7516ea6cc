"""Everything that is under way, as a tree: a ticket, its thread, what drives that, and the agents at work on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

import msgspec

from interlock.errors import InterlockError
from interlock.journal import Instance, Journal
from interlock.work.attention.next_step import limit_text, read_ahead
from interlock.work.attention.values import WaitingItem
from interlock.work.attention.waiting import newest_open
from interlock.work.attention.working import driver_of
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.inspection.references import Reference, called
from interlock.work.sessions.summary import SessionSummary, summary_of
from interlock.work.tickets.locks import spoken
from interlock.work.tickets.threads import strays
from interlock.work.tickets.ticket_table import LINE, TICKETS, TicketRow, by_ids

__all__ = ["Tree", "WorkNode", "tree"]

_MOST: Final = 30
"""So many of each machine are looked for, of those that wait for a person and of those that do not."""
_BELOW: Final = ("thread", "story", "orchestrator", "session")
_KINDS: Final = ("ticket", *_BELOW)


class WorkNode(msgspec.Struct, frozen=True):
    """Something that is under way, and what is below it."""

    of: Reference
    state: str
    since: str
    """When it came to that state."""
    by: str
    """Who drives or holds it; empty where nobody does, or what is below it."""
    is_waiting: bool
    """Whether it waits for a person."""
    session: SessionSummary | None = None
    """What an agent does, where it is an agent's."""
    differs: str | None = None
    """How a thread and its ticket differ, where one could not follow the other."""
    below: tuple[WorkNode, ...] = ()
    waits: str = ""
    """The agent limit or provider that it waits for, with the time; empty if none."""

    @property
    def is_busy(self) -> bool:
        """Whether somebody is at work on it, or below it."""
        return bool(self.by) or self.session is not None or any(one.is_busy for one in self.below)

    @property
    def ids(self) -> frozenset[str]:
        """Itself, and all below it."""
        return frozenset({self.of.id}).union(*(one.ids for one in self.below))


class Tree(msgspec.Struct, frozen=True):
    """What is under way, and how much else has not ended."""

    roots: tuple[WorkNode, ...]
    """What somebody is at work on comes first, then the oldest."""
    rest: Mapping[str, Mapping[str, int]]
    """How many that have not ended are told of nowhere else: of each machine, in each state."""


def tree(journal: Journal, watch: RecordCaches, waiting: Iterable[WaitingItem] = ()) -> Tree:
    """What is under way. A ticket is in it where something below it is, or where somebody holds it.

    What is told of as waiting is not counted among the rest.
    """
    with watch.lock, journal.look(TICKETS) as look:
        found = _with_those_above(journal, _open(journal) | _limited(journal))
        held = _held(journal, found)
        found |= {one: journal.instance(one) for one in held if one not in found}
        read_ahead(look, watch, list(found.values()))
        children: dict[str | None, list[Instance]] = {}
        for one in sorted(found.values(), key=lambda each: each.id):
            children.setdefault(one.parent if one.parent in found else None, []).append(one)
        listed = [(one, one.of) for one in waiting if one.of is not None]
        gates = {of.id for one, of in listed if one.is_gate}
        roots = [_node(journal, watch, one, children, held, gates) for one in children.get(None, ())]
        roots.sort(key=lambda one: (not one.is_busy, one.of.id))
        asking = {of.id: (of.machine, one.state) for one, of in listed}
        told = {one.id: (one.machine, one.state) for one in found.values() if one.outcome is None}
        return Tree(tuple(roots), _rest(journal, (asking | told).values()))


def _open(journal: Journal) -> dict[str, Instance]:
    found: dict[str, Instance] = {}
    for name in _BELOW:
        for human in (False, True):
            _, some = newest_open(journal, name, _MOST, human=human)
            found |= {one.id: one for one in some}
    return found


def _limited(journal: Journal) -> dict[str, Instance]:
    """The tickets whose agent waits for a limit: nothing else of them is under way."""
    parents = {one.parent for one in journal.recent("session", _MOST) if one.parent is not None}
    found = {id_: journal.instance(id_) for id_ in parents}
    return {
        id_: one
        for id_, one in found.items()
        if one.machine == "ticket" and one.outcome is None and limit_text(journal, id_)
    }


def _with_those_above(journal: Journal, found: dict[str, Instance]) -> dict[str, Instance]:
    """What is found, and all that it is for, also where that has ended."""
    known = dict(found)
    for one in found.values():
        above = one.parent
        while above is not None and above not in known:
            try:
                known[above] = journal.instance(above)
            except InterlockError:  # what was taken out of the journal is named by `ralph journal verify`
                break
            above = known[above].parent
    return known


def _held(journal: Journal, found: Mapping[str, Instance]) -> dict[str, TicketRow]:
    """The tickets that somebody holds, and those in the tree."""
    with journal.projected(TICKETS) as sql:
        statement = f"SELECT {LINE} FROM tickets AS t WHERE t.holder IS NOT NULL ORDER BY t.holder LIMIT {_MOST}"
        lines = {row[0]: TicketRow(*row) for row in sql.rows(statement)}
        return lines | by_ids(sql, [one.id for one in found.values() if one.machine == "ticket"])


def _node(
    journal: Journal,
    watch: RecordCaches,
    instance: Instance,
    children: Mapping[str | None, Sequence[Instance]],
    lines: Mapping[str, TicketRow],
    gates: Set[str],
) -> WorkNode:
    below = tuple(_node(journal, watch, one, children, lines, gates) for one in children.get(instance.id, ()))
    of, machine = called(journal, watch, instance), journal.machine_of(instance)
    state = machine.states.get(instance.state)
    since, by, session, differs = instance.updated, driver_of(journal, instance), None, None
    match instance.machine:
        case "ticket":
            line = lines[instance.id]
            since, by = line.since, _holder(line, below)
        case "thread":
            since = watch.threads.of(journal, instance).entered_at
            above = lines.get(instance.parent or "")
            differs = strays(machine, instance, journal.instance(above.id)) if above is not None else None
        case "story":
            since = _entered(journal, instance, watch.loops.of(journal, instance).entered)
        case "orchestrator":
            since = _entered(journal, instance, watch.runs.of(journal, instance).entered)
        case "session":
            session = summary_of(watch.sessions.of(journal, instance), machine, journal.now())
            since, by = session.since, session.agent
    is_waiting = instance.outcome is None and (instance.id in gates or (state is not None and state.human))
    waits = limit_text(journal, instance.id) if instance.machine != "session" and instance.outcome is None else ""
    return WorkNode(of, instance.state, since, by, is_waiting, session, differs, below, waits)


def _entered(journal: Journal, instance: Instance, version: int) -> str:
    """When it came to where it is."""
    return journal.history(instance.id, version - 1, most=1)[0].time


def _holder(line: TicketRow, below: Sequence[WorkNode]) -> str:
    """Who holds a ticket, unless it is one of those below it."""
    if line.holder is None or any(line.holder.endswith(f":{id_}") for one in below for id_ in one.ids):
        return ""
    return spoken(line.holder, line.held_by)


def _rest(journal: Journal, told: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found = {name: dict(journal.state_counts(name)) for name in _KINDS}
    for machine, state in told:
        if state in found.get(machine, ()):
            found[machine][state] -= 1
    kept = {name: {state: number for state, number in those.items() if number > 0} for name, those in found.items()}
    return {name: those for name, those in kept.items() if those}
