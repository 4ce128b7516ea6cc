"""Who is at work, and what does not move though it should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from interlock.errors import InterlockError
from interlock.journal import Instance, Journal
from interlock.work.attention.next_step import limit_text
from interlock.work.attention.values import StuckItem, WorkingItem
from interlock.work.attention.waiting import newest_open, open_states
from interlock.work.driver.lease_holders import current_driver
from interlock.work.formats.times import text_of
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.inspection.references import Reference, called
from interlock.work.sessions.summary import summary_of
from interlock.work.tickets.circles import circles
from interlock.work.tickets.pipeline import STUCK_HOURS, escalated
from interlock.work.tickets.ticket_table import TICKETS, TicketRow, by_ids

__all__ = ["driver_of", "stuck", "working"]

_MOST: Final = 30
_MOST_STUCK: Final = 10
_DRIVEN: Final = ("thread", "story", "orchestrator")


def working(journal: Journal, watch: RecordCaches, now: float) -> tuple[tuple[WorkingItem, ...], int]:
    """Agents at work, the newest first, then what is driven without one; and how many more agents there are."""
    count, sessions = newest_open(journal, "session", _MOST)
    found = [_agent(journal, watch, one, now) for one in sessions]
    busy = {one.parent for one in sessions}
    for machine in _DRIVEN:
        _, instances = newest_open(journal, machine, _MOST)
        found += [one for each in instances if each.id not in busy for one in _alone(journal, watch, each)]
    return tuple(found), count - len(sessions)


def _agent(journal: Journal, watch: RecordCaches, instance: Instance, now: float) -> WorkingItem:
    session = summary_of(watch.sessions.of(journal, instance), journal.machine_of(instance), now)
    above = _instance(journal, instance.parent)
    if above is None:
        return WorkingItem(None, "", session.started, "", session)
    driver = driver_of(journal, above)
    return WorkingItem(called(journal, watch, above), above.state, session.started, driver, session)


def _alone(journal: Journal, watch: RecordCaches, instance: Instance) -> Iterator[WorkingItem]:
    """What is driven, and asks no agent just now: it verifies, waits for a limit, or is between two steps."""
    driver = driver_of(journal, instance)
    if driver:
        of, waits = called(journal, watch, instance), limit_text(journal, instance.id)
        yield WorkingItem(of, instance.state, instance.updated, driver, None, waits)


def _instance(journal: Journal, id_: str | None) -> Instance | None:
    try:
        return None if id_ is None else journal.instance(id_)
    except InterlockError:
        return None


def driver_of(journal: Journal, instance: Instance) -> str:
    """The process that drives an instance; empty where none does."""
    if instance.machine not in _DRIVEN:
        return ""
    lease = current_driver(journal, instance.machine, instance.id)
    return "" if lease is None else str(lease.holder)


# What does not move


def stuck(journal: Journal, watch: RecordCaches, busy: Sequence[WorkingItem], now: float) -> tuple[StuckItem, ...]:
    """Agents that are silent for too long, loops whose attempts change nothing, tickets in a circle or that lie."""
    return (*_silent(busy), *_standing_still(journal, watch, busy), *_circling(journal), *_lying(journal, now))


def _silent(busy: Sequence[WorkingItem]) -> Iterator[StuckItem]:
    for one in busy:
        session = one.session
        if session is not None and session.is_silent:
            usual = f"{session.usual} s are usual at the most"
            why = f"{session.agent or 'an agent'} is silent in {session.state}; {usual}"
            of = Reference("session", session.id, one.of.title if one.of else "")
            yield StuckItem(of, why, session.updated, f"ralph session show {session.id[-6:]}")


def _standing_still(journal: Journal, watch: RecordCaches, busy: Sequence[WorkingItem]) -> Iterator[StuckItem]:
    for id_ in dict.fromkeys(one.of.id for one in busy if one.of is not None and one.of.machine == "story"):
        from interlock.work.stories.stuck import standstill  # few have a story loop at work

        instance = journal.instance(id_)
        loop = watch.loops.of(journal, instance)
        facts = standstill(loop.base, loop.facts) if loop.story else ()
        if facts:
            why = f"{loop.story} {loop.task}: {'; '.join(facts)}"
            yield StuckItem(called(journal, watch, instance), why, loop.updated, "ralph story status")


def _circling(journal: Journal) -> Iterator[StuckItem]:
    """Tickets that wait for each other."""
    with journal.projected(TICKETS) as sql:
        found = circles(sql)
    for circle in found:
        first = circle.tickets[0]
        of = Reference("ticket", first.id, " ".join(first.title.split())[:200], first.number)
        yield StuckItem(of, circle.message, max(one.updated for one in circle.tickets), circle.way_out)


def _lying(journal: Journal, now: float) -> Iterator[StuckItem]:
    """Tickets that have not moved for long, where no person is waited for; the longest first."""
    machine = journal.current("ticket")
    moving = [one for one in open_states(machine, human=False) if one != escalated(machine)]
    before = text_of(now - STUCK_HOURS * 3600)
    found: list[TicketRow] = []
    with journal.projected(TICKETS) as sql:
        for state in moving:
            where = f"state = ? AND since < ? ORDER BY rank, number LIMIT {_MOST_STUCK}"
            rows = sql.rows(f"SELECT id FROM tickets WHERE {where}", (state, before))  # all of it is in an index
            found += by_ids(sql, [row[0] for row in rows]).values()
    for line in sorted(found, key=lambda one: (one.rank, one.since))[:_MOST_STUCK]:
        why = f"it has been in {line.state} for more than {STUCK_HOURS} hours"
        of = Reference("ticket", line.id, " ".join(line.title.split())[:200], line.number)
        yield StuckItem(of, why, line.since, f"ralph ticket show {line.number}")
