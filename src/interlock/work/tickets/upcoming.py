"""The next ticket to work on: found by an index, however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from interlock.errors import UsageError
from interlock.machine.commands import normalise_command
from interlock.work.tickets.circles import circles
from interlock.work.tickets.groups import Group, group_of
from interlock.work.tickets.locks import expire_lost
from interlock.work.tickets.pipeline import escalated, order
from interlock.work.tickets.queries import TicketSummary, summaries
from interlock.work.tickets.ticket_table import LINE, TICKETS, TicketRow, card_of

if TYPE_CHECKING:
    from interlock.journal import Journal
    from interlock.machine import Machine

__all__ = ["Next", "next_ticket"]

_ALTERNATIVES = 5
_LARGEST_FOR_AGENTS = "S"
_FEW = 50
"""How much of a group is told with the next ticket."""


class Next(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The ticket to work on next, if there is one."""

    found: bool
    reason: str
    ticket: TicketSummary | None = None
    body: str = ""
    expected_by_commands: list[str] = []
    group: Group | None = None
    alternatives: list[TicketSummary] = []


def next_ticket(
    journal: Journal,
    machine: Machine,
    *,
    state: str | None = None,
    command: str | None = None,
    largest: str | None = None,
    for_agent: bool = False,
) -> Next:
    """The next ticket that can be worked on: open, held by nobody, waiting for nobody, the most urgent first.

    Without a state or a command, the states nearest to the end are looked through first. An agent that names a state
    and no size is offered small ones only. Locks of holders that are
    gone are ended before.
    """
    expire_lost(journal)
    if for_agent and state is not None:
        largest = largest or _LARGEST_FOR_AGENTS
    states = _states(machine, state, command)
    smallest, size = _sizes(machine, command, largest)
    for one in states:
        with journal.projected(TICKETS) as sql:
            lines = [TicketRow(*row) for row in sql.rows(_NEXT, (one, smallest, size, _ALTERNATIVES + 1))]
            if not lines:
                continue
            found = summaries(sql, lines, journal.now())
            body = card_of(sql, lines[0].id).body
        expected = [name for name, known in machine.form.commands.items() if one in known.inputs and not known.internal]
        return Next(
            True,
            f"the most urgent one in {one!r} that nobody holds and that waits for none",
            found[0],
            body,
            expected,
            group_of(journal, lines[0].number, _FEW),
            found[1:],
        )
    looked = ", ".join(states)
    reason = f"nothing in {looked} is open, unheld, unblocked and small enough"
    with journal.projected(TICKETS) as sql:
        for circle in circles(sql):
            reason += f"; {circle.message}: `{circle.way_out}`"
    return Next(False, reason)


_NEXT = (
    f"SELECT {LINE} FROM tickets AS t WHERE t.state = ? AND t.outcome IS NULL AND t.holder IS NULL "
    "AND t.blockers = 0 AND t.parts = 0 AND (t.size = 0 OR t.size BETWEEN ? AND ?) ORDER BY t.rank, t.number LIMIT ?"
)


def _states(machine: Machine, state: str | None, command: str | None) -> list[str]:
    if state is not None:
        if state not in machine.states or machine.states[state].terminal:
            going = [name for name, one in machine.states.items() if not one.terminal]
            raise UsageError("invalid_argument", f"{state[:80]!r} is no state of work.", f"One of: {', '.join(going)}.")
        return [state]
    on_the_way = order(machine)[::-1]
    if command is not None:
        name = normalise_command(command)
        offered = {known: one for known, one in machine.form.commands.items() if not one.internal}
        if name not in offered:
            raise UsageError(
                "invalid_argument", f"There is no command {command[:80]!r}.", f"One of: {', '.join(offered)}."
            )
        return [one for one in on_the_way if one in offered[name].inputs]
    expected = {one for known in machine.form.commands.values() if not known.internal for one in known.inputs}
    waiting = {name for name, one in machine.states.items() if one.human or name == escalated(machine)}
    return [one for one in on_the_way if one in expected - waiting]


def _sizes(machine: Machine, command: str | None, largest: str | None) -> tuple[int, int]:
    """The smallest and the largest size that is looked for; a ticket without an estimate may have any."""
    sizes = {name: one.rank for name, one in machine.form.estimates.items()}
    if largest is not None:
        if largest.upper() not in sizes:
            raise UsageError("invalid_argument", f"{largest[:80]!r} is no estimate.", f"One of: {', '.join(sizes)}.")
        return 0, sizes[largest.upper()]
    takes = machine.form.commands[normalise_command(command)].estimates if command else []
    fitting = [sizes[one] for one in takes if one in sizes] or list(sizes.values())
    return min(fitting, default=0), max(fitting, default=0)
