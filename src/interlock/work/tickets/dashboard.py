"""The pipeline at a glance: what stands where, for how long, and what is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from interlock.work.formats.times import text_of
from interlock.work.tickets.circles import circles
from interlock.work.tickets.locks import expire_lost, spoken
from interlock.work.tickets.pipeline import STUCK_HOURS, escalated, order
from interlock.work.tickets.queries import TicketSummary, hours, summaries
from interlock.work.tickets.ticket_table import LINE, TICKETS, TicketRow

if TYPE_CHECKING:
    from interlock.journal import Journal, Sql
    from interlock.machine import Machine

__all__ = ["Dashboard", "PipelineFinding", "PipelineStage", "as_markdown", "as_text", "dashboard"]

_HOUR = 3600.0
_VERY_STUCK_HOURS = 96
_WINDOW_DAYS = 7
_ARCHIVE_DAYS = 14
_LARGE = 3
_MOST_NAMED = 20
_WEIGHTS = {"critical": 3, "warning": 1, "info": 0}
_AT_RISK = 2
_OFF_TRACK = 6
_BUSY = 3
"""How many open tickets somebody has who has too many, if it is also twice what the others have."""


class PipelineFinding(msgspec.Struct, frozen=True, rename="camel"):
    """Something that is wrong with the pipeline, and which tickets show it."""

    code: str
    severity: str
    message: str
    tickets: list[int]
    count: int


class PipelineStage(msgspec.Struct, frozen=True, rename="camel"):
    """One state of the pipeline, and what stands there; the most urgent first."""

    state: str
    count: int
    points: int
    held: int
    oldest_hours: float
    tickets: list[TicketSummary]


class Dashboard(msgspec.Struct, frozen=True, rename="camel"):
    """The pipeline at a glance."""

    phases: list[PipelineStage]
    health: list[PipelineFinding]
    open: int
    velocity: int
    """How many were finished in the last seven days."""
    archivable: int
    """How many ended more than two weeks ago."""
    risk_score: int
    status: str
    """`ON_TRACK`, `AT_RISK` or `OFF_TRACK`."""
    generated_at: str


class _Held(msgspec.Struct, frozen=True):
    number: int
    state: str
    holder: str
    held_by: str | None


_HELD = "SELECT number, state, holder, held_by FROM tickets WHERE holder IS NOT NULL"


def dashboard(journal: Journal, machine: Machine, *, most: int = 5, wip_limit: int = 5) -> Dashboard:
    """The pipeline at a glance, with so many tickets a state; locks of holders that are gone are ended before."""
    expire_lost(journal)
    now = journal.now()
    with journal.projected(TICKETS) as sql:
        ended = _ended(sql, now)
        held = [_Held(*row) for row in sql.rows(_HELD)]
        counts = Counter(one.state for one in held)
        phases = [
            _phase(sql, state, machine.states[state].terminal, counts[state], most, now) for state in _states(machine)
        ]
        health = list(_health(sql, machine, phases, held, wip_limit, now))
    score = sum(_WEIGHTS[one.severity] * one.count for one in health)
    status = "OFF_TRACK" if score >= _OFF_TRACK else "AT_RISK" if score >= _AT_RISK else "ON_TRACK"
    return Dashboard(
        phases=phases,
        health=health,
        open=sum(phase.count for phase in phases if not machine.states[phase.state].terminal),
        velocity=ended[0],
        archivable=ended[1],
        risk_score=score,
        status=status,
        generated_at=text_of(now),
    )


def _states(machine: Machine) -> list[str]:
    """The states in the order of the board: the way, then where it is left."""
    on_the_way = order(machine)
    return [*on_the_way, *[name for name in machine.states if name not in on_the_way]]


def _before(now: float, seconds: float) -> str:
    return text_of(now - seconds)


def _ended(sql: Sql, now: float) -> tuple[int, int]:
    week, archive = _before(now, _WINDOW_DAYS * 24 * _HOUR), _before(now, _ARCHIVE_DAYS * 24 * _HOUR)
    since = "SELECT count(*) FROM tickets WHERE outcome IS NOT NULL AND since"
    [(recent,)] = sql.rows(f"{since} >= ? AND outcome = 'success'", (week,))
    [(old,)] = sql.rows(f"{since} < ?", (archive,))
    return int(recent), int(old)


def _phase(sql: Sql, state: str, is_end: bool, held: int, most: int, now: float) -> PipelineStage:
    where, values = "t.state = ?", [state]
    if is_end:  # what ended long ago is no part of the picture
        where, values = f"{where} AND t.since >= ?", [state, _before(now, _WINDOW_DAYS * 24 * _HOUR)]
    counted = f"SELECT count(*), coalesce(sum(t.size), 0), min(t.since) FROM tickets AS t WHERE {where}"
    [(count, points, oldest)] = sql.rows(counted, values)
    shown = f"SELECT {LINE} FROM tickets AS t WHERE {where} ORDER BY t.rank, t.number LIMIT {int(most)}"
    tickets = summaries(sql, [TicketRow(*row) for row in sql.rows(shown, values)], now)
    return PipelineStage(state, int(count), int(points), held, hours(oldest, now) if oldest else 0.0, tickets)


# Health


def _health(
    sql: Sql, machine: Machine, phases: list[PipelineStage], held: list[_Held], wip_limit: int, now: float
) -> Iterator[PipelineFinding]:
    locks = [name for name, state in machine.states.items() if state.lock]
    for phase in phases:
        if phase.state in locks and phase.count > wip_limit > 0:
            message = f"{phase.count} tickets are in {phase.state}, and {wip_limit} are meant to be at the most"
            yield PipelineFinding("wip_exceeded", "warning", message, [one.number for one in phase.tickets], 1)
    yield from _collisions(held)
    yield from _stuck(sql, machine, now)
    for circle in circles(sql):
        numbers = sorted(line.number for line in circle.tickets)
        message = f"{circle.message}; `{circle.way_out}`"
        yield PipelineFinding("dependency_cycle", "critical", message, numbers[:_MOST_NAMED], len(numbers))
    yield from _found(sql, "blocked", "warning", "waiting for tickets that are not done", "t.blockers > 0")
    beyond = [name for name in order(machine)[2:] if not machine.states[name].terminal]
    large = f"t.size >= {_LARGE} AND t.parts = 0 AND {_in('t.state', beyond)}"
    yield from _found(sql, "oversized_in_pipeline", "warning", "too large to be worked on unsplit", large, beyond)
    outside = "elsewhere on the tracker's board; `ralph ticket sync` says what to do"
    yield from _found(sql, "outside_change", "warning", outside, "t.outside IS NOT NULL", ended=True)
    yield from _gaps(machine, phases)
    yield from _unbalanced(sql)


def _in(column: str, values: list[str]) -> str:
    return f"{column} IN ({', '.join('?' * len(values))})"


def _found(
    sql: Sql, code: str, severity: str, what: str, where: str, values: list[str] | None = None, *, ended: bool = False
) -> Iterator[PipelineFinding]:
    scope = where if ended else f"t.outcome IS NULL AND {where}"
    [(count,)] = sql.rows(f"SELECT count(*) FROM tickets AS t WHERE {scope}", values or [])
    if count:
        rows = sql.rows(
            f"SELECT t.number FROM tickets AS t WHERE {scope} ORDER BY t.number LIMIT {_MOST_NAMED}", values or []
        )
        yield PipelineFinding(
            code, severity, f"{count} {'ticket' if count == 1 else 'tickets'} {what}", [row[0] for row in rows], count
        )


def _stuck(sql: Sql, machine: Machine, now: float) -> Iterator[PipelineFinding]:
    """Those that do not move, where no person is waited for."""
    moving = [
        name for name, one in machine.states.items() if not (one.terminal or one.human or name == escalated(machine))
    ]
    very, rather = _before(now, _VERY_STUCK_HOURS * _HOUR), _before(now, STUCK_HOURS * _HOUR)
    where = f"{_in('t.state', moving)} AND t.since < ?"
    what = f"not moved for more than {_VERY_STUCK_HOURS} hours"
    yield from _found(sql, "stuck_issue", "critical", what, where, [*moving, very])
    what = f"not moved for more than {STUCK_HOURS} hours"
    yield from _found(sql, "stuck_issue", "warning", what, f"{where} AND t.since >= ?", [*moving, rather, very])


def _collisions(held: Sequence[_Held]) -> Iterator[PipelineFinding]:
    """A holder of several tickets in one lock state: it works on one of them at the most."""
    by: dict[tuple[str, str], list[_Held]] = {}
    for one in held:
        by.setdefault((one.state, one.holder), []).append(one)
    for (state, holder), several in sorted(by.items()):
        if len(several) > 1:
            message = f"{spoken(holder, several[0].held_by)} holds {len(several)} tickets in {state} at once"
            numbers = sorted(one.number for one in several)[:_MOST_NAMED]
            yield PipelineFinding("lock_collision", "critical", message, numbers, 1)


def _gaps(machine: Machine, phases: list[PipelineStage]) -> Iterator[PipelineFinding]:
    """Empty states between states that have tickets: work will run out there."""
    counts = {phase.state: phase.count for phase in phases}
    ways = [name for name in order(machine) if not machine.states[name].terminal]
    filled = [place for place, name in enumerate(ways) if counts[name]]
    empty = [name for name in ways[min(filled, default=0) : max(filled, default=0)] if not counts[name]]
    if empty:
        yield PipelineFinding("pipeline_gap", "info", f"nothing is in {', '.join(empty)}", [], len(empty))


def _unbalanced(sql: Sql) -> Iterator[PipelineFinding]:
    loads: Counter[str] = Counter()
    for labels, count in sql.rows(
        "SELECT assignees, count(*) FROM tickets WHERE outcome IS NULL AND assignees <> '[]' GROUP BY assignees"
    ):
        for name in msgspec.json.decode(labels):
            loads[name] += count
    if len(loads) < 2:
        return
    [(busiest, most)] = loads.most_common(1)
    mean = (sum(loads.values()) - most) / (len(loads) - 1)
    if most >= _BUSY and most > 2 * mean:
        message = f"{busiest} has {most} open tickets, and the others have {mean:.1f} on average"
        yield PipelineFinding("unbalanced_workload", "info", message, [], 1)


# As text


def as_markdown(board: Dashboard) -> str:
    """The dashboard as Markdown."""
    lines = [
        f"# Pipeline: {board.status}",
        "",
        "| State | Tickets | Points | Held | Oldest |",
        "| --- | --- | --- | --- | --- |",
    ]
    for phase in board.phases:
        oldest = f"{phase.oldest_hours:.0f} h" if phase.count else ""
        lines.append(f"| {phase.state} | {phase.count} | {phase.points} | {phase.held} | {oldest} |")
    lines += ["", f"Finished in the last 7 days: {board.velocity}. Risk score: {board.risk_score}."]
    if board.health:
        lines += ["", "## Health", ""]
        lines += [f"- **{one.severity}** {one.code}: {_plain(one.message)}{_numbers(one)}" for one in board.health]
    return "\n".join(lines) + "\n"


def as_text(board: Dashboard) -> str:
    """The dashboard as plain text, a line a state."""
    widest = max(len(phase.state) for phase in board.phases)
    lines = [f"Pipeline: {board.status} (risk {board.risk_score}, {board.velocity} finished in 7 days)"]
    for phase in board.phases:
        bar = "#" * min(phase.count, 40)
        lines.append(f"{phase.state:<{widest}}  {phase.count:>5}  {bar}".rstrip())
    lines += [f"[{one.severity}] {one.code}: {_plain(one.message)}{_numbers(one)}" for one in board.health]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _numbers(one: PipelineFinding) -> str:
    named = ", ".join(f"#{number}" for number in one.tickets)
    return f" ({named})" if named else ""
