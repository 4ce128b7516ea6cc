"""Edits of JSON that keep everything else byte for byte."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from exhaustive import EXHAUSTIVE
from interlock.world import jsonc
from interlock.world.jsonc import MISSING, JsonFault, Trail
from world.documents import VALUES, written, written_objects

MODEST = settings(max_examples=300 if EXHAUSTIVE else 20, suppress_health_check=list(HealthCheck))
NAMES = st.sampled_from(["ralph", "mcp", "a b", 'quo"te', "é", ""])


def _same(one: object, other: object) -> bool:
    return json.dumps(one) == json.dumps(other)


# Reading


@MODEST
@given(st.data())
def test_what_is_written_is_read_again_however_it_is_written(data: st.DataObject) -> None:
    value = data.draw(VALUES)
    assert _same(jsonc.get(data.draw(written(value))), value)


@MODEST
@given(VALUES, st.sampled_from([None, 0, 2, "\t"]))
def test_pythons_own_json_is_read_as_python_reads_it(value: object, indent: int | str | None) -> None:
    assert _same(jsonc.get(json.dumps(value, indent=indent)), value)


@MODEST
@given(st.text(st.sampled_from('{}[]",:/*0123456789.-eEtruefalsnl\\ \n\r\ta'), max_size=30) | st.text(max_size=20))
def test_any_text_is_read_or_has_a_fault_with_a_place(text: str) -> None:
    fault = _fault(text)
    if fault is None:
        assert text.strip()
        return
    assert 1 <= fault.line <= text.count("\n") + text.count("\r") + 1
    assert 1 <= fault.column <= len(text) + 1


def _fault(text: str) -> JsonFault | None:
    try:
        jsonc.get(text)
    except JsonFault as fault:
        return fault
    return None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", (1, 1)),
        ("{", (1, 2)),
        ('{"a": }', (1, 7)),
        ('{"a" 1}', (1, 6)),
        ('{"a": 1 "b": 2}', (1, 9)),
        ("{a: 1}", (1, 2)),
        ('{"a": 1}\n}', (2, 1)),
        ('{\r\n  "a": 01\r\n}', (2, 9)),
        ('{"a": 1,, "b": 2}', (1, 9)),
        ("[,]", (1, 2)),
        ('{"a": "b\n"}', (1, 7)),
        ('{"a": "\\x"}', (1, 7)),
        ('{"a": 1} /* no end', (1, 10)),
        ("{'a': 1}", (1, 2)),
        ("NaN", (1, 1)),
        ('{"a": 1,\n "b": 2,\n "a": 3}', (3, 2)),
        ('{"x": [{"a": 1, "\\u0061": 2}]}', (1, 17)),
    ],
)
def test_a_fault_says_where_it_is(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(JsonFault) as fault:
        jsonc.get(text)
    assert (fault.value.line, fault.value.column) == place
    assert f"(line {place[0]}, column {place[1]})" in str(fault.value)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 300 + "]" * 300])
def test_nesting_without_end_is_refused(text: str) -> None:
    with pytest.raises(JsonFault, match="too deeply"):
        jsonc.get(text)


def test_a_trail_that_leads_nowhere_is_missing_and_one_through_another_kind_is_a_fault() -> None:
    text = '{"a": {"b": [1, 2]}, "c": "text"}'
    assert jsonc.get(text, ("a", "b", 1)) == 2
    assert jsonc.get(text, ("a", "x", "y")) is MISSING
    assert jsonc.get(text, ("a", "b", 5)) is MISSING
    assert jsonc.raw(text, ("a", "b")) == "[1, 2]"
    assert jsonc.raw(text, ("x",)) is None
    for trail in [("c", "d"), ("a", "b", "d"), ("a", 0)]:
        with pytest.raises(JsonFault):
            jsonc.get(text, trail)


@pytest.mark.parametrize("number", ["9" * 5000, "1e999", "-0", "1.5E+3"])
def test_a_number_of_any_size_stays_as_it_is_written(number: str) -> None:
    text = f'{{"a": {number}}}'
    assert jsonc.raw(jsonc.put(text, ("b",), 1), ("a",)) == number


# Putting in and taking out


def _containers(value: object, trail: Trail = ()) -> list[Trail]:
    """Every object in a value."""
    if isinstance(value, dict):
        inner = [one for key, part in value.items() for one in _containers(part, (*trail, key))]
        return [trail, *inner]
    if isinstance(value, list):
        return [one for index, part in enumerate(value) for one in _containers(part, (*trail, index))]
    return []


@MODEST
@given(st.data(), written_objects(), NAMES, VALUES)
def test_removing_what_was_put_in_gives_the_text_from_before(
    data: st.DataObject, text: str, name: str, value: object
) -> None:
    """Where a container was empty, its own text is remembered, and pasted."""
    trail = data.draw(st.sampled_from(_containers(jsonc.get(text))))
    assume(jsonc.get(text, (*trail, name)) is MISSING)
    before = jsonc.raw(text, trail)
    assert before is not None
    edited = jsonc.put(text, (*trail, name), value)
    assert _same(jsonc.get(edited, (*trail, name)), value)
    removed = jsonc.remove(edited, (*trail, name))
    if jsonc.get(text, trail) == {}:
        assert jsonc.get(removed, trail) == {}
        removed = jsonc.paste(removed, trail, before)
    assert removed == text


@MODEST
@given(st.data(), written_objects(), VALUES)
def test_removing_what_was_appended_gives_the_text_from_before(data: st.DataObject, text: str, value: object) -> None:
    start = jsonc.put(text, ("list",), data.draw(st.lists(VALUES, min_size=1, max_size=3)))
    edited = jsonc.append(start, ("list",), value)
    found = jsonc.get(edited, ("list",))
    assert isinstance(found, list)
    assert _same(found[-1], value)
    assert jsonc.remove(edited, ("list", len(found) - 1)) == start


@MODEST
@given(st.data(), written_objects(), NAMES, VALUES)
def test_putting_changes_the_one_value_and_keeps_every_comment(
    data: st.DataObject, text: str, name: str, value: object
) -> None:
    whole = jsonc.get(text)
    assert isinstance(whole, dict)
    key = data.draw(st.sampled_from([name, *whole]))
    edited = jsonc.put(text, (key,), value)
    assert _same(jsonc.get(edited), {**whole, key: value})
    assert jsonc.put(edited, (key,), value) == edited
    gone = Counter(jsonc.comments(jsonc.raw(text, (key,)) or ""))
    assert Counter(jsonc.comments(text)) - gone <= Counter(jsonc.comments(edited))


@MODEST
@given(st.data(), written_objects())
def test_removing_takes_the_one_value_and_keeps_every_comment(data: st.DataObject, text: str) -> None:
    whole = jsonc.get(text)
    assume(whole)
    assert isinstance(whole, dict)
    key = data.draw(st.sampled_from(list(whole)))
    edited = jsonc.remove(text, (key,))
    assert _same(jsonc.get(edited), {name: value for name, value in whole.items() if name != key})
    gone = Counter(jsonc.comments(jsonc.raw(text, (key,)) or ""))
    assert Counter(jsonc.comments(text)) - gone == Counter(jsonc.comments(edited))


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"x": 1}', '{"x": 1, "a": {"b": 1}}'),
        ('{\n    "x": 1\n}', '{\n    "x": 1,\n    "a": {\n        "b": 1\n    }\n}'),
        ('{\r\n\t"x": 1, // one\r\n}\r\n', '{\r\n\t"x": 1, // one\r\n\t"a": {\r\n\t\t"b": 1\r\n\t},\r\n}\r\n'),
        ('{\n  "x": 1 // one\n  // more\n}', '{\n  "x": 1, // one\n  "a": {\n    "b": 1\n  }\n  // more\n}'),
        ('{\n  "a": {}\n}', '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"a": {"b": 2, "c": 3}}', '{"a": {"b": 1, "c": 3}}'),
        ("{ // nothing yet\n}", '{ // nothing yet\n  "a": {\n    "b": 1\n  }\n}'),
    ],
)
def test_what_is_put_in_looks_like_what_is_around_it(text: str, edited: str) -> None:
    assert jsonc.put(text, ("a", "b"), 1) == edited


def test_a_comment_never_swallows_what_follows() -> None:
    text = '{\n  "x": 1, // one\n  "a": 2, "b": 3}'
    assert jsonc.get(jsonc.remove(text, ("a",))) == {"x": 1, "b": 3}
    text = '{\n  "x": 1, // one\n  "a": 2}'
    assert jsonc.get(jsonc.remove(text, ("a",))) == {"x": 1}


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": "text"}', '{"a": null}', '{"a": []}'])
def test_nothing_is_put_into_what_is_no_object(text: str) -> None:
    with pytest.raises(JsonFault):
        jsonc.put(text, ("a", "b"), 1)


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": {}}', '{"a": null}'])
def test_nothing_is_appended_to_what_is_no_list(text: str) -> None:
    with pytest.raises(JsonFault):
        jsonc.append(text, ("a",), 1)


def test_removing_what_is_not_there_changes_nothing_and_pasting_over_it_is_a_fault() -> None:
    assert jsonc.remove('{"a": 1}', ("b",)) == '{"a": 1}'
    with pytest.raises(JsonFault):
        jsonc.paste('{"a": 1}', ("b",), "2")
    with pytest.raises(JsonFault):
        jsonc.put('{"a": [1]}', ("a", 3), 2)


def test_white_space_behind_what_is_removed_does_not_become_part_of_a_comment() -> None:
    text = '{"a": 1, //\n"b": 2, \n"c": 3}'
    assert jsonc.comments(jsonc.remove(text, ("b",))) == jsonc.comments(text)
