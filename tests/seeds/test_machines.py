"""The shipped machines are the seeds' machines, state by state and row by row."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from interlock.machine import SHIPPED, Transition, load_shipped

from .manifest import ENTRIES, TRANSITIONS, Requirement, carried


def _at(place: Any, path: list[str | int]) -> Any:
    for key in path:
        place = getattr(place, key) if isinstance(place, msgspec.Struct) else place[key]  # type: ignore[arg-type]
    return place


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


@pytest.mark.parametrize("required", carried(ENTRIES))
def test_the_machine_says_what_the_seed_says(required: Requirement) -> None:
    found = _at(load_shipped(required["machine"]).form, required["path"])
    if "is" in required:
        assert _plain(found) == required["is"]
    for key, value in required.get("has", {}).items():
        assert _plain(_at(found, [key])) == value, key


@pytest.mark.parametrize("required", carried(TRANSITIONS))
def test_the_machine_moves_as_the_seed_says(required: Requirement) -> None:
    rows = [row for row in load_shipped(required["machine"]).transitions if _edge(row) == _required_edge(required)]
    rows = [row for row in rows if _asked(required.get("when")) <= _asked(row.when)]
    assert rows, "no row makes this move"
    assert all((row.added is not None) == required.get("added", False) for row in rows)
    for key, value in required.get("has", {}).items():
        assert all(_plain(getattr(row, key)) == value for row in rows), key


def _asked(when: str | None) -> set[str]:
    return set(when.split(" and ")) if when else set()


def _edge(row: Transition) -> tuple[str, str, str]:
    return row.source, row.to, row.on


def _required_edge(required: Requirement) -> tuple[str, str, str]:
    return required["from"], required["to"], required["on"]


@pytest.mark.parametrize("machine", SHIPPED)
def test_every_row_that_no_seed_has_says_why_it_was_added(machine: str) -> None:
    drawn = {_required_edge(one) for one in TRANSITIONS if one["machine"] == machine and not one.get("added")}
    unmarked = {_edge(row) for row in load_shipped(machine).transitions if row.added is None}
    assert unmarked == drawn


@pytest.mark.parametrize("machine", SHIPPED)
def test_every_state_is_a_seeds_state(machine: str) -> None:
    required = {one["path"][1] for one in ENTRIES if one["machine"] == machine and one["path"][:1] == ["states"]}
    assert set(load_shipped(machine).states) == required


def test_every_command_and_intent_that_no_seed_has_says_why_it_was_added() -> None:
    form = load_shipped("ticket").form
    tables: dict[str, dict[str, Any]] = {"commands": dict(form.commands), "intents": dict(form.intents)}
    for section, known in tables.items():
        required = {one["path"][1] for one in ENTRIES if one["path"][0] == section} - {"merge"}
        assert {name for name, one in known.items() if one.added is None} == required
