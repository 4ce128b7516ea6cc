"""What waits for a person: threads, tickets, loops and runs that do not continue alone, settings not accepted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interlock.journal import Instance, Journal
from interlock.machine import Machine
from interlock.machine.states import shipped_state
from interlock.work.attention.next_step import agent_problem, read_ahead, waits_for
from interlock.work.attention.values import WaitingItem
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.inspection.references import called
from interlock.work.settings.accepted import settings_status
from interlock.work.settings.values import Settings
from interlock.work.tickets.ticket_table import TICKETS, by_ids

if TYPE_CHECKING:
    from interlock.journal.look import Look

__all__ = ["newest_open", "open_states", "waiting"]

_MOST: Final = 20
"""So many of each kind are listed."""


def waiting(
    journal: Journal, watch: RecordCaches, settings: Settings, root: Path | None
) -> tuple[tuple[WaitingItem, ...], int]:
    """What waits, and how many more there are of it. Part of a look."""
    with journal.look(TICKETS) as look:
        threads, unlisted = _threads(journal)
        tickets, more = _tickets(journal, look, {one.parent for one in threads})
        asked = (*threads, *tickets, *_last(journal, "story"), *_last(journal, "orchestrator"))
        read_ahead(look, watch, asked)
        found = [*_settings(journal, root), *_items(journal, watch, settings, asked)]
    return tuple(sorted(found, key=_rank)), unlisted + more


def _rank(one: WaitingItem) -> tuple[bool, str, str]:
    """Gates first, then by waiting time; ids break the tie of one millisecond."""
    return not one.is_gate, one.since or "", one.of.id if one.of else ""


def _items(
    journal: Journal, watch: RecordCaches, settings: Settings, asked: Iterable[Instance]
) -> Iterator[WaitingItem]:
    for one in asked:
        found = waits_for(journal, watch, settings, one)
        if found.is_listed:
            of, is_gate = called(journal, watch, one), found.is_persons
            yield WaitingItem(of, one.state, found.why, found.since, found.command, is_gate)


def open_states(machine: Machine, *, human: bool | None = None) -> list[str]:
    """The states that do not end an instance; with `human`, those that wait for a person, or do not."""
    return [
        name for name, state in machine.states.items() if not state.terminal and (human is None or state.human is human)
    ]


def newest_open(journal: Journal, machine: str, most: int, *, human: bool | None = None) -> tuple[int, list[Instance]]:
    """The number of open instances of a machine, and the newest; a machine that has none is not loaded."""
    if not journal.state_counts(machine):
        return 0, []
    return journal.in_states(machine, open_states(journal.current(machine), human=human), most)


def _settings(journal: Journal, root: Path | None) -> Iterator[WaitingItem]:
    if settings_status(journal, root).is_waiting:
        why = "ralph.toml says something that nobody has accepted; until then the settings before it are in force"
        yield WaitingItem(None, "not accepted", why, None, "ralph config accept")


def _threads(journal: Journal) -> tuple[list[Instance], int]:
    """Open threads, and how many more there are in states that no driver leaves."""
    if not journal.state_counts("thread"):
        return [], 0
    states = open_states(journal.current("thread"))
    driven = [one for one in states if shipped_state("thread", one).driven]
    count, asking = journal.in_states("thread", [one for one in states if one not in driven], _MOST)
    _, others = journal.in_states("thread", driven, _MOST)
    return [*asking, *others], count - len(asking)


def _tickets(journal: Journal, look: Look, told: set[str | None]) -> tuple[list[Instance], int]:
    """Tickets that wait for a person, how many more there are; not those whose thread is told of."""
    found: list[str] = []
    more = 0
    for state in reversed(open_states(journal.current("ticket"), human=True)):
        [(count,)] = look.sql.rows("SELECT count(*) FROM tickets WHERE state = ?", (state,))
        shown = f"SELECT id FROM tickets WHERE state = ? ORDER BY rank, number LIMIT {_MOST}"
        some = [row[0] for row in look.sql.rows(shown, (state,))]
        more += count - len(some)
        found += some
    outside = f"SELECT id FROM tickets WHERE outside IS NOT NULL ORDER BY number LIMIT {_MOST}"
    moved = [row[0] for row in look.sql.rows(outside)]
    parents = dict.fromkeys(one.parent for one in journal.recent("session", _MOST) if one.parent is not None)
    look.read_newest_children(parents, "session")
    hindered = [one for one in parents if agent_problem(journal, one) is not None]
    found += by_ids(look.sql, hindered)
    listed = dict.fromkeys([*moved, *(one for one in found if one not in told)])
    look.read_instances(listed)
    return [journal.instance(one) for one in listed], more


def _last(journal: Journal, machine: str) -> list[Instance]:
    """The open ones that work for no thread, and the newest, which may have ended for want of a person."""
    _, found = newest_open(journal, machine, _MOST)
    known = {one.id: one for one in (*found, *journal.recent(machine, 1))}
    return [one for one in known.values() if one.parent is None]
