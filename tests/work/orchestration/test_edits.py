"""What a person's edit of a session's file means: each that counts, and each that does not, with its line."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.work.orchestration.changes import (
    Added,
    Answered,
    Change,
    Changed,
    Closed,
    Noted,
    NotTaken,
    Reordered,
    Replanned,
    Unticked,
    applied,
)
from interlock.work.orchestration.edits import MOST, Edits, read_back
from interlock.work.orchestration.order import PLANNING
from interlock.work.orchestration.run_files.questions import QuestionsHeader, parse_questions, render_questions
from interlock.work.orchestration.session import SessionContent, beside_of, rendered
from interlock.work.orchestration.values import (
    Category,
    Confidence,
    Cycle,
    Mark,
    Part1,
    Part2,
    Plan,
    Question,
    QuestionStatus,
    Task,
    TaskReport,
    Verdict,
)

from .samples import HARD, cycles, plans

P, T, Q, PLAN, R = "progress.md", "tasks.md", "plan.questions.md", "plan.md", "tasks.task-1-report.md"
TASKS = (
    Task("task-1", "Lay the ground", "A floor", ("It holds",), ("floor.py",), mark=Mark.DONE),
    Task("task-2", "Build the walls", "Four of them", ("They stand",), ("walls.py",), ("task-1",), ("task-1",)),
    Task("task-3", "Put up the roof", depends_on=("task-2",), mark=Mark.FAILED, attempt=3),
    Task("task-4", "Paint it", mark=Mark.WORKING),
    Task("task-5", "Plant a tree", mark=Mark.PENDING),
    Task("task-6", "Sweep up"),
    Task("task-7", "Dig a pond", mark=Mark.CLOSED),
)
CYCLE = Cycle(
    1,
    (
        Question(1, "Which colour?", Category.REQUIREMENTS, impact="the paint"),
        Question(
            2, "How high?", status=QuestionStatus.ANSWERED, answer="3 m", source="the plan", confidence=Confidence.LOW
        ),
    ),
    "Two things are not known",
    ("It must stand",),
)
REPORT = TaskReport("task-1", 1, Part1("A floor"), Part2(Verdict.QUALIFIED))
SESSION = SessionContent(
    "260131-144400",
    Plan("Build a house", "## Goal & Success Criteria\nA house", TASKS),
    dict.fromkeys(PLANNING, Mark.DONE),
    cycles=(CYCLE,),
    reports=(REPORT,),
    transitions="{}\n",
)
FILES = rendered(SESSION)


def _edited(file: str, old: str, new: str) -> Edits:
    assert FILES[file].count(old) == 1
    return read_back(TASKS, FILES, {**FILES, file: FILES[file].replace(old, new)})


def _line(file: str, text: str) -> int:
    return next(number for number, line in enumerate(FILES[file].split("\n"), 1) if text in line)


# What counts


@pytest.mark.parametrize(
    ("file", "old", "new", "change"),
    [
        (P, "- [x] task-1", "- [ ] task-1", Unticked("task-1")),
        (P, "- [F] task-3", "- [ ] task-3", Unticked("task-3")),
        (P, "- [C] task-7", "- [ ] task-7", Unticked("task-7")),
        (P, "- [ ] task-6", "- [C] task-6", Closed("task-6")),
        (P, "- [F] task-3", "- [C] task-3", Closed("task-3")),
        (P, "- [ ] task-6 (Not Started)\n", "", Closed("task-6")),
        (P, "- [ ] task-6 (Not Started)", "<!-- - [ ] task-6 (Not Started) -->", Closed("task-6")),
        (P, "task-6 (Not Started)", "task-6 (Not Started) with a broom", Noted("task-6", "with a broom")),
        (P, "- [C] task-7", "- [ ] task-8: Sing\n- [C] task-7", Added(Task("task-8", "Sing"))),
        (P, "(Cancelled)", "(Cancelled)\n- [ ] task-8 (Sing)", Added(Task("task-8", "Sing"))),
        (T, "- task-7:", "- task-8: Sing\n\n- task-7:", Added(Task("task-8", "Sing"))),
        (T, "Build the walls", "Build five walls", Changed(replace(TASKS[1], description="Build five walls"))),
        (T, "        - They stand", "        - They stand\n        - They are white",
         Changed(replace(TASKS[1], criteria=("They stand", "They are white")))),
        (T, "Four of them", "Four of them,\n      or five",
         Changed(replace(TASKS[1], objective="Four of them,\nor five"))),
        (T, "walls.py", "walls.py, `a, b.py`", Changed(replace(TASKS[1], files=("walls.py", "a, b.py")))),
        (T, "(depends on task-1)", "(depends on task-1, task-6)",
         Changed(replace(TASKS[1], depends_on=("task-1", "task-6")))),
        (Q, "the paint\n    - **Answer**:", "the paint\n    - **Answer**: Red,\n        - or\n        - blue",
         Answered(1, replace(CYCLE.questions[0], answer="Red,\n- or\n- blue", status=QuestionStatus.ANSWERED,
                             confidence=Confidence.HIGH))),
        (Q, "**Answer**: 3 m\n    - **Source**: the plan", "**Answer**: 4 m\n    - **Source**: me",
         Answered(1, replace(CYCLE.questions[1], answer="4 m", source="me", confidence=Confidence.HIGH))),
        (PLAN, "A house", "A house with a door", Replanned("## Goal & Success Criteria\nA house with a door")),
    ],
)  # fmt: skip
def test_what_a_person_may_do(file: str, old: str, new: str, change: Change) -> None:
    changes, refused = _edited(file, old, new)
    assert [one for one in changes if not isinstance(one, Reordered)] == [change]
    assert refused == ()


def test_another_order_is_told_whole_and_kept_by_what_is_not_named() -> None:
    block = "- [ ] task-6 (Not Started)\n"
    text = FILES[P].replace(block, "").replace("- [x] task-1", f"{block}- [x] task-1")
    [change] = read_back(TASKS, FILES, {P: text})[0]
    assert change == Reordered(("task-6", "task-1", "task-2", "task-3", "task-4", "task-5", "task-7"))
    assert [one.id for one in applied(TASKS, [change])] == list(change.tasks)
    assert [one.id for one in applied(TASKS, [Reordered(("task-5", "task-1"))])] == [
        *("task-5", "task-6", "task-7", "task-1", "task-2", "task-3", "task-4")
    ]


def test_a_new_task_of_both_files_is_one() -> None:
    texts = {P: f"{FILES[P]}- [ ] task-8\n", T: f"{FILES[T]}- task-8: Sing\n    - **Objective**: Joy\n"}
    assert read_back(TASKS, FILES, {**FILES, **texts}) == ((Added(Task("task-8", "Sing", "Joy")),), ())


def test_a_task_can_be_unticked_and_changed_at_once() -> None:
    texts = {P: FILES[P].replace("[x] task-1", "[ ] task-1"), T: FILES[T].replace("Lay the ground", "Lay it again")}
    changes, refused = read_back(TASKS, FILES, texts)
    assert refused == ()
    assert applied(TASKS, changes)[0] == replace(TASKS[0], description="Lay it again", mark=Mark.OPEN)


# What does not


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "why"),
    [
        (P, "- [ ] task-6", "- [x] task-6", "task-6", "a reviewer has qualified it"),
        (P, "- [ ] task-6", "- [X] task-6", "task-6", "a reviewer has qualified it"),
        (P, "- [P] task-5", "- [x] task-5", "task-5", "a reviewer has qualified it"),
        (P, "- [ ] task-6", "- [P] task-6", "task-6", "its executor has reported"),
        (P, "- [ ] task-6", "- [/] task-6", "task-6", "the run begins a task"),
        (P, "- [ ] task-6", "- [F] task-6", "task-6", "which tasks have failed"),
        (P, "- [x] task-1", "- [C] task-1", "task-1", "is done"),
        (P, "- [/] task-4", "- [ ] task-4", "task-4", "ralph orchestrate add"),
        (P, "- [P] task-5", "- [C] task-5", "task-5", "ralph orchestrate add"),
        (P, "- [ ] task-6", "- [?] task-6", "task-6", "[?] is no mark"),
        (P, "- [ ] task-6", "- [] task-6", "task-6", "[] is no mark"),
        (P, "Attempt 3", "Attempt 1", "task-3", "counted by the run"),
        (P, "[x] plan-init", "[ ] plan-init", "plan-init", "the run does the planning"),
        (P, "- [C] task-7", "- [ ] task-6\n- [C] task-7", "task-7", "task-6 is there twice"),
        (P, "- [C] task-7", "- [ ] do it all\n- [C] task-7", "task-7", None),
        (P, "- [C] task-7", "- [ ] task-8\n- [C] task-7", "task-7", "says not what is to be done"),
        (P, "- [C] task-7", "- [ ] ?!\n- [C] task-7", "task-7", "names no task"),
        (P, "- [ ] task-2 (Not Started)\n", "", None, "task-3 depends on it"),
        (P, "- [/] task-4 (In Progress)\n", "", None, "is not forgotten"),
        (P, "- [ ] task-6", "## Mine\n- [ ] task-6", None, "task-6 stands in a section that is not ours"),
        (T, "- task-7:", "## Mine\n\n- task-7:", None, "task-7 stands in a section that is not ours"),
        (P, "# Progress", "# \0Progress", "# Progress", "U+0000"),
        (P, "# Progress", "# \x1b[2JProgress", "# Progress", "U+001B"),
        (T, "Lay the ground", "Lay it again", "task-1:", "is over"),
        (T, "Paint it", "Paint it red", "task-4:", "ralph orchestrate add"),
        (T, "- task-7: Dig", "- task-6: Dig", "task-7:", "task-6 is there twice"),
        (T, "- task-7: Dig", "- plan-init: Dig", "task-7:", "plan-init is there twice"),
        (T, "(depends on task-1)", "(depends on task-3)", "task-2:", "task-2 → task-3 → task-2"),
        (T, "(depends on task-1)", "(depends on task-9)", "task-2:", "task-9, which is no task"),
        (T, "- task-7:", "- Dig a pond\n\n- task-7:", "task-7:", "names no task"),
        (Q, "Which colour?", "Which size?", "Which colour?", "stays as it was asked"),
        (Q, "    - **Answer**: 3 m\n", "", "How high?", "was taken out"),
        (Q, "**Status**: Unanswered", "**Status**: Answered", "Which colour?", "has no new answer"),
        (Q, "2. **[Medium", "1. **[Medium", "How high?", "is there twice"),
        (Q, "#### Cycle Summary", "3. Why?\n\n#### Cycle Summary", "#### Cycle Summary", "the questioner asks"),
        (Q, "Two things are not known", "All is known", None, "stay as they are"),
        (PLAN, "# Plan: Build a house", "# Plan: Build a ship", "# Plan", "the goal stays"),
        (R, "A floor", "A marble floor", "A floor", "stays as it is"),
        (R, "Qualified", "Failed", "Qualified", "stays as it is"),
        ("transitions.jsonl", "{}", "{}{}", "{}", "stays as it is"),
        ("260131-144400.instructions.md", "Build a house", "Build a ship", "Build a house", "stays as it is"),
    ],
)
def test_what_nobody_may_do_by_hand_is_told_with_its_line(
    file: str, old: str, new: str, line: str | None, why: str | None
) -> None:
    expected = None if line is None else _line(file, line)
    changes, refused = _edited(file, old, new)
    if why is None:
        assert (refused, changes[0]) == ((), Added(Task("do", "it all")))
        return
    [told] = [one for one in refused if why in one.why]
    assert (told.file, told.line) == (file, expected)
    assert told.sentence.startswith(f"{file}, line {expected}: " if expected else f"{file}: ")
    assert [one for one in changes if not isinstance(one, Closed | Reordered)] == []
    assert applied(TASKS, changes)[0] == TASKS[0]


def test_a_new_task_that_closes_a_circle_is_refused_and_so_is_what_needs_it() -> None:
    new = "- task-8: a\n    - **Type**: Sequential (depends on task-9)\n- task-9: b\n"
    new += "    - **Type**: Sequential (depends on task-8)\n- task-10: c\n    - **Type**: x (depends on task-9)\n"
    changes, refused = read_back(TASKS, FILES, {T: FILES[T] + new + "- task-11: d\n"})
    assert changes == (Added(Task("task-11", "d")),)
    assert len(refused) == 3
    assert any("task-8 → task-9 → task-8" in one.why for one in refused)


def test_nothing_of_a_file_that_is_too_long_is_read() -> None:
    text = FILES[P].replace("[x] task-1", "[ ] task-1") + "x" * (10 * 1024 * 1024)
    changes, [told] = read_back(TASKS, FILES, {P: text})
    assert (changes, told.line) == ((), None)
    assert str(MOST) in told.why


def test_a_file_that_is_gone_or_has_other_line_ends_says_nothing_new() -> None:
    assert read_back(TASKS, FILES, {}) == ((), ())
    texts = {name: text.replace("\n", "\r\n") for name, text in FILES.items() if name in (P, T, Q, PLAN)}
    assert read_back(TASKS, FILES, texts) == ((), ())


def test_a_mark_that_the_run_has_set_meanwhile_is_not_taken_for_a_persons() -> None:
    now = (*TASKS[:5], replace(TASKS[5], mark=Mark.DONE), TASKS[6])
    text = FILES[P].replace("(Cancelled)", "(Cancelled) a pond")
    assert read_back(now, FILES, {P: text}) == ((Noted("task-7", "a pond"),), ())


# What people write around


AROUND = """Dear reader

