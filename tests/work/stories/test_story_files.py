"""Story files: read as BMAD and people write them, and written in three places only."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import ndiff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InterlockError, Refusal
from interlock.work.stories.stories import StoryCriterion, Subtask
from interlock.work.stories.story_files import checked, parse_story, recorded, with_status

TEMPLATE = """\
# Story 1.2: User Authentication

Status: ready-for-dev

<!-- Note: Validation is optional. - [ ] Task 0 -->

## Story

As a user,
I want to log in,
so that my data is mine.

## Acceptance Criteria

1. A user logs in with email and password.
2. A wrong password is refused,
   with the same message as an unknown user:
   - no hint which of them was wrong
   - after 5 attempts a pause
3. A session ends after 30 minutes.

## Tasks / Subtasks

- [ ] Task 1: Log in (AC: 1, 2)
  - [ ] Subtask 1.1: The form
  - [x] Subtask 1.2: The check (AC: #2)
- [ ] Task 2 (AC: 3)
  - [ ] Subtask 2.1
- [x] Task 3: Words

## Dev Notes

- [ ] no task at all

### References

```markdown
## Tasks / Subtasks
- [ ] Task 9
```

## Dev Agent Record

### Agent Model Used

{{agent_model_name_version}}

### Debug Log References

### Completion Notes List

### File List
"""


def story_of(criteria: str = "1. It works.", tasks: str = "") -> str:
    head = "# Story 1.1: T\n\nStatus: draft\n\n## Acceptance Criteria\n\n"
    return f"{head}{criteria}\n\n## Tasks / Subtasks\n\n{tasks}\n\n## Dev Notes\n"


def criteria(text: str) -> list[tuple[int, str]]:
    return [(one.number, one.text) for one in parse_story("s", story_of(text)).criteria]


def tasks(text: str) -> list[str]:
    """The tasks of a text in short: its mark, its id, its words, its criteria."""
    found = parse_story("s", story_of(tasks=text)).tasks
    return [" ".join(["x" if one.done else "o", one.id, one.text, *map(str, one.criteria)]) for one in found]


def differences(before: str, after: str) -> list[str]:
    return [line for line in ndiff(before.splitlines(), after.splitlines()) if line.startswith(("-", "+"))]


# Reading


@pytest.mark.requirement("story:file:template")
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_the_template_is_read(newline: str) -> None:
    story = parse_story("1-2-user-authentication", TEMPLATE.replace("\n", newline), "docs/1-2.md")
    assert (story.id, story.title, story.file) == ("1-2-user-authentication", "User Authentication", "docs/1-2.md")
    assert story.criteria == (
        StoryCriterion(1, "A user logs in with email and password."),
        StoryCriterion(
            2,
            "A wrong password is refused, with the same message as an unknown user: "
            "- no hint which of them was wrong - after 5 attempts a pause",
        ),
        StoryCriterion(3, "A session ends after 30 minutes."),
    )
    assert story.tasks == (
        Subtask("1.1", "The form", False, (1, 2)),
        Subtask("1.2", "The check", True, (2,)),
        Subtask("2.1", "Subtask 2.1", False, (3,)),
        Subtask("3", "Words", True),
    )


def test_a_subtask_is_judged_by_its_own_criteria_and_the_last_open_one_by_all() -> None:
    story = parse_story("s", TEMPLATE)
    first = story.tasks[0]
    assert [one.number for one in story.wanted(first)] == [1, 2]
    last = parse_story("s", checked(checked(TEMPLATE, "1.1"), "2.1").replace("[x] Task 3", "[ ] Task 3"))
    assert [one.number for one in last.wanted(last.tasks[-1])] == [1, 2, 3]
    assert story.task("1.2") == story.tasks[1]
    assert story.task("9") is None


CRITERIA = {
    "bullets": ("- One\n* Two\n+ Three", [(1, "One"), (2, "Two"), (3, "Three")]),
    "boxes": ("- [ ] One\n- [x] Two", [(1, "One"), (2, "Two")]),
    "parentheses": ("1) One\n2) Two", [(1, "One"), (2, "Two")]),
    "lazy numbers": ("1. One\n1. Two\n1. Three", [(1, "One"), (2, "Two"), (3, "Three")]),
    "a number twice": ("1. One\n3. Three\n3. Again\n2. Two", [(1, "One"), (3, "Three"), (4, "Again"), (2, "Two")]),
    "blank lines between": ("1. One\n\n   goes on\n\n2. Two", [(1, "One goes on"), (2, "Two")]),
    "bullets that are not indented": ("1. One\n- a\n- b\n2. Two", [(1, "One - a - b"), (2, "Two")]),
    "indented by a tab": ("\t1. One\n\t\t- a\n\t2. Two", [(1, "One - a"), (2, "Two")]),
    "indented by two": ("  - One\n    - a\n  - Two", [(1, "One - a"), (2, "Two")]),
    "numbers below": ("1. One\n   1. a\n   2. b\n2. Two", [(1, "One 1. a 2. b"), (2, "Two")]),
    "labels": ("- AC1: One\n- **AC-4:** Four\n- **AC 2** Two", [(1, "One"), (4, "Four"), (2, "Two")]),
    "bold labels": ("**AC1: One**\n- a\n\n**AC2:** Two", [(1, "One** - a"), (2, "Two")]),
    "headings": ("### AC1: One\n\n1. a\n2. b\n\n### AC-2: Two\n\ntext", [(1, "One 1. a 2. b"), (2, "Two text")]),
    "groups": ("### Must\n\n1. One\n\n### Should\n\n1. Two", [(1, "One"), (2, "Two")]),
    "given, when, then": (
        "**Given** a user\n**When** they log in\n**Then** it works\n\n**Given** none\n**Then** it does not",
        [(1, "**Given** a user **When** they log in **Then** it works"), (2, "**Given** none **Then** it does not")],
    ),
    "given, when, then as bullets": (
        "- Given a user\n- When they log in\n- Then it works\n- Given none\n- Then it does not",
        [(1, "Given a user - When they log in - Then it works"), (2, "Given none - Then it does not")],
    ),
    "given, when, then below a number": (
        "1. Log in\n   - Given a user\n   - Then it works\n2. Two",
        [(1, "Log in - Given a user - Then it works"), (2, "Two")],
    ),
    "Gherkin in a block": (
        "```gherkin\nGiven a user\nWhen they log in\n\nGiven none\nThen nothing\n```",
        [(1, "Given a user When they log in"), (2, "Given none Then nothing")],
    ),
    "code below a number": (
        "1. Prints\n   ```text\n   1. hello\n   ## world\n   ```\n2. Two",
        [(1, "Prints 1. hello ## world"), (2, "Two")],
    ),
    "prose before": ("These must hold:\n\n1. One\n\n---\n\n2. Two", [(1, "One"), (2, "Two")]),
    "comments": ("<!-- 1. no -->\n1. One <!-- why\n2. no\n-->\n2. Two", [(1, "One"), (2, "Two")]),
    "a comment that never ends": ("1. One <!-- open\n2. Two", [(1, "One <!-- open"), (2, "Two")]),
    "a block that never ends": ("1. One\n```\n2. Two", [(1, "One ```"), (2, "Two")]),
    "number 0": ("0. Zero\n1. One", [(2, "Zero"), (1, "One")]),
}


@pytest.mark.parametrize(("text", "expected"), CRITERIA.values(), ids=CRITERIA)
def test_criteria_are_found_however_they_are_written(text: str, expected: list[tuple[int, str]]) -> None:
    assert criteria(text) == expected


@pytest.mark.parametrize(
    "heading",
    [
        "## Acceptance Criteria (BDD)",
        "### acceptance criteria:",
        "## ✅ Acceptance Criteria ##",
        "**Acceptance Criteria:**",
    ],
)
def test_the_section_is_found_however_it_is_called(heading: str) -> None:
    assert parse_story("s", f"# T\n\n{heading}\n\n- One\n\n**Tasks:**\n\n- [ ] Do\n").criteria == (
        StoryCriterion(1, "One"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# T\n",
        story_of(""),
        story_of("TBD"),
        story_of("<!-- 1. One -->"),
        "# T\n```\n## Acceptance Criteria\n1. One\n```\n",
    ],
)
def test_a_story_without_criteria_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_story("s", text, "docs/s.md")
    assert refused.value.code == "story_invalid"
    assert str(refused.value).startswith("docs/s.md has no acceptance criteria")


TASKS = {
    "no labels": ("- [ ] A\n- [ ] B\n  - [ ] C\n  - [x] D", ["o 1 A", "o 2.1 C", "x 2.2 D"]),
    "stars, pluses and numbers": ("* [ ] A\n+ [X] B\n1. [ ] C", ["o 1 A", "x 2 B", "o 3 C"]),
    "tabs": ("- [ ] A\n\t- [ ] B\n\t\t- [ ] C\n\t- [ ] D", ["o 1.1.1 C", "o 1.2 D"]),
    "deep": ("- [ ] A\n    - [ ] B\n        - [ ] C\n      - [ ] D", ["o 1.1.1 C", "o 1.1.2 D"]),
    "bold labels": ("- [ ] **Task 1:** A\n- [ ] **Task 2**: B\n- [ ] __T3__ C", ["o 1 A", "o 2 B", "o 3 C"]),
    "bare numbers": ("- [ ] 1. A\n  - [ ] 1.1 B\n  - [ ] 3 retries", ["o 1.1 B", "o 1.2 3 retries"]),
    "a number twice": ("- [ ] Task 1: A\n- [ ] Task 1: B\n- [ ] Task 1: C", ["o 1 A", "o 1-2 B", "o 1-3 C"]),
    "criteria": ("- [ ] A (AC: 1-3, 5)\n- [ ] B (AC: #1 and #2)", ["o 1 A 1 2 3 5", "o 2 B 1 2"]),
    "criteria otherwise": (
        "- [ ] A (AC1, AC2)\n- [ ] B [ACs: 2]\n- [ ] C (AC #3)",
        ["o 1 A 1 2", "o 2 B 2", "o 3 C 3"],
    ),
    "no criteria": ("- [ ] A (AC: #)\n- [ ] B (account 2)", ["o 1 A", "o 2 B (account 2)"]),
    "criteria of the task above": ("- [ ] A (AC: 2)\n  - [ ] B\n  - [ ] C (AC: 1)", ["o 1.1 B 2", "o 1.2 C 1"]),
    "details between": ("- [ ] A\n  - why\n\n  text\n  - [ ] B\n\n### More\n\n- [ ] C", ["o 1.1 B", "o 2 C"]),
    "code and comments": ("- [ ] A\n  ```\n  - [ ] no\n  ```\n<!-- - [ ] no -->\n- [ ] B", ["o 1 A", "o 2 B"]),
    "all done": ("- [x] A\n  - [x] B", ["x 1.1 B"]),
    "none": ("Nothing yet.\n- []\n- [ ]\n- [?] x", ["o 1 T 1"]),
}


@pytest.mark.parametrize(("text", "expected"), TASKS.values(), ids=TASKS)
def test_tasks_are_found_however_they_are_written(text: str, expected: list[str]) -> None:
    assert tasks(text) == expected


def test_a_text_that_is_huge_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        parse_story("s", TEMPLATE + " " * 1024 * 1024)
    assert refused.value.code == "story_invalid"


# Writing


@pytest.mark.requirement("story:commit:subtask")
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_ticking_a_box_changes_one_character(newline: str) -> None:
    text = TEMPLATE.replace("\n", newline)
    [line] = [line for line in text.split(newline) if "The form" in line]
    assert checked(text, "1.1") == text.replace("[ ] Task 1", "[x] Task 1").replace(line, line.replace("[ ]", "[x]"))
    alone = text.replace("[x] Subtask 1.2", "[ ] Subtask 1.2")
    assert checked(alone, "1.1") == alone.replace(line, line.replace("[ ]", "[x]"))


def test_a_box_above_is_ticked_when_all_below_are() -> None:
    text = story_of(tasks="- [ ] A [ ]\n  - [ ] B\n    - [ ] C\n  - [x] D\n- [ ] E")
    assert [line[2:] for line in differences(text, checked(text, "1.1.1")) if line[0] == "+"] == [
        "- [x] A [ ]",
        "  - [x] B",
        "    - [x] C",
    ]


def test_ticking_twice_is_ticking_once() -> None:
    once = checked(TEMPLATE, "2.1")
    assert checked(once, "2.1") == once
    assert checked(TEMPLATE, "3") == TEMPLATE


def test_a_task_that_is_not_there_is_not_ticked() -> None:
    for id_ in ("9", "1", "2.2"):
        with pytest.raises(Refusal) as refused:
            checked(TEMPLATE, id_)
        assert refused.value.code == "story_invalid"


def test_the_one_task_of_a_story_without_boxes_is_ticked_by_the_status() -> None:
    text = story_of()
    after = checked(text, "1")
    assert differences(text, after) == ["- Status: draft", "+ Status: done"]
    assert parse_story("s", after).tasks[0].done


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# T\n\nStatus: draft\n\n## Story\nStatus: x\n", "# T\n\nStatus: review\n\n## Story\nStatus: x\n"),
        ("# T\r\n**Status:** draft  \r\n", "# T\r\n**Status:** review  \r\n"),
        ("# T\n- **Status**: draft\n", "# T\n- **Status**: review\n"),
        ("Status:\n", "Status: review\n"),
        ("# T\n\n## Status\n\nDraft\n\n## Story\n", "# T\n\n## Status\n\nreview\n\n## Story\n"),
        ("# T\n<!-- Status: no -->\nStatus: a\n", "# T\n<!-- Status: no -->\nStatus: review\n"),
        ("# T\n\n## Dev Notes\n\nStatus: x\n", "# T\n\nStatus: review\n\n## Dev Notes\n\nStatus: x\n"),
        ("text\n", "Status: review\n\ntext\n"),
        ("", "Status: review\n"),
        ("\ufeff# T\n", "\ufeff# T\n\nStatus: review\n"),
        ("\ufefftext\n", "\ufeffStatus: review\n\ntext\n"),
        ("## Story\n# T\n", "Status: review\n\n## Story\n# T\n"),
    ],
)
def test_the_status_is_changed_where_it_is_said(before: str, after: str) -> None:
    assert with_status(before, "review") == after
    assert with_status(after, "review") == after


def test_what_was_done_is_recorded_in_its_place() -> None:
    after = recorded(TEMPLATE, ["Task 1.1 done\nwith care"], ["src/a.py", "src/b.py"])
    assert after == TEMPLATE.replace(
        "### Completion Notes List\n\n### File List\n",
        "### Completion Notes List\n\n- Task 1.1 done with care\n\n### File List\n\n- src/a.py\n- src/b.py\n",
    )
    more = recorded(after, ["Task 1.2 done"], ["src/b.py", "src/c.py"])
    assert differences(after, more) == ["+ - Task 1.2 done", "+ - src/c.py"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# T\n", "# T\n\n## Dev Agent Record\n\n### Completion Notes List\n\n- n\n\n### File List\n\n- f\n"),
        ("# T", "# T\n\n## Dev Agent Record\n\n### Completion Notes List\n\n- n\n\n### File List\n\n- f\n"),
        ("", "## Dev Agent Record\n\n### Completion Notes List\n\n- n\n\n### File List\n\n- f\n"),
        (
            "## Dev Agent Record\r\n### File List\r\n* f\r\n## Change Log\r\n- f\r\n",
            "## Dev Agent Record\r\n### File List\r\n* f\r\n\r\n### Completion Notes List\r\n\r\n- n\r\n\r\n"
            "## Change Log\r\n- f\r\n",
        ),
        (
            "## Dev Agent Record\n\n### File List\n- f\n\n### Completion Notes List\nNone.\n\n\n## Change Log\n",
            "## Dev Agent Record\n\n### File List\n- f\n\n### Completion Notes List\nNone.\n\n- n\n\n\n## Change Log\n",
        ),
    ],
)
def test_a_record_is_made_where_it_belongs(before: str, after: str) -> None:
    assert recorded(before, ["n"], ["f"]) == after
    assert recorded(after, ["n"], ["f"]) == after


def test_nothing_recorded_changes_nothing() -> None:
    assert recorded("text", [], []) == "text"
    assert recorded("text", [" "], []) == "text"


# What holds for every text

_PARTS = [
    *TEMPLATE.splitlines(),
    "```",
    "~~~",
    "<!--",
    "-->",
    "- [ ] x",
    "  - [ ] y",
    "\t- [x] z",
    "1. a",
    "- b",
    "#",
    "",
]
texts = st.lists(st.sampled_from(_PARTS) | st.text(max_size=8), max_size=30).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda newline: newline.join(lines))
)
stories = texts.map(lambda text: f"# T\n## Acceptance Criteria\n1. One\n## Tasks\n{text}")
items = st.lists(st.text(max_size=10), max_size=3)


@given(st.text() | texts)
def test_whatever_a_text_is_it_is_read_or_refused(text: str) -> None:
    with suppress(InterlockError):
        story = parse_story("s", text)
        assert story.criteria
        assert story.tasks
        assert len({one.number for one in story.criteria}) == len(story.criteria)
        assert len({one.id for one in story.tasks}) == len(story.tasks)


@given(stories)
def test_ticking_the_open_tasks_one_by_one_ends_and_touches_boxes_only(text: str) -> None:
    before = parse_story("s", text)
    has_boxes = len(before.tasks) > 1 or before.tasks[0].text != before.title
    story = before
    for count in range(sum(not one.done for one in before.tasks)):
        task = next(one for one in story.tasks if not one.done)
        after = checked(story.body, task.id)
        assert checked(after, task.id) == after
        if has_boxes:
            assert len(after) == len(story.body)
            assert {(a, b) for a, b in zip(story.body, after, strict=True) if a != b} == {(" ", "x")}
        story = parse_story("s", after)
        assert sum(one.done for one in story.tasks) == count + 1 + sum(one.done for one in before.tasks)
    assert all(one.done for one in story.tasks)


@given(texts, items, items)
def test_recording_and_the_status_are_the_same_the_second_time(text: str, notes: list[str], files: list[str]) -> None:
    once = recorded(text, notes, files)
    assert recorded(once, notes, files) == once
    kept = iter(re.split(r"[\r\n]+", once))
    assert all(line in kept for line in re.split(r"[\r\n]+", text.strip("\r\n")) if line.strip())
    stated = with_status(text, "done")
    assert with_status(stated, "done") == stated
