"""The JSON Schema that is shipped says the same of a file's structure as the loader."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from exhaustive import examples
from interlock.machine import SHIPPED
from interlock.machine.form import MachineForm, schema
from interlock.machine.load import definition_path

HERE = Path(__file__).parent
FILES = [definition_path(name) for name in SHIPPED] + [HERE / "sound.toml", *sorted((HERE / "broken").glob("*.toml"))]
SCHEMA = json.loads(definition_path("session").with_name("machine.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)

Place = tuple[str | int, ...]


def test_the_shipped_schema_is_the_one_that_the_form_makes() -> None:
    assert json.loads(json.dumps(schema())) == SCHEMA


def test_the_schema_is_a_json_schema() -> None:
    assert SCHEMA["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_machine_file_validates(path: Path) -> None:
    assert list(VALIDATOR.iter_errors(tomllib.loads(path.read_text()))) == []


def test_what_is_no_machine_does_not_validate() -> None:
    nothings: list[Any] = [{}, [], "machine", 1, None]
    for nothing in nothings:
        assert not VALIDATOR.is_valid(nothing)


def _places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Every place in a file, its root left out."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*here, key)
        yield from _places(inner, (*here, key))


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


ORIGINALS = {name: tomllib.loads(definition_path(name).read_text()) for name in ("session", "thread", "ticket")}
PLACES = {name: sorted(_places(raw), key=str) for name, raw in ORIGINALS.items()}
OTHERS: list[Any] = [
    "words",
    "",
    "human",
    7,
    -7,
    2**70,
    True,
    False,
    [],
    ["words"],
    [7, 7],
    [[]],
    {},
    {"words": "words"},
]
"""Values of every type that TOML and JSON share; without fractions, since 1.0 is an integer to a schema only."""


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A definition with a key deleted, an unknown key added, or a value of another type put in."""
    name = draw(st.sampled_from(sorted(ORIGINALS)))
    raw = copy.deepcopy(ORIGINALS[name])
    place = draw(st.sampled_from(PLACES[name]))
    inside, key = _at(raw, place[:-1]), place[-1]
    match draw(st.sampled_from(["delete", "add", "replace"])):
        case "delete":
            del inside[key]
        case "add":
            found = inside[key] if isinstance(inside[key], dict) else inside if isinstance(inside, dict) else raw
            found["weather"] = draw(st.sampled_from(OTHERS))
        case _:
            inside[key] = draw(st.sampled_from(OTHERS))
    return raw


@settings(max_examples=examples(300))
@given(mutated())
@example({})
def test_the_schema_and_the_loader_accept_the_same_files(raw: Any) -> None:
    try:
        msgspec.convert(raw, MachineForm)
        accepted = True
    except msgspec.ValidationError:
        accepted = False
    assert VALIDATOR.is_valid(raw) == accepted