# Progress Tracking
<!-- mine -->

## Planning Progress
- [x] plan-init (Completed)
- [x] plan-qa-brainstorm (Completed)
- [x] plan-qa-research (Completed)
- [x] plan-breakdown (Completed)

## To think about
- [ ] task-99 is no task

## Implementation Progress
- [x] task-1 (Completed) <!-- nicely -->
  - a list of mine
```
- [ ] task-50 is code
```
- [ ] task-2 (Not Started)
<!--
- [ ] task-51 is a comment
-->

### Later

- [F] task-3 (Failed, Attempt 3)
- [/] task-4 (In Progress)
- [P] task-5 (Review Pending)
- [ ] task-6 (Not Started)
- [C] task-7 (Cancelled)

## Even more
Bye
"""


def _again(tasks: Sequence[Task], file: str, text: str) -> str:
    kept = {file: beside_of(file, text)}
    return rendered(SessionContent(SESSION.id, Plan("Build a house", "", tuple(tasks)), SESSION.planning, beside=kept))[
        file
    ]


def test_what_people_write_around_stays_where_it_is() -> None:
    assert read_back(TASKS, FILES, {P: AROUND}) == ((), ())
    once = _again(TASKS, P, AROUND)
    assert once == AROUND
    assert _again(TASKS, P, once) == once
    more = _again((replace(TASKS[0], mark=Mark.OPEN), *TASKS[1:], Task("task-8", "Sing")), P, once)
    assert "- [ ] task-1 (Not Started) <!-- nicely -->\n  - a list of mine\n" in more
    assert "- [C] task-7 (Cancelled)\n- [ ] task-8 (Not Started)\n\n## Even more\nBye\n" in more


def test_what_was_written_to_a_task_that_is_gone_is_under_notes() -> None:
    text = _again(TASKS[1:], P, AROUND)
    assert text.endswith(
        "## Even more\nBye\n\n## Notes\n\n<!-- nicely -->\n\n  - a list of mine\n```\n- [ ] task-50 is code\n```\n"
    )
    assert _again(TASKS[1:], P, text) == text


@given(plans, st.lists(st.tuples(st.integers(0, 60), st.sampled_from(AROUND.split("\n"))), max_size=6))
@example(Plan("", ""), [(13, "```"), (13, "Dear reader"), (13, "```")])
def test_a_file_with_anything_in_it_becomes_stable_and_loses_nothing(plan: Plan, put: list[tuple[int, str]]) -> None:
    tasks = plan.tasks
    files = rendered(SessionContent("260131-144400", plan, SESSION.planning))
    for file in (P, T):
        lines = files[file].split("\n")
        for place, line in put:
            lines.insert(min(place, len(lines)), line)
        once = _again(tasks, file, "\n".join(lines))
        twice = _again(tasks, file, once)
        assert _again(tasks, file, twice) == twice
        for _, line in put:
            if line.startswith(("Dear", "  - a list", "Bye", "## To think")):
                assert line.strip() in twice


@pytest.mark.parametrize("indent", range(0, 14, 2))
def test_what_people_write_anywhere_in_the_steps_of_planning_stays(indent: int) -> None:
    lines = rendered(SessionContent("260131-144400", Plan("", ""), SESSION.planning))[T].split("\n")
    space, first = " " * indent, lines.index("- plan-init: Write the plan") + 1
    for at in range(first, first + 6):
        for put in ([f"{space}Dear reader"], [f"{space}```", f"{space}Dear reader", f"{space}```"]):
            once = _again((), T, "\n".join([*lines[:at], *put, *lines[at:]]))
            assert once.count("Dear reader") == 1
            assert _again((), T, once) == once


_LINES = (
    *AROUND.split("\n"),
    *HARD,
    "    - **Answer**: hm",
    "        - nested",
    "### mine",
    "<!-- a",
    "b -->",
    "#### x",
)


@given(cycles, st.lists(st.tuples(st.integers(0, 60), st.sampled_from(_LINES)), max_size=6))
def test_questions_with_anything_around_them_become_stable_and_stay_what_they_are(
    asked: list[Cycle], put: list[tuple[int, str]]
) -> None:
    def written(text: str) -> str:
        return render_questions(QuestionsHeader("260131-144400"), asked, "A title", beside_of(Q, text))

    first = written("")
    lines = first.split("\n")
    for place, line in put:
        lines.insert(min(place, len(lines)), line)
    twice = written(written("\n".join(lines)))
    assert written(twice) == twice
    assert parse_questions(twice).cycles == parse_questions(first).cycles


@given(st.text(alphabet="-[]xPFC/ \n\t`~<!>#*:().task1-", max_size=300))
def test_any_text_can_be_read_back(text: str) -> None:
    for file in FILES:
        changes, refused = read_back(TASKS, FILES, {file: text})
        assert all(isinstance(one, NotTaken) for one in refused)
        applied(TASKS, changes)
        assert not [one for one in changes if isinstance(one, Added) and not one.task.description]
