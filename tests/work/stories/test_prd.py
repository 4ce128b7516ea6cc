"""`prd.json`: stories in the order of their priority, and one value that is ever written."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InterlockError, Refusal
from interlock.work.stories.prd import PRD, parse_prd, passed
from interlock.work.stories.stories import Story, StoryCriterion, Subtask

RALPH = """\
{
  "project": "MyApp",
  "branchName": "ralph/task-priority",
  "userStories": [
    {
      "id": "US-002", "title": "Show it", "description": "As a user…",
      "acceptanceCriteria": ["Badge\\n is shown", "Typecheck passes"],
      "priority": 2, "passes": false, "notes": ""
    },
    {
      "id": "US-001",
      "title": "Store it",
      "acceptanceCriteria": [ "A column" ],
      "priority": 1,
      "passes"  :  true
    }
  ]
}
"""
FEATURES = """\
[{"category": "functional", "description": "New chat", "steps": ["Click", "See"], "passes": false},
 {"description": "Old chat", "steps": ["See"]}]
"""


@pytest.mark.requirement("story:prd:loaded")
def test_user_stories_are_read_in_the_order_of_their_priority() -> None:
    assert parse_prd(RALPH) == (
        Story(
            "US-001", "Store it", (StoryCriterion(1, "A column"),), (Subtask("1", "Store it", True, (1,)),), "", PRD, 1
        ),
        Story(
            "US-002",
            "Show it",
            (StoryCriterion(1, "Badge is shown"), StoryCriterion(2, "Typecheck passes")),
            (Subtask("1", "Show it", False, (1, 2)),),
            "As a user…",
            PRD,
            2,
        ),
    )


def test_features_are_read_in_their_own_order() -> None:
    first, second = parse_prd(FEATURES)
    assert (first.id, first.title, [one.text for one in first.criteria]) == ("feature-1", "New chat", ["Click", "See"])
    assert (second.id, second.tasks[0].done) == ("feature-2", False)


def test_stories_without_a_priority_keep_their_order() -> None:
    rows = [{"id": number, "acceptanceCriteria": ["x"]} for number in (3, 1, 2)]
    assert [one.id for one in parse_prd(json.dumps({"userStories": rows}))] == ["3", "1", "2"]


def test_what_passes_is_the_one_thing_that_changes() -> None:
    assert passed(RALPH, "US-002") == RALPH.replace('"passes": false', '"passes": true')
    assert passed(RALPH, "US-001") == RALPH
    assert passed(FEATURES, "feature-1") == FEATURES.replace("false", "true")
    assert passed(FEATURES, "feature-2") == FEATURES.replace('["See"]}', '["See"], "passes": true}')
    windows = RALPH.replace("\n", "\r\n")
    assert passed(windows, "US-002") == windows.replace('"passes": false', '"passes": true')


def test_a_story_that_is_not_there_does_not_pass() -> None:
    with pytest.raises(Refusal) as refused:
        passed(RALPH, "US-003")
    assert refused.value.code == "story_invalid"


def of(**row: object) -> str:
    return json.dumps({"userStories": [{"id": "a", "acceptanceCriteria": ["x"], **row}]})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"userStories": [], "userStories": []}', "twice"),
        ("{}", "neither"),
        ('"text"', "neither"),
        ('{"userStories": {}}', "neither"),
        (json.dumps({"userStories": [1]}), "story 1 needs an `id`"),
        (of(id=None), "story 1 needs an `id`"),
        (of(id=True), "story 1 needs an `id`"),
        (of(id=" "), "story 1 needs an `id`"),
        (of(id="a\nb"), "story 1 needs an `id`"),
        (of(acceptanceCriteria=[]), "a needs `acceptanceCriteria`"),
        (of(acceptanceCriteria=None), "a needs `acceptanceCriteria`"),
        (of(acceptanceCriteria=["x", 1]), "a needs `acceptanceCriteria`"),
        (of(acceptanceCriteria=[" "]), "a needs `acceptanceCriteria`"),
        (of(priority="high"), "`priority` of a"),
        (of(priority=True), "`priority` of a"),
        (of(passes="yes"), "`passes` of a"),
        (of(title=["x"]), "`title` of a"),
        ('[{"description": "x", "steps": []}]', "feature-1 needs `steps`"),
        ('[{"steps": ["x"]}]', "feature 1 needs a `description`"),
        ("[1]", "feature 1 needs a `description`"),
        (json.dumps({"userStories": [json.loads(of())["userStories"][0]] * 2}), "two stories have the id 'a'"),
        (" " * 1024 * 1024 + "[]", "characters"),
        (json.dumps([{"description": "d", "steps": ["s"]}] * 10_001), "10000 stories"),
    ],
)
def test_what_is_no_list_of_stories_is_refused(text: str, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_prd(text)
    assert refused.value.code == "story_invalid"
    assert says in str(refused.value)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["userStories", "id", "acceptanceCriteria", "steps", "description", "passes"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(st.text(max_size=30) | _values.map(json.dumps))
def test_whatever_a_text_is_it_is_read_or_refused(text: str) -> None:
    with suppress(InterlockError):
        for story in parse_prd(text):
            again = parse_prd(passed(text, story.id))
            assert next(one for one in again if one.id == story.id).tasks[0].done
