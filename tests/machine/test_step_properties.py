"""What holds for every event in every snapshot that a machine can reach."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from hypothesis import find, given, settings
from hypothesis import strategies as st

from exhaustive import EXHAUSTIVE
from interlock.errors import CODES
from interlock.machine import (
    SHIPPED,
    Accepted,
    Actor,
    ActorKind,
    Channel,
    Event,
    Evidence,
    Refused,
    Snapshot,
    load_shipped,
    start,
    step,
)
from interlock.machine.model import BUILTIN, NOTED

from .walks import TASK, Table, by, event_of, holds, shipped_table

MODEST = settings(max_examples=300 if EXHAUSTIVE else 20)

strange = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", "\x00", "\x1b[2J", "../../etc/passwd", "__proto__", "%s", "‮", "x" * 5000, TASK]),
)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | strange,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strange, inner, max_size=3),
    max_leaves=6,
)


@cache
def _names(name: str) -> list[str]:
    """Every word that means something in a machine, so that arbitrary evidence is sometimes nearly right."""
    table = shipped_table(name)
    sections = ("counters", "facts", "settings", "gates", "receipts", "commands")
    words = {word for section in sections for word in table.section(section)} | set(table.subjects)
    values = {value for fact in table.section("facts").values() for value in fact["values"]}
    return sorted(words | values | {f"{counter}.limit" for counter in table.section("counters")} | {"key", "result"})


def words(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from(_names(name)) | strange


def evidence(name: str) -> st.SearchStrategy[Evidence]:
    word = words(name)
    return st.builds(
        Evidence,
        facts=st.dictionaries(word, word, max_size=3),
        subjects=st.dictionaries(word, word, max_size=2),
        settings=st.dictionaries(word, word | st.integers(), max_size=2),
        task=st.none() | strange,
        holder=st.none() | strange,
        data=st.dictionaries(word, json, max_size=3),
    )


def events(name: str) -> st.SearchStrategy[Event]:
    table = shipped_table(name)
    return st.builds(
        Event,
        name=st.sampled_from(table.events) | st.sampled_from(sorted(BUILTIN)) | strange,
        actor=st.builds(Actor, st.sampled_from(ActorKind), strange, st.sampled_from(Channel)),
        to=st.none() | st.sampled_from(list(table.states)) | strange,
        command=st.none() | words(name),
        reason=st.none() | strange,
        evidence=st.none() | evidence(name),
    )


@st.composite
def walked(draw: st.DrawFn, name: str, most: int = 25, without: frozenset[str] = frozenset()) -> Snapshot:
    """A snapshot that a random walk through the table reaches, with changes from outside now and then."""
    table, machine = shipped_table(name), load_shipped(name)
    chosen = {one: draw(st.sampled_from(setting["values"])) for one, setting in table.section("settings").items()}
    begun = start(machine, Event("created", by("human"), evidence=Evidence(settings=chosen)))
    assert isinstance(begun, Accepted)
    snapshot = begun.snapshot
    for number in range(draw(st.integers(0, most))):
        possible = [event for event in _offered(table, snapshot) if event.name not in without]
        if not possible or (table.subjects and draw(st.integers(0, 9)) == 9):
            possible = [_changed(subject, f"change {number}") for subject in sorted(table.subjects) or ["nothing"]]
        result = step(machine, snapshot, draw(st.sampled_from(possible)))
        snapshot = result.snapshot if isinstance(result, Accepted) else snapshot
    return snapshot


def _changed(subject: str, into: str) -> Event:
    return Event("observed", by("system"), evidence=Evidence(subjects={subject: into}))


def _offered(table: Table, snapshot: Snapshot) -> list[Event]:
    """What the table offers here, with what it asks for; and the outcomes of the effects that were begun."""
    outcomes = [
        Event("effect_settled", by("system"), evidence=Evidence(data={"key": key, "result": result}))
        for key in snapshot.pending
        for result in ("done", "failed")
    ]
    offered = [
        event_of(table, row, kind, snapshot, facts)
        for row in table.rows
        if row.source == snapshot.state and not row.refuses
        for facts in _facts(table, row.on)
        if holds(table, row, snapshot, facts)
        for kind in row.by
    ]
    return outcomes if snapshot.awaiting else [*outcomes, *offered]


def _facts(table: Table, event: str) -> list[dict[str, str]]:
    choices: list[dict[str, str]] = [{}]
    for fact in sorted(table.facts_of(event)):
        choices = [{**so_far, fact: value} for so_far in choices for value in table.section("facts")[fact]["values"]]
    return choices


names = st.sampled_from(SHIPPED)


@MODEST
@given(st.data(), names)
def test_a_step_never_raises_never_changes_its_arguments_and_is_the_same_again(data: st.DataObject, name: str) -> None:
    machine, snapshot, event = load_shipped(name), data.draw(walked(name)), data.draw(events(name))
    before = _bytes(snapshot), _bytes(event)
    result = step(machine, snapshot, event)
    assert (_bytes(snapshot), _bytes(event)) == before
    assert step(machine, snapshot, event) == result
    if isinstance(result, Refused):
        assert result.code in CODES
        assert len(result.message) < 10_000
    else:
        assert result.snapshot.state in machine.states


def _bytes(value: Any) -> bytes:
    return msgspec.json.encode(value)


@MODEST
@given(st.data(), names)
def test_what_is_not_in_the_table_for_this_state_and_actor_is_not_accepted(data: st.DataObject, name: str) -> None:
    table, snapshot, event = shipped_table(name), data.draw(walked(name)), data.draw(events(name))
    result = step(load_shipped(name), snapshot, event)
    if not isinstance(result, Accepted) or (event.name in BUILTIN and event.actor.kind == "system"):
        return
    if event.name == NOTED:
        assert result.snapshot == snapshot
        return
    rows = [row for row in table.speaking(snapshot.state, event.name, event.actor.kind) if not row.refuses]
    if table.raw.get("enforcement") == "observe" and result.transition is None:
        assert result.warning
        return
    assert result.snapshot.state in {snapshot.state, *(row.to for row in rows)}
    assert rows


DETOURS = frozenset(
    {
        "abandon",
        "assess",
        "budget_exhausted",
        "checks_failed",
        "driver_failed",
        "models_exhausted",
        "pause",
        "polish",
        "reopen",
        "revise",
        "verification_stopped",
        "withdraw",
    }
)
"""Without these a walk through the thread comes to its end often enough to say something about it."""


@MODEST
@given(walked("thread", 60, DETOURS))
def test_a_walk_reaches_success_only_with_every_required_proof_for_what_is_there_now(snapshot: Snapshot) -> None:
    if snapshot.outcome == "success":
        for name, proof in shipped_table("thread").proofs.items():
            if proof.get("required_for") == "success":
                assert snapshot.proofs[name] == snapshot.subjects[proof["subject"]]


def test_a_walk_does_reach_success() -> None:
    found = find(walked("thread", 60, DETOURS), lambda snapshot: snapshot.outcome == "success", settings=MODEST)
    assert found.state == "Done"


@MODEST
@given(st.data(), names)
def test_a_start_never_raises_and_begins_where_the_machine_begins(data: st.DataObject, name: str) -> None:
    raw, result = shipped_table(name).raw, start(load_shipped(name), data.draw(events(name)))
    if isinstance(result, Refused):
        assert result.code in CODES
    else:
        assert result.snapshot.state in {raw["initial"], *(one["state"] for one in raw.get("starts", []))}
        assert result.snapshot.outcome is None


@MODEST
@given(st.data(), names)
def test_a_superseded_instance_refuses_every_move_for_ever(data: st.DataObject, name: str) -> None:
    machine, snapshot = load_shipped(name), data.draw(walked(name))
    closed = step(machine, snapshot, Event("superseded", by("system")))
    if isinstance(closed, Refused):
        assert snapshot.outcome is not None or snapshot.awaiting is not None
        return
    event = data.draw(events(name))
    result = step(machine, closed.snapshot, event)
    if event.name == NOTED:
        assert isinstance(result, Refused) or result.snapshot == closed.snapshot
        return
    settles = event.name == "effect_settled" and event.actor.kind == "system"
    assert settles or (isinstance(result, Refused) and result.code == "terminal")
