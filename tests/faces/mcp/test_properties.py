"""Whatever is made from the tools' own schemas, and nearly so: the server never fails, and no refusal is journaled."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import mcp_types as types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from exhaustive import examples
from interlock.faces.mcp.server import TOOLS
from interlock.machine import load_shipped
from interlock.work.sessions.prompt import reported_states

from .servers import Agent, Served, problems, refusal_of

NAMES = [tool.name for tool in TOOLS]
STATES = reported_states(load_shipped("session"))
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

_leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_json = st.recursive(_leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
_odd = st.sampled_from(
    ["", " ", "\x00", "\x1b[31m", "\u202e", "\r", "x" * 10_001, "../..", "null", "1", "' OR 1=1", 0, -1, 1 << 64, 1e308]
) | st.recursive(st.just(1), lambda inner: st.lists(inner, min_size=1, max_size=1), max_leaves=30)


def _valid(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a schema."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([_valid(one) for one in schema["anyOf"]])
    match schema.get("type"):
        case "string":
            return st.text(max_size=40)
        case "integer":
            return st.integers(-5, 600)
        case "number":
            return st.integers(-1, 5) | st.floats(-1, 5)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            return st.lists(_valid(schema["items"]), max_size=3)
        case "object":
            known = {name: _valid(one) for name, one in schema.get("properties", {}).items()}
            more = st.dictionaries(st.text(max_size=8), _json, max_size=2)
            return st.builds(lambda unknown, given: unknown | given, more, st.fixed_dictionaries({}, optional=known))
    raise AssertionError(schema)


@st.composite
def _arguments(draw: st.DrawFn, schema: dict[str, Any], sessions: list[str]) -> dict[str, Any]:
    """Arguments of a schema, or nearly so: one left out, one too many, one of another kind."""
    known = {name: _valid(one) for name, one in schema["properties"].items()}
    if "number" in known:
        known["number"] = st.integers(1, 3) | known["number"]
    if "sessionId" in known:
        known["sessionId"] = st.sampled_from(sessions) | known["sessionId"]
    required = {name: known.pop(name) for name in schema.get("required", [])}
    made: dict[str, Any] = draw(st.fixed_dictionaries(required, optional=known))
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        name = draw(st.sampled_from(sorted(schema["properties"])))
        match draw(st.sampled_from(["drop", "other", "odd", "more"])):
            case "drop":
                made.pop(name, None)
            case "other":
                made[name] = draw(_json)
            case "odd":
                made[name] = draw(_odd)
            case "more":
                made[draw(st.text())] = draw(_json)
    return made


@pytest.fixture(scope="module")
def tools(agent: Agent) -> dict[str, types.Tool]:
    """The tools as the server lists them."""
    listed = agent.portal.call(agent.client.list_tools).tools
    return {tool.name: tool for tool in listed}


@pytest.fixture(scope="module")
def sessions(agent: Agent, served: Served) -> Iterator[list[str]]:
    """Sessions in every situation, by their ids and parts of them."""
    open_, moved, ended = agent.create("1"), agent.create("text"), agent.create()
    agent.move(moved, "analyzing", "implementing", "testing")
    agent.complete(ended, "failure")
    yield [open_, moved, ended, open_[-8:], moved[-3:], "01h0000000000000000000000z"]
    assert problems(served.repository) == []


def _written(served: Served) -> list[tuple[object, ...]]:
    """A measure of all that is in the journal."""
    with closing(sqlite3.connect(f"file:{served.repository}/.ralf/journal.db?mode=ro", uri=True)) as database:
        return database.execute(
            "SELECT (SELECT count(*) || max(hash) FROM entries), (SELECT count(*) || max(updated) FROM instances),"
            " (SELECT count(*) FROM names), (SELECT group_concat(holder || expires) FROM leases)"
        ).fetchall()


def _called(agent: Agent, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    result: types.CallToolResult = agent.portal.call(agent.client.call_tool, name, arguments)
    return result


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(120), suppress_health_check=SLOW)
@given(data=st.data())
def test_whatever_a_tool_is_given_it_answers_and_a_refusal_leaves_no_trace(
    agent: Agent, served: Served, sessions: list[str], tools: dict[str, types.Tool], name: str, data: st.DataObject
) -> None:
    arguments = data.draw(_arguments(tools[name].input_schema, sessions))
    before = _written(served)
    result = _called(agent, name, arguments)
    [content] = result.content
    assert isinstance(content, types.TextContent)
    if result.is_error:
        refusal_of(content.text)
        assert _written(served) == before
    else:
        Draft202012Validator(tools[name].output_schema).validate(result.structured_content)
        if name.startswith(("get_", "list_")):
            assert _written(served) == before


@settings(max_examples=examples(60))
@given(
    reports=st.lists(st.sampled_from(STATES) | st.sampled_from(["idle", "done", "nope"]), max_size=8),
    outcome=st.sampled_from([None, "success", "failure", "timeout", "cancelled"]),
)
def test_a_history_is_what_was_acknowledged_and_nothing_else(
    agent: Agent, reports: list[str], outcome: str | None
) -> None:
    session = agent.create()
    told = ["idle"]
    for state in reports:
        result = _called(agent, "update_session_state", {"sessionId": session, "state": state})
        assert result.is_error is (state not in STATES)
        if not result.is_error:
            assert result.structured_content is not None
            assert result.structured_content["previousState"] == told[-1]
            told.append(state)
    if outcome is not None:
        told.append(agent.complete(session, outcome)["newState"])
    seen = agent.look(session)
    assert [one["state"] for one in seen["stateHistory"]] == told
    assert (seen["currentState"], seen["outcome"]) == (told[-1], outcome)
