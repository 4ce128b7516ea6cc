"""Answers: found in whatever an agent says, checked, and complained about in words that it can act on."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.work.orchestration.answers import MAX_SAID, Complaint, ComplaintKind, read_answer
from interlock.work.orchestration.contracts import Answer, ExecutorAnswer, PlannerAnswer, Role, example_of
from interlock.work.orchestration.rules import MAX_BYTES, Context
from interlock.work.orchestration.values import Mark, Plan, Question, Task
from work.orchestration.answers_made import ANSWERING, CONTEXTS, PLAN, TASK, answered, plain

# Prose with everything but an object that could be an answer.
PROSE = st.lists(
    st.sampled_from(
        [
            *(
                "I looked at it.\n",
                "```\n",
                "```json\n",
                "{",
                "}",
                "{{",
                '"',
                "'",
                "\\",
                "[",
                "]",
                "\n",
                "{}",
                "<json>",
            ),
            *("function f() { return {a: 1} }\n", 'char *a[] = {"x", "y"};\n', "{'status': 'completed'}\n", "it's\n"),
            *('The server says {"status": "ok"}.\n', '{"a": [1, {"b": null}]}\n', "ümläut — 日本語 🦉\n", "\x1b[31m"),
        ]
    )
    | st.text(st.characters(exclude_characters='{}":'), max_size=20),
    max_size=12,
).map("".join)


@given(answered(), PROSE, PROSE, st.sampled_from([None, 2, 4]), st.booleans())
def test_an_answer_in_any_prose_is_read_back(
    made: tuple[Role, Answer], before: str, after: str, indent: int | None, ascii_: bool
) -> None:
    role, answer = made
    said = json.dumps(plain(answer), indent=indent, ensure_ascii=ascii_)
    assert read_answer(role, f"{before}\n{said}\n{after}", CONTEXTS[role]) == answer


@pytest.mark.parametrize("frame", ["{}", "```json\n{}\n```", "```\n{}\n```\n", "  {}  ", "Done. Here it is: {} Bye."])
def test_the_usual_ways_to_say_it(frame: str) -> None:
    said = frame.replace("{}", json.dumps(executed()))
    assert isinstance(read_answer(Role.EXECUTOR, said, CONTEXTS[Role.EXECUTOR]), ExecutorAnswer)


JUNK = st.lists(
    st.sampled_from(
        [
            *('{"status": "completed"', '{"', '":', '"', "{", "}", "[", "]", ",", ":", "\\", '"task_id": "task-1"'),
            *(
                "null",
                "true",
                "1e999",
                "-",
                "9" * 5000,
                "NaN",
                '{"verdict": "Qualified", ',
                '"met": true',
                "\ud800",
                "\0",
            ),
            *('{"tasks": [', '{"id": "task-1", "depends_on": ["task-1"]}', '"\\ud800"', '"\\u0000"', "\n", "```json\n"),
        ]
    ),
    max_size=40,
).map("".join)


@given(st.sampled_from(Role), JUNK | st.text(max_size=200))
def test_nothing_that_is_said_raises_and_what_is_no_answer_gets_a_complaint(role: Role, said: str) -> None:
    found = read_answer(role, said, CONTEXTS[role])
    if isinstance(found, Complaint):
        assert 1 <= len(found.faults) <= 10
        for one in str(found).splitlines():
            assert one.startswith("- `$")
            assert one.endswith(".")
        assert len(str(found)) < 5000


@given(answered(), st.data())
def test_any_part_of_an_answer_is_no_answer(made: tuple[Role, Answer], data: st.DataObject) -> None:
    role, answer = made
    said = json.dumps(plain(answer))
    cut = data.draw(st.integers(0, len(said) - 1))
    found = read_answer(role, said[:cut], CONTEXTS[role])
    assert isinstance(found, Complaint)
    assert found.trouble in (ComplaintKind.EMPTY, ComplaintKind.NO_JSON, ComplaintKind.HALF_JSON)


def executed(**changed: Any) -> dict[str, Any]:
    return {"status": "completed", "task_id": "task-1", "success_criteria_met": True, **changed}


def reviewed(**changed: Any) -> dict[str, Any]:
    results = [{"criterion": one, "met": True, "evidence": "seen"} for one in TASK.criteria]
    return {"status": "completed", "task_id": "task-1", "verdict": "Qualified", "criteria_results": results, **changed}


def task(id_: str, **changed: Any) -> dict[str, Any]:
    return {"id": id_, "description": "d", "criteria": ["c"], **changed}


def planned(*tasks: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {"status": "completed", "goal": "g", "plan": "p", "tasks": [*tasks], **changed}


def complaint(role: Role, said: Any, context: Context | None = None) -> str:
    text = said if isinstance(said, str) else json.dumps(said)
    found = read_answer(role, text, CONTEXTS[role] if context is None else context)
    assert isinstance(found, Complaint), found
    return str(found)


# Where it is


def test_the_last_answer_counts() -> None:
    first, last = executed(summary_of_changes="draft"), executed(summary_of_changes="final")
    found = read_answer(Role.EXECUTOR, f"{json.dumps(first)} No: {json.dumps(last)}", CONTEXTS[Role.EXECUTOR])
    assert isinstance(found, ExecutorAnswer)
    assert found.summary_of_changes == "final"


def test_an_earlier_answer_does_not_stand_in_for_a_last_one_with_faults() -> None:
    said = f"{json.dumps(reviewed())} On reflection: {json.dumps(reviewed(verdict='failed'))}"
    assert complaint(Role.REVIEWER, said) == '- `$.verdict` is "failed". It must be "Qualified" or "Failed".'


def test_an_answer_before_one_that_breaks_off_does_not_count() -> None:
    said = f'{json.dumps(reviewed())} On reflection: {{"status": "completed", "verdict": "Fai'
    assert complaint(Role.REVIEWER, said).startswith("- `$` is no whole JSON: Unterminated string starting at line 1,")


def test_an_answer_after_one_that_breaks_off_counts() -> None:
    said = f'{{"status": "completed", "task_id": oops}} Again: {json.dumps(executed())}'
    assert isinstance(read_answer(Role.EXECUTOR, said, CONTEXTS[Role.EXECUTOR]), ExecutorAnswer)


def test_what_stands_inside_of_something_that_breaks_off_is_no_answer() -> None:
    said = '{"checks": [{"met": true, "summary": "one of the parts"}], "met": fal'
    assert complaint(Role.HOLISTIC, said).startswith("- `$` is no whole JSON: Expecting value at line 1, column 67.")


def test_an_answer_in_an_envelope_is_told_apart() -> None:
    assert complaint(Role.EXECUTOR, {"answer": executed()}).startswith("- `$` is missing: there is no JSON object with")


def test_prose_alone_gets_the_fields() -> None:
    assert complaint(Role.HOLISTIC, "All is well, the goal is met!") == (
        "- `$` is missing: there is no JSON object with its fields. Answer with one JSON object, whole and last, and "
        "with nothing after it: `met`, `summary`, `gaps`."
    )


@pytest.mark.parametrize("said", ["", " \n\t"])
def test_nothing_at_all(said: str) -> None:
    assert complaint(Role.PLANNER, said) == "- `$` is missing: you said nothing. Answer with one JSON object."


def test_broken_json_is_told_with_its_place() -> None:
    said = 'Here:\n{"status": "completed",\n "task_id": "task-1",\n}'
    assert "line 4, column 1" in complaint(Role.EXECUTOR, said)


def test_raw_line_breaks_in_texts_are_taken() -> None:
    said = '{"status": "blocked", "blockers": ["one\n\ttwo"]}'
    found = read_answer(Role.PLANNER, said)
    assert isinstance(found, PlannerAnswer)
    assert found.blockers == ("one\n\ttwo",)


def test_a_field_twice_is_not_guessed_at() -> None:
    said = json.dumps(reviewed())[:-1] + ', "verdict": "Failed"}'
    assert complaint(Role.REVIEWER, said) == "- `$…verdict` stands twice in the same object. Give each field once."


@pytest.mark.parametrize("role", Role)
def test_the_example_is_no_answer(role: Role) -> None:
    assert "is the example, word for word" in complaint(role, example_of(role), Context())


# What it says


@pytest.mark.parametrize(
    ("role", "said", "wanted"),
    [
        (
            Role.EXECUTOR,
            executed(task_id="task-2"),
            "`$.task_id` is 'task-2', which is another task. You were asked about",
        ),
        (Role.EXECUTOR, executed(task_id="task-9"), "`$.task_id` is 'task-9', which is no task of the plan."),
        (Role.REVIEWER, reviewed(task_id="task-2"), "`$.task_id` is 'task-2', which is another task."),
        (
            Role.EXECUTOR,
            executed(success_criteria_met=False),
            "`$.success_criteria_met` is false, and the status is `completed`. "
            "Continue until it is, or answer `failed`",
        ),
        (
            Role.EXECUTOR,
            executed(criteria_status=[{"criterion": "c", "met": True}, {"criterion": "d", "met": False}]),
            "`$.criteria_status[1].met` is false, and the status is `completed`.",
        ),
        (Role.EXECUTOR, executed(status="blocked"), "`$.blockers` is empty, and the status is `blocked`."),
        (
            Role.EXECUTOR,
            executed(discovered_tasks=[{"id": "TASK-2", "description": "d"}]),
            "`$.discovered_tasks[0].id` is 'TASK-2'. It must look like `task-7`",
        ),
        (
            Role.EXECUTOR,
            executed(discovered_tasks=[{"id": "task-2", "description": "d"}]),
            "`$.discovered_tasks[0].id` is 'task-2', which the plan has.",
        ),
        (
            Role.EXECUTOR,
            executed(discovered_tasks=[{"id": "task-a", "description": "d"}, {"id": "task-A", "description": " "}]),
            "`$.discovered_tasks[1].id` is 'task-A' a second time.",
        ),
        (
            Role.REVIEWER,
            reviewed(criteria_results=[{"criterion": "c", "met": False, "evidence": "e"}]),
            '`$.criteria_results[0].met` is false, and the verdict is "Qualified". Every criterion must be met',
        ),
        (
            Role.REVIEWER,
            reviewed(criteria_results=[{"criterion": TASK.criteria[0], "met": True, "evidence": "e"}] * 2),
            "`$.criteria_results` judges 1 of 2 criteria. Judge each, in the task's own words. Not judged: “the tests",
        ),
        (
            Role.REVIEWER,
            reviewed(criteria_results=[{"criterion": one, "met": True} for one in TASK.criteria]),
            "`$.criteria_results[0].evidence` is empty.",
        ),
        (Role.REVIEWER, reviewed(verdict=None), "`$.verdict` is missing, and the status is `completed`."),
        (Role.REVIEWER, reviewed(verdict="Failed"), '`$.feedback` is empty, and the verdict is "Failed".'),
        (Role.REVIEWER, reviewed(status="error"), "`$.reasoning` is empty, and the status is `error`."),
        (Role.HOLISTIC, {"met": False, "summary": "no"}, "`$.gaps` is empty, and the goal is not met."),
        (
            Role.HOLISTIC,
            {"met": True, "summary": "", "gaps": [{"id": "task-3", "description": "d", "rationale": "r"}]},
            "`$.met` is true, and there are gaps.",
        ),
        (
            Role.HOLISTIC,
            {"met": False, "summary": "", "gaps": [{"id": "task-3", "description": "d"}]},
            "`$.gaps[0].rationale` is empty.",
        ),
        (
            Role.PLANNER,
            {"status": "needs_qa_cycle", "goal": "g"},
            "`$.questions` is empty, and the status is `needs_qa",
        ),
        (Role.PLANNER, {"status": "blocked", "goal": "g", "blockers": [" "]}, "`$.blockers` is empty"),
        (Role.PLANNER, planned(), "`$.tasks` is empty. A completed plan has at least one task"),
        (Role.PLANNER, planned(task("task-1"), goal=" "), "`$.goal` is empty."),
        (Role.PLANNER, planned(task("task-1"), plan=""), "`$.plan` is empty."),
        (Role.PLANNER, planned(task("one")), "`$.tasks[0].id` is 'one'. It must begin with `task-`"),
        (
            Role.PLANNER,
            planned(task("task-1"), task("task-a"), task("Task-A")),
            "`$.tasks[2].id` is 'Task-A'. It must begin with `task-`",
        ),
        (
            Role.PLANNER,
            planned(task("task-1"), task("task-a"), task("task-A")),
            "`$.tasks[2].id` is 'task-A', as `$.tasks[1].id` is. Give each task an id of its own",
        ),
        (Role.PLANNER, planned(task("task-1", criteria=[])), "`$.tasks[0].criteria` is empty."),
        (Role.PLANNER, planned(task("task-1", criteria=["a", ""])), "`$.tasks[0].criteria[1]` is empty."),
        (Role.PLANNER, planned(task("task-1", description="")), "`$.tasks[0].description` is empty."),
        (
            Role.PLANNER,
            planned(task("task-1", depends_on=["task-2"])),
            "`$.tasks[0].depends_on[0]` is 'task-2', which is no task of the plan.",
        ),
        (
            Role.PLANNER,
            planned(task("task-1", inherits=["task-1"])),
            "`$.tasks[0].inherits[0]` is 'task-1', the task itself.",
        ),
        (
            Role.PLANNER,
            planned(
                *(task(f"task-{a}", depends_on=[f"task-{b}"]) for a, b in ((1, 2), (2, 3), (3, 1))),
                task("task-4", depends_on=["task-1"]),
            ),
            "waits for task-2 waits for task-3",
        ),
        (
            Role.PLANNER,
            planned(task("task-1"), closes=["task-7"]),
            "`$.closes[0]` is 'task-7', which is no task of the",
        ),
        (
            Role.PLANNER,
            planned(*[task(f"task-{n}") for n in range(2001)]),
            "`$.tasks` has 2001 items. It may have 2000.",
        ),
        (Role.PLANNER, planned(task("task-1", objective="x" * 70_000)), "`$.tasks[0]` has 70"),
        (Role.PLANNER, planned(task("task-1"), plan="x" * MAX_BYTES), "`$` has 204"),
        (Role.QUESTIONER, {"status": "completed", "summary": "none"}, "`$.questions` is empty."),
        (
            Role.QUESTIONER,
            {"status": "completed", "questions": [{"number": 1, "text": "a"}, {"number": 1, "text": " "}]},
            "`$.questions[1].number` is 1, as `$.questions[0].number` is.",
        ),
        (
            Role.QUESTIONER,
            {"status": "completed", "questions": [{"number": 0, "text": "a"}]},
            "`$.questions[0].number` is out of range. Count from 1.",
        ),
        (
            Role.QUESTIONER,
            {"status": "completed", "questions": [{"number": 1, "text": "a", "status": "Answered", "answer": "b"}]},
            "`$.questions[0].source` is empty, and the status is `Answered`.",
        ),
        (
            Role.QUESTIONER,
            {"status": "completed", "questions": [{"number": n, "text": "a"} for n in range(1, 102)]},
            "`$.questions` has 101 questions.",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(role: Role, said: dict[str, Any], wanted: str) -> None:
    assert wanted in complaint(role, said)


def test_a_circle_is_told_in_the_order_of_waiting() -> None:
    tasks = [task(f"task-{a}", depends_on=[f"task-{b}"]) for a, b in ((1, 2), (2, 1))]
    said = complaint(Role.PLANNER, planned(*tasks))
    assert "waits for each other" not in said
    assert "tasks that wait for each other: task-" in said
    assert said.count("task-1") + said.count("task-2") == 3


def test_a_long_circle_is_told_in_short() -> None:
    tasks = [task(f"task-{n}", depends_on=[f"task-{(n + 1) % 1000}"]) for n in range(1000)]
    assert len(complaint(Role.PLANNER, planned(*tasks))) < 400


def test_research_loses_no_question() -> None:
    context = Context(mode="RESEARCH", questions=(Question(1, "a"), Question(2, "b"), Question(3, "c")))
    said = {"status": "completed", "questions": [{"number": 2, "text": "b"}, {"number": 4, "text": "new"}]}
    assert "lacks the questions with the numbers 1, 3." in complaint(Role.QUESTIONER, said, context)


DONE = Plan("g", "p", (Task("task-1", "d", criteria=("c",), mark=Mark.DONE), Task("task-2", "e", criteria=("c",))))


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (
            planned(task("task-1", description="other")),
            "`$.tasks[0].id` is 'task-1', which is closed, and what it says",
        ),
        (planned(task("task-3"), closes=["task-1"]), "`$.closes[0]` is 'task-1', which is done."),
        (planned(task("task-2"), closes=["task-2"]), "`$.closes[0]` is 'task-2', which is also in `$.tasks`."),
        (planned(closes=["task-2"]), "`$.tasks` leaves no task to be done."),
        (planned(closes=["task-9"]), "Open tasks are: task-2."),
    ],
)
def test_an_update_keeps_what_is_done(said: dict[str, Any], wanted: str) -> None:
    assert wanted in complaint(Role.PLANNER, said, Context(plan=DONE))


def test_an_update_may_repeat_what_is_done_and_lean_on_it() -> None:
    said = planned(task("task-1"), task("task-3", depends_on=["task-1", "task-2"]), goal="", plan="")
    assert isinstance(read_answer(Role.PLANNER, json.dumps(said), Context(plan=DONE)), PlannerAnswer)


def test_a_thousand_tasks_are_fine() -> None:
    tasks = [task(f"task-{n}", depends_on=[f"task-{n - 1}"] if n else [], objective="o" * 500) for n in range(1000)]
    found = read_answer(Role.PLANNER, json.dumps(planned(*tasks)))
    assert isinstance(found, PlannerAnswer)
    assert len(found.tasks) == 1000


# However long it is

_SECONDS = 20
_LONG = [
    *(
        "{",
        '{"',
        '{"a":',
        '{"a":{"b":',
        '{"a": 1',
        '{"status":"completed",',
        '{"tasks":[',
        '{"tasks":[{"id":"task-1"},',
    ),
    *('{"status": "x"} ', '{"a":"', "[", '"', "\\", " ", "{ ", '{"a" ', "x", "}", '{"a":1}{', '{"a": tru {"b": nul '),
    *("日本", '{"日": 1', "9", '{"a":9', '{"status":"completed","task_id":"t","success_criteria_met":true}'),
]


@pytest.fixture
def _bounded() -> Iterator[None]:
    """Fails where the work takes a multiple of what reading step by step does, in time of the processor."""

    def too_long(*_: object) -> None:
        pytest.fail(f"it took more than {_SECONDS} seconds of processor time")

    before = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.sampled(6)
@pytest.mark.usefixtures("_bounded")
@pytest.mark.parametrize("piece", _LONG)
def test_ten_megabytes_of_anything_get_a_complaint(piece: str) -> None:
    said = piece * (10 * 1024 * 1024 // len(piece.encode()))
    assert isinstance(read_answer(Role.EXECUTOR, said, CONTEXTS[Role.EXECUTOR]), Complaint)


@pytest.mark.usefixtures("_bounded")
def test_an_answer_behind_ten_megabytes_is_found() -> None:
    said = "blah {x} " * 1_200_000 + json.dumps(executed())
    assert isinstance(read_answer(Role.EXECUTOR, said, CONTEXTS[Role.EXECUTOR]), ExecutorAnswer)


def test_an_answer_before_more_than_is_read_is_complained_about_as_too_long() -> None:
    for said in (json.dumps(executed()) + "x" * MAX_SAID, json.dumps(executed(verification_results="x" * MAX_SAID))):
        assert f"{MAX_SAID} characters" in complaint(Role.EXECUTOR, said)


def test_deep_nesting_is_complained_about() -> None:
    said = '{"status": "completed", "task_id": ' + "[" * 200_000 + "]" * 200_000 + "}"
    assert "nested too deep" in complaint(Role.EXECUTOR, said)


def test_every_role_has_answers_in_these_tests() -> None:
    assert ANSWERING.keys() == CONTEXTS.keys() == set(Role)
    assert PLAN.tasks[0] == TASK
