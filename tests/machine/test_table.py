"""Every state, event and kind of actor of the shipped machines, tried against the table as it is written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from interlock.errors import CODES
from interlock.machine import Accepted, Allowed, Event, Evidence, Refused, Snapshot, load_shipped, step

from .walks import KINDS, SHIPPED, Row, Table, after, by, edited, event_of, holds, proven, shipped_table, situations

STATES = [pytest.param(name, state, id=f"{name}-{state}") for name in SHIPPED for state in shipped_table(name).states]
OPEN = [one for one in STATES if not shipped_table(str(one.values[0])).terminal(str(one.values[1]))]
ENDED = [one for one in STATES if one not in OPEN]


def test_every_shipped_machine_has_states_that_go_on_and_states_that_end() -> None:
    assert {one.values[0] for one in OPEN} == {one.values[0] for one in ENDED} == set(SHIPPED)


@pytest.mark.parametrize(("name", "state"), OPEN)
def test_each_event_moves_as_its_row_says_or_is_refused(name: str, state: str) -> None:
    table, machine = shipped_table(name), load_shipped(name)
    for event_name, kind, to in _pairs(table):
        rows = table.speaking(state, event_name, kind, to)
        if table.targeted(event_name) and to is None:
            rows = []
        for snapshot, facts in situations(table, state, rows, event_name):
            speaking = [row for row in rows if holds(table, row, snapshot, facts)]
            assert len(speaking) <= 1, f"{event_name} by {kind} means two things"
            if speaking and not speaking[0].refuses:
                event = event_of(table, speaking[0], kind, snapshot, facts)
                _assert_moved(table, speaking[0], snapshot, event, step(machine, snapshot, event))
                continue
            event = Event(event_name, by(kind), to, None, "given", Evidence(facts=facts))
            result = step(machine, snapshot, event)
            if not speaking and _is_recorded(table, event):
                _assert_recorded(snapshot, event, result)
            else:
                expected = "refused_by_rule" if speaking else _refusal(table, state, event, rows)
                assert isinstance(result, Refused), event
                assert (result.code, _shown(result.allowed)) == (expected, _allowed(table, snapshot)), event


def _pairs(table: Table) -> Iterator[tuple[str, str, str | None]]:
    """Every event by every kind of actor, a targeted one to every state and to none."""
    for name in table.events:
        for kind in KINDS:
            for to in (None, *table.states) if table.targeted(name) else (None,):
                yield name, kind, to


def _assert_moved(table: Table, row: Row, before: Snapshot, event: Event, result: Accepted | Refused) -> None:
    assert isinstance(result, Accepted), (event, result)
    assert result.effects == tuple(row.raw.get("effects", ()))
    assert result.off_path == row.raw.get("off_path", False)
    if row.raw.get("moves") == "after_effects":
        assert result.snapshot.state == before.state
        for effect in result.effects:
            done = Evidence(data={"key": effect, "result": "done"})
            settled = step(load_shipped(table.raw["name"]), result.snapshot, _system("effect_settled", done))
            assert isinstance(settled, Accepted)
            result = settled
    assert result.snapshot == after(table, row, before, event)


def _system(name: str, evidence: Evidence) -> Event:
    return Event(name, by("system"), evidence=evidence)


def _is_recorded(table: Table, event: Event) -> bool:
    """Whether a machine that observes records the event although it is off the path."""
    targets = {row.to for row in table.rows if row.on == event.name and event.actor.kind in row.by and not row.refuses}
    return table.raw.get("enforcement") == "observe" and table.targeted(event.name) and event.to in targets


def _assert_recorded(before: Snapshot, event: Event, result: Accepted | Refused) -> None:
    assert isinstance(result, Accepted)
    assert result.warning
    assert result.off_path == (event.to != before.state)
    assert result.snapshot == replace(before, state=event.to)


def _refusal(table: Table, state: str, event: Event, rows: list[Row]) -> str:
    """The code with which an event must be refused that no row speaks for."""
    anybody = {kind for row in table.speaking(state, event.name) for kind in row.by}
    if event.actor.kind in anybody:
        if rows:
            return "condition_unmet"
        return "target_required" if event.to is None else "target_not_allowed"
    return "not_allowed" if not anybody else "person_needed" if anybody == {"human"} else "actor_not_allowed"


def _allowed(table: Table, snapshot: Snapshot) -> list[Allowed]:
    """What can happen now: the rows whose condition holds or hangs on a fact, and whose proofs are there."""
    facts = set(table.section("facts"))
    possible = [
        row
        for row in table.rows
        if row.source == snapshot.state
        and not row.refuses
        and (table.named(row.when) & facts or holds(table, row, snapshot, {}))
        and set(row.raw.get("requires", [])) <= snapshot.proofs.keys()
    ]
    return [
        Allowed(
            event=row.on,
            to=str(row.to),
            by=row.by,
            gate=row.raw.get("gate"),
            needs=tuple(row.raw.get("needs", ())),
            requires=tuple(row.raw.get("requires", ())),
            when=row.when,
        )
        for row in possible
    ]


def _shown(allowed: tuple[Allowed, ...]) -> list[Allowed]:
    """What was allowed, without the commands: which make a move is the matter of `test_commands`."""
    return [replace(one, commands=()) for one in allowed]


@pytest.mark.parametrize(("name", "state"), OPEN)
def test_a_refusal_lists_exactly_the_rows_that_can_hold_in_each_situation(name: str, state: str) -> None:
    table, machine = shipped_table(name), load_shipped(name)
    here = [row for row in table.rows if row.source == state]
    for row in here:
        for snapshot, _ in situations(table, state, [row], row.on):
            result = step(machine, snapshot, Event("no_such_event", by("human")))
            assert isinstance(result, Refused)
            assert result.code == "unknown_event"
            assert _shown(result.allowed) == _allowed(table, snapshot)


@pytest.mark.parametrize("enforcement", ["strict", "observe"])
@pytest.mark.parametrize(("name", "state"), ENDED)
def test_what_has_ended_refuses_everything_in_both_modes(name: str, state: str, enforcement: str) -> None:
    table, machine = shipped_table(name), edited(name, enforcement=enforcement)
    outcomes = {row.raw.get("outcome") for row in table.rows if row.to == state} | {table.states[state]["outcome"]}
    for outcome in outcomes - {None}:
        for event_name, kind, to in _pairs(table):
            ended = proven(table, state, outcome=outcome)
            result = step(machine, ended, Event(event_name, by(kind), to, evidence=Evidence(holder="anybody")))
            assert isinstance(result, Refused)
            assert result.code == "terminal"
            assert result.allowed == ()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_code_that_a_table_refuses_with_is_in_the_catalogue(name: str) -> None:
    table, machine = shipped_table(name), load_shipped(name)
    for event_name, kind, to in _pairs(table):
        for state in table.states:
            result = step(machine, Snapshot(state), Event(event_name, by(kind), to))
            if isinstance(result, Refused):
                assert result.code in CODES
                assert result.message
                assert result.hint
