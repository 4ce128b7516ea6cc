"""Each form is read as its own tool writes it; whatever else is in a file is told, and never a crash."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import UsageError
from interlock.work.importing.forms import FORMS, form_of, parsed
from interlock.work.importing.imported import Batch, Imported, SkippedItem, SourceFile
from interlock.work.importing.planning import checked, in_order

from .samples import SAMPLES, sample


def _read(form: str, text: str | None = None) -> Batch:
    source = sample(form) if text is None else SourceFile("file", "place", text)
    return parsed(FORMS[form], [source])


def _by_id(form: str) -> dict[str, Imported]:
    return {item.id: item for item in _read(form).items}


@pytest.mark.parametrize("form", SAMPLES)
def test_a_file_is_known_by_what_it_holds(form: str) -> None:
    name = "fix_plan.md" if form == "fix-plan" else "anything"
    assert form_of(name, sample(form)).name == form


def test_a_checklist_of_any_name_could_be_two_things() -> None:
    with pytest.raises(UsageError, match="could be") as told:
        form_of("todo.md", sample("fix-plan"))
    assert told.value.code == "import_unclear"
    assert "--as fix-plan or --as spec-kit" in told.value.hint


def test_user_stories_come_in_the_order_of_their_numbers() -> None:
    first, second, third = _read("prd").items
    assert [one.id for one in (first, second, third)] == [f"ralph/cart/US-00{n}" for n in (1, 2, 3)]
    assert (first.is_done, second.is_done) == (True, False)
    assert second.body == "As a buyer I see it.\n\n## Notes\n\nask"
    assert second.criteria == ("It lists the items", "Typecheck passes")
    assert second.priority is None


def test_user_stories_with_words_have_priorities_and_tags() -> None:
    text = (
        '{"projectName": "p", "userStories": [{"id": "a", "title": "A", "priority": "low", "tags": ["x"]},'
        '{"id": "b", "title": "B", "priority": "high"}]}'
    )
    items = _read("prd", text).items
    assert [(one.id, one.priority, one.labels) for one in items] == [("p/b", "P1", ()), ("p/a", "P3", ("x",))]


def test_features_are_known_by_what_they_say() -> None:
    [item] = _read("prd", '[{"category": "ui", "description": "New chat", "steps": ["Click"], "passes": true}]').items
    assert (item.title, item.criteria, item.labels, item.is_done) == ("New chat", ("Click",), ("ui",), True)
    assert item.id.startswith("new-chat-")


def test_a_fix_plan_has_priorities_by_its_headings() -> None:
    batch = _read("fix-plan")
    found = [(one.title, one.priority, one.is_done) for one in batch.items]
    assert found == [
        ("Set up the build", "P1", False),
        ("Write the README", "P1", True),
        ("Faster start", "P3", False),
        ("Colours", "P3", False),
        ("Project made", None, True),
    ]
    assert batch.items[0].criteria == ("it builds on CI",)
    assert batch.items[0].body == "With a cache."
    assert batch.items[3].labels == ("optional",)
    assert [one.why for one in batch.left] == ["line 11 says it again"]


def test_the_phases_of_spec_kit_hold_their_tasks_and_wait_for_each_other() -> None:
    items = {id_.removeprefix("001-albums/"): item for id_, item in _by_id("spec-kit").items()}
    waits = {id_: [one.removeprefix("001-albums/") for one in item.blocked_by] for id_, item in items.items()}
    assert waits == {
        "phase-1": [],
        "T001": [],
        "T002": [],
        "phase-2": ["phase-1"],
        "T003": ["phase-1"],
        "phase-3": ["phase-2"],
        "T004": ["phase-2"],
        "T005": ["T004", "phase-2"],
        "phase-4": ["phase-3"],
        "T006": ["phase-3"],
    }
    story = items["phase-3"]
    assert (story.priority, story.body, story.criteria) == ("P1", "Goal: albums can be made", ("make one, and see it",))
    assert items["T004"].parent == "001-albums/phase-3"
    assert items["T004"].labels == ("US1",)
    assert items["T001"].is_done
    assert _read("spec-kit").left == (SkippedItem("", "TXXX Clean up", "line 24 has no number such as T001"),)


def test_a_task_of_backlog_has_its_fields_and_sections() -> None:
    [item] = _read("backlog").items
    assert (item.id, item.title, item.priority) == ("TASK-12", "Parse dates: all of them", "P1")
    assert (item.labels, item.assignees) == (("parser",), ("ann",))
    assert item.criteria == ("ISO dates are read", "Others are refused")
    assert item.body == "Dates come in three forms.\n\n## Implementation Plan\n\n1. Read them."


def test_issues_of_beads_have_their_links() -> None:
    batch = _read("beads")
    epic, part, old, _ = batch.items
    assert (epic.priority, epic.labels, epic.parent) == ("P0", ("epic",), None)
    assert (part.parent, part.blocked_by, part.criteria) == ("bd-1", ("bd-3",), ("works", "tested"))
    assert (part.priority, part.labels, part.assignees) == ("P3", ("parser", "bug"), ("ann",))
    assert old.is_done
    assert [one.why for one in batch.left] == ["it was deleted", "it is no issue"]


def test_issues_of_github_come_oldest_first() -> None:
    first, second = _read("github").items
    assert (first.id, first.body, first.priority) == ("acme/rocket#12", "## Steps\n\nStart it.", "P1")
    assert (first.labels, first.assignees, second.is_done) == (("bug", "priority: high"), ("ann",), True)


@pytest.mark.parametrize(
    ("form", "text", "told"),
    [
        ("prd", '{"userStories": [\n{]}', "line 2: this is no JSON"),
        ("prd", '{"userStories": 7}', "no list `userStories`"),
        ("prd", '{"userStories": [{"id": "a", "acceptanceCriteria": [1]}]}', "must be a list of texts"),
        ("prd", '{"userStories": [{"id": "a", "passes": "yes"}]}', "must be true or false"),
        ("prd", '{"userStories": [{"id": "a", "title": "x\\u202ey"}]}', r"U\+202E"),
        ("prd", "[" * 200_000, "no JSON"),
        ("beads", '{"id":"a","title":"A"}\n<<<<<<< HEAD', "line 2: this is no JSON"),
        ("beads", '{"id":"a","priority":9}', "from 0 to 4"),
        ("beads", '{"id":"a","priority":NaN}', "no JSON"),
        ("github", '{"number": 1}', "no list of issues"),
        ("github", '[{"number": "1"}]', "needs `number`"),
        ("backlog", "---\nid: [a\n---\n", "line .: the front matter is no YAML"),
        ("backlog", "---\nid: a\ntitle: {x: y}\n---\n", "line 3: `title` must be a text"),
        ("backlog", "no front matter", "does not begin with front matter"),
        ("fix-plan", "a\n- [ ] \x1b[31mred", r"line 2 of the text has the character U\+001B"),
    ],
)
def test_what_is_broken_is_told_with_its_place(form: str, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as error:
        _read(form, text)
    assert error.value.code == "import_invalid"


@pytest.mark.parametrize(
    ("items", "told"),
    [
        ([Imported("a", "A"), Imported("a", "B")], "has the id 'a'"),
        ([Imported("a", "A", blocked_by=("z",))], "refers to 'z'"),
        ([Imported("a", "A", blocked_by=("b",)), Imported("b", "B", blocked_by=("a",))], "wait for each other"),
        ([Imported("a", "A"), Imported("b", "B", parent="a", blocked_by=("a",))], "a whole waits for its parts"),
        ([Imported("a", "A", parent="a")], "are parts of each other"),
    ],
)
def test_what_does_not_hold_together_is_refused(items: list[Imported], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        checked(Batch(tuple(items)), lambda _: False)


def test_links_to_nothing_can_be_dropped() -> None:
    item = Imported("a", "A", parent="y", blocked_by=("z", "k"))
    [kept] = checked(Batch((item,)), lambda id_: id_ == "k", drops_missing=True).items
    assert (kept.parent, kept.blocked_by) == (None, ("k",))


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_no_text_makes_a_reader_crash(form: str, data: st.DataObject) -> None:
    whole = SAMPLES[form]
    cut = data.draw(st.integers(0, len(whole)))
    text = data.draw(st.one_of(st.text(), st.text().map(lambda more: whole[:cut] + more + whole[cut:])))
    with suppress(UsageError):
        form_of("file", SourceFile("file", "place", text))
    with suppress(UsageError):
        batch = checked(_read(form, text), lambda _: True)
        assert {one.id for one in in_order(batch.items)} == {one.id for one in batch.items}
