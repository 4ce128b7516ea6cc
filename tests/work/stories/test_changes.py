"""Of what a person changed in `progress.txt`, only what a person may do counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from msgspec.structs import replace

from interlock.work.stories.changes import accepted
from interlock.work.stories.progress import LoopMetrics, Progress, StoryProgress, StoryStatus
from interlock.work.stories.progress_file import parse, written

from .progress_texts import SPEC, progresses

OPEN = StoryProgress("open", StoryStatus.NOT_STARTED, "open.md")
ACTIVE = StoryProgress("active", StoryStatus.IN_PROGRESS, "active.md", "1.2", 2, "test", 1)
BLOCKED = StoryProgress(
    *("blocked", StoryStatus.BLOCKED, "blocked.md", "2.1", 3, "validate"),
    blocker_reason="no network",
    blocker_type="transient",
)
DONE = StoryProgress("done", StoryStatus.COMPLETE, "done.md", tasks_completed=3, tasks_total=3, last_commit="abc")
BEFORE = Progress("p", 7, stories=(OPEN, ACTIVE, BLOCKED, DONE))


def edited(*stories: StoryProgress) -> Progress:
    return replace(BEFORE, stories=stories)


def as_status(story: StoryProgress, status: StoryStatus) -> StoryProgress:
    return StoryProgress(story.id, status, story.file, current_task="9", blocker_reason="because")


def test_no_change_is_no_change() -> None:
    assert accepted(BEFORE, BEFORE) == (BEFORE, [])


@pytest.mark.requirement("story:blocker:resolution")
def test_a_person_unblocks_a_story_and_it_starts_anew_at_its_task() -> None:
    text = SPEC.replace("status: blocked\n", "status: in_progress\n    current_task: task-1\n    retry_count: 2\n")
    result, refused = accepted(parse(SPEC), parse(text))
    assert refused == []
    assert result.stories[2] == StoryProgress("story-2-2", StoryStatus.IN_PROGRESS, current_task="task-1")
    assert "blocker_" not in written(text, result)


PERMITTED = {
    (StoryStatus.BLOCKED, StoryStatus.IN_PROGRESS),
    (StoryStatus.BLOCKED, StoryStatus.NOT_STARTED),
    (StoryStatus.COMPLETE, StoryStatus.IN_PROGRESS),
    (StoryStatus.COMPLETE, StoryStatus.NOT_STARTED),
    (StoryStatus.IN_PROGRESS, StoryStatus.NOT_STARTED),
}


@pytest.mark.parametrize("status", StoryStatus)
@pytest.mark.parametrize("story", BEFORE.stories, ids=lambda one: one.id)
def test_a_person_puts_a_story_back_and_never_on(story: StoryProgress, status: StoryStatus) -> None:
    if status is story.status:
        return
    after = edited(*(as_status(one, status) if one is story else one for one in BEFORE.stories))
    result, refused = accepted(BEFORE, after)
    if (story.status, status) in PERMITTED:
        found = result.story(story.id)
        assert found is not None
        assert (found.status, found.retry_count, refused) == (status, 0, [])
    else:
        assert result == BEFORE
        [sentence] = refused
        assert sentence.startswith(story.id)
        assert f"stays {story.status}" in sentence


@given(progresses, progresses)
def test_nobody_completes_a_story_by_hand_and_none_is_lost(before: Progress, after: Progress) -> None:
    result, refused = accepted(before, after)
    was_complete = {one.id for one in before.stories if one.status is StoryStatus.COMPLETE}
    assert {one.id for one in result.stories if one.status is StoryStatus.COMPLETE} <= was_complete
    ids = [one.id for one in result.stories]
    assert set(ids) == {one.id for one in (*before.stories, *after.stories)}
    assert len(ids) == len(set(ids))
    assert [id_ for id_ in ids if after.story(id_)] == [one.id for one in after.stories]
    removed = [one for one in before.stories if after.story(one.id) is None]
    assert len(refused) >= len(removed)
    assert parse(written(None, result)) == result


def test_order_and_additions_follow_the_file_and_what_was_taken_out_stays_in_its_place() -> None:
    new = StoryProgress("new", StoryStatus.NOT_STARTED, "new.md")
    result, refused = accepted(BEFORE, edited(DONE, new, ACTIVE))
    assert [one.id for one in result.stories] == ["open", "done", "new", "active", "blocked"]
    assert [sentence.split()[0] for sentence in refused] == ["open", "blocked"]


def test_a_story_that_is_added_is_not_started_whatever_it_says() -> None:
    result, refused = accepted(BEFORE, edited(*BEFORE.stories, StoryProgress("new", StoryStatus.COMPLETE, "new.md")))
    assert result.stories[-1] == StoryProgress("new", StoryStatus.NOT_STARTED, "new.md")
    assert refused == ["new is new and cannot be complete yet: it was added as not_started."]


def test_a_person_says_where_a_storys_file_is_and_what_the_project_is_called() -> None:
    after = replace(edited(replace(OPEN, file="moved.md"), ACTIVE, BLOCKED, DONE), project="other")
    result, refused = accepted(BEFORE, after)
    assert (result.project, result.stories[0].file, refused) == ("other", "moved.md", [])


def test_the_loops_own_fields_and_counts_stay() -> None:
    after = edited(OPEN, replace(ACTIVE, retry_count=0, last_action="implement"), BLOCKED, DONE)
    result, refused = accepted(BEFORE, replace(after, iteration=0, metrics=LoopMetrics(9)))
    assert result == BEFORE
    assert refused == [
        "active: `retry_count`, `last_action` are the loop's: nothing of it was changed.",
        "`iteration` is the loop's to count: it stays as it was.",
        "`metrics` is the loop's to count: it stays as it was.",
    ]
