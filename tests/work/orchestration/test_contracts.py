"""Contracts: the schemas ask for what is read, and what is read becomes what the session keeps."""

from __future__ import annotations

from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.work.orchestration.contracts import (
    ANSWERS,
    Answer,
    ReviewerAnswer,
    ReviewerStatus,
    Role,
    example_of,
    schema_of,
)
from interlock.work.orchestration.shapes import fit
from interlock.work.orchestration.values import TASK_ID, CriterionResult, Mark, Plan, Task, TaskReport, Verdict
from work.orchestration.answers_made import answered, executors, plain, questioners, reviewers

VALIDATORS = {role: jsonschema.Draft202012Validator(schema_of(role)) for role in Role}


@pytest.mark.parametrize("role", Role)
def test_a_schema_is_one_that_agents_take_as_it_is(role: Role) -> None:
    schema = schema_of(role)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    for part in (schema, *schema["$defs"].values()):
        if "properties" in part:
            assert part["required"] == list(part["properties"])
            assert part["additionalProperties"] is False
            assert not [one for one in part["properties"].values() if "default" in one]
        else:
            assert part["type"] == "string"


@pytest.mark.parametrize("role", Role)
def test_an_example_is_an_answer(role: Role) -> None:
    jsonschema.validate(example_of(role), schema_of(role))
    assert plain(msgspec.convert(example_of(role), ANSWERS[role])) == example_of(role)


@given(answered())
def test_every_valid_answer_fits_its_schema(made: tuple[Role, Answer]) -> None:
    role, answer = made
    assert VALIDATORS[role].is_valid(plain(answer))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def _places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every part of a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, part in parts for place in _places(part, (*way, key)))]


@given(answered(), JSON, st.data())
def test_what_fits_is_what_the_types_take_and_a_fault_names_the_place(
    made: tuple[Role, Answer], junk: Any, data: st.DataObject
) -> None:
    """One part of a valid answer is replaced: either msgspec would take it as well, or the fault is right there."""
    role, answer = made
    given_ = plain(answer)
    way = data.draw(st.sampled_from(_places(given_)[1:]))
    holder = given_
    for key in way[:-1]:
        holder = holder[key]
    holder[way[-1]] = junk
    fitted = fit(ANSWERS[role], given_)
    try:
        taken = msgspec.convert(given_, ANSWERS[role])
    except msgspec.ValidationError:
        taken = None
    if not fitted.faults:
        converted = msgspec.convert(fitted.value, ANSWERS[role])
        assert taken is None or junk is None or "\ufffd" in str(converted) or "\r" in str(junk) or converted == taken
    else:
        assert taken is None or isinstance(junk, dict)
        place = "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in way)
        assert all(one.path.startswith(place) for one in fitted.faults)


def test_faults_are_all_told_with_their_places_up_to_ten() -> None:
    many = {"status": "done", "tasks": [{"id": number} for number in range(20)], "goal": ["x"]}
    faults = fit(ANSWERS[Role.PLANNER], many).faults
    assert [str(one) for one in faults[:4]] == [
        '`$.status` is "done". It must be "completed", "blocked", "needs_clarification" or "needs_qa_cycle".',
        "`$.goal` is a list. It must be a text.",
        "`$.tasks[0].id` is a whole number. It must be a text.",
        "`$.tasks[0].description` is missing. It must be a text.",
    ]
    assert len(faults) == 10


@pytest.mark.parametrize(
    ("key", "meant"), [("dependsOn", "depends_on"), ("depend_on", "depends_on"), ("success-criteria", None)]
)
def test_a_name_that_looks_like_a_missing_one_is_a_fault_and_others_are_dropped(key: str, meant: str | None) -> None:
    task = {"id": "task-1", "description": "x", "criteria": ["y"], key: ["task-2"], "notes": {"deep": [1]}}
    fitted = fit(ANSWERS[Role.PLANNER], {"status": "completed", "tasks": [task], "confidence": 0.9})
    said = [str(one) for one in fitted.faults]
    named = f"`$.tasks[0].{key}` is not a field of the answer. Did you mean `{meant}`? Rename it."
    assert said == ([named] if meant else [])


def test_null_and_nothing_are_the_same() -> None:
    given_ = {"status": "completed", "goal": None, "tasks": None, "plan": "p"}
    fitted = fit(ANSWERS[Role.PLANNER], given_)
    assert fitted.faults == []
    assert fitted.value == {"status": "completed", "plan": "p"}


def test_what_no_text_may_hold_is_cleaned() -> None:
    fitted = fit(ANSWERS[Role.PLANNER], {"status": "blocked", "goal": "a\x00b\ud800c\r\nd\x1b[31m\u202e"})
    assert fitted.value["goal"] == "a\ufffdb\ufffdc\nd\ufffd[31m\ufffd"


# As the session keeps it


@given(questioners())
def test_a_cycle_has_all_that_was_answered(answer: Any) -> None:
    cycle = answer.cycle(2)
    assert (cycle.number, cycle.questions, cycle.summary) == (2, answer.questions, answer.summary)
    assert (cycle.findings, cycle.invalidated) == (answer.critical_findings, answer.invalidated_assumptions)
    assert (cycle.validated, cycle.unknowns) == (answer.validated_assumptions, answer.remaining_unknowns)
    assert cycle.recommendations == answer.recommendations


@given(executors(), reviewers())
def test_a_report_has_both_parts_and_comes_back_from_json_the_same(first: Any, second: Any) -> None:
    report = TaskReport("task-1", 2, first.part1(), second.part2())
    assert msgspec.json.decode(msgspec.json.encode(report), type=TaskReport) == report
    assert report.part2 is not None
    for part, answer in ((report.part1, first), (report.part2, second)):
        shared = set(part.__struct_fields__) & set(answer.__struct_fields__) - {"verdict"}
        assert len(shared) >= 6
        assert all(getattr(part, name) == getattr(answer, name) for name in shared)


def test_a_reviewer_that_could_not_judge_has_qualified_nothing() -> None:
    assert ReviewerAnswer(status=ReviewerStatus.ERROR, task_id="task-1").part2().verdict is Verdict.FAILED


def test_the_holistic_check_is_the_reviewers() -> None:
    assert [role.performer for role in Role] == ["planner", "questioner", "executor", "reviewer", "reviewer"]


def test_values_come_back_from_json_the_same() -> None:
    plan = Plan("g", "t", tuple(Task(f"task-{mark.name}", "d", mark=mark, attempt=2) for mark in Mark), 3)
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    assert msgspec.json.encode(CriterionResult("c", False)) == b'{"criterion":"c","met":false}'


@pytest.mark.parametrize("good", ["task-1", "task-add-login", "task-A1-b2", "task-" + "9" * 59])
def test_ids_of_tasks(good: str) -> None:
    assert TASK_ID.fullmatch(good)


@pytest.mark.parametrize(
    "bad",
    [
        *(
            "",
            "1",
            "task-",
            "task-a--b",
            "task-a-",
            "Task-1",
            "plan-init",
            "task-ä",
            "task-1\n",
            "task-../x",
            "task-1.2",
        ),
        "task-" + "9" * 60,
    ],
)
def test_what_is_no_id_of_a_task(bad: str) -> None:
    assert not TASK_ID.fullmatch(bad)
