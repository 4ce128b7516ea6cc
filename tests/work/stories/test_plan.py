"""What the loop does next: the seed's selection, generated over every kind of story."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.machine.demand import is_task
from interlock.work.stories.plan import (
    AllComplete,
    Chosen,
    Lost,
    OnlyBlocked,
    Reprieved,
    Selection,
    StoryComplete,
    select,
    task_name,
)
from interlock.work.stories.progress import Progress, StoryProgress, StoryStatus
from interlock.work.stories.stories import Story, StoryCriterion, Subtask


def entry(id_: str, status: StoryStatus, blocker_type: str | None = None) -> StoryProgress:
    return StoryProgress(id_, status, current_task="1", blocker_reason="because", blocker_type=blocker_type)


def story(id_: str, *done: bool) -> Story:
    tasks = tuple(Subtask(f"1.{place}", "do it", is_done) for place, is_done in enumerate(done or (False,), 1))
    return Story(id_, id_, (StoryCriterion(1, "It works"),), tasks)


def progress(*entries: StoryProgress) -> Progress:
    return Progress(stories=entries)


def stories(*ids: str) -> Mapping[str, Story | str]:
    return {id_: story(id_) for id_ in ids}


RANK = {StoryStatus.IN_PROGRESS: 0, StoryStatus.NOT_STARTED: 1}


@pytest.mark.requirement("story:select:order")
@pytest.mark.parametrize("statuses", list(product(StoryStatus, repeat=3)), ids=lambda found: "-".join(found))
def test_what_is_in_progress_comes_first_then_what_is_not_started(statuses: tuple[StoryStatus, ...]) -> None:
    entries = [entry(f"s{place}", status) for place, status in enumerate(statuses)]
    found = select(progress(*entries), stories("s0", "s1", "s2"))
    ready = sorted((one for one in entries if one.status in RANK), key=lambda one: RANK[one.status])
    if ready:
        assert found == Chosen(story(ready[0].id), story(ready[0].id).tasks[0])
    elif StoryStatus.BLOCKED in statuses:
        assert found == OnlyBlocked(tuple(one for one in entries if one.status is StoryStatus.BLOCKED))
    else:
        assert found == AllComplete()


@pytest.mark.requirement("story:select:subtask")
@pytest.mark.parametrize("done", list(product([False, True], repeat=3)))
def test_the_first_open_subtask_is_chosen_and_without_one_the_story_is_complete(done: tuple[bool, ...]) -> None:
    one = story("s", *done)
    known: dict[str, Story | str] = {"s": one}
    found = select(progress(entry("s", StoryStatus.NOT_STARTED)), known)
    assert found == (StoryComplete(one) if all(done) else Chosen(one, one.tasks[done.index(False)]))


def test_no_stories_are_all_complete() -> None:
    assert select(Progress(), {}) == AllComplete()


def test_a_story_without_a_file_is_lost_and_says_why() -> None:
    lost = entry("s", StoryStatus.IN_PROGRESS)
    assert select(progress(lost), {}) == Lost(lost, "there is no story file for it")
    assert select(progress(lost), {"s": "s.md has no acceptance criteria"}) == Lost(
        lost, "s.md has no acceptance criteria"
    )


def test_a_skipped_story_is_left_for_a_person() -> None:
    first, second = entry("a", StoryStatus.IN_PROGRESS), entry("b", StoryStatus.NOT_STARTED)
    found = select(progress(first, second), stories("a", "b"), skipped=frozenset({"a"}))
    assert isinstance(found, Chosen)
    assert found.story.id == "b"
    assert select(progress(first, second), {}, skipped=frozenset({"a", "b"})) == OnlyBlocked((first, second))


# Transient blockers

BLOCKED = entry("blocked", StoryStatus.BLOCKED, "transient")
OPEN = entry("open", StoryStatus.NOT_STARTED)


@pytest.mark.requirement("story:select:transient")
@pytest.mark.parametrize("passed", range(6))
def test_a_transient_blocker_is_retried_after_three_iterations(passed: int) -> None:
    found = select(
        progress(BLOCKED, OPEN),
        stories("open"),
        blocked_at={"blocked": 10},
        iteration=10 + passed,
    )
    assert isinstance(found, Reprieved if passed >= 3 else Chosen)


def test_a_transient_blocker_is_retried_before_the_loop_would_end() -> None:
    assert select(progress(BLOCKED), {}) == Reprieved(BLOCKED, "nothing else is left")
    assert select(progress(BLOCKED), {}, blocked_at={"blocked": 5}, iteration=5) == Reprieved(
        BLOCKED, "nothing else is left"
    )


@pytest.mark.parametrize("iteration", [0, 99])
def test_it_is_retried_once(iteration: int) -> None:
    retried = frozenset({"blocked"})
    found = select(progress(BLOCKED), {}, retried=retried, blocked_at={"blocked": 0}, iteration=iteration)
    assert found == OnlyBlocked((BLOCKED,))


def test_a_permanent_or_skipped_blocker_is_never_retried() -> None:
    permanent = entry("p", StoryStatus.BLOCKED, "permanent")
    assert select(progress(permanent), {}, blocked_at={"p": 0}, iteration=99) == OnlyBlocked((permanent,))
    assert select(progress(BLOCKED), {}, skipped=frozenset({"blocked"})) == OnlyBlocked((BLOCKED,))


# What holds for every file

_ids = st.sampled_from(["a", "b", "c", "d", "e"])
_entries = st.builds(entry, _ids, st.sampled_from(StoryStatus), st.sampled_from([None, "transient", "permanent"]))
_sets = st.frozensets(_ids)
_texts = st.one_of(st.just("lost"), st.lists(st.booleans(), min_size=1, max_size=3).map(lambda done: story("x", *done)))


@pytest.mark.exhaustive
@settings(max_examples=examples(300))
@given(
    st.lists(_entries, unique_by=lambda one: one.id).map(tuple),
    st.dictionaries(_ids, _texts),
    _sets,
    _sets,
    st.dictionaries(_ids, st.integers(0, 9)),
    st.integers(0, 9),
)
def test_only_what_may_be_worked_on_is_selected(
    entries: tuple[StoryProgress, ...],
    files: dict[str, Story | str],
    retried: frozenset[str],
    skipped: frozenset[str],
    blocked_at: dict[str, int],
    iteration: int,
) -> None:
    files = {
        id_: one if isinstance(one, str) else story(id_, *(task.done for task in one.tasks))
        for id_, one in files.items()
    }
    found: Selection = select(
        Progress(stories=entries), files, retried=retried, skipped=skipped, blocked_at=blocked_at, iteration=iteration
    )
    by_id = {one.id: one for one in entries}
    match found:
        case Chosen(chosen, task):
            assert by_id[chosen.id].status in RANK
            assert chosen.id not in skipped
            assert not task.done
        case StoryComplete(closed):
            assert by_id[closed.id].status in RANK
            assert closed.id not in skipped
        case Lost(lost, why):
            assert lost.status in RANK
            assert lost.id not in skipped
            assert why
        case Reprieved(one, why):
            assert (one.status, one.blocker_type) == (StoryStatus.BLOCKED, "transient")
            assert one.id not in retried | skipped
            assert why
        case OnlyBlocked(left):
            assert left
            assert all(one.status is StoryStatus.BLOCKED or one.id in skipped for one in left)
        case AllComplete():
            assert all(one.status is StoryStatus.COMPLETE for one in entries)


# Names


def test_a_task_is_called_by_its_story_and_its_id() -> None:
    assert task_name("story-2-1", "1.2") == "story-2-1 1.2"


@pytest.mark.exhaustive
@settings(max_examples=examples(200))
@given(st.text(min_size=1), st.text(min_size=1))
def test_every_name_of_a_task_can_be_counted_for(story_id: str, task_id: str) -> None:
    assert is_task(task_name(story_id, task_id))


@pytest.mark.parametrize(("one", "other"), [("a/b", "a-b"), ("a:b", "a/b"), ("x" * 300, "x" * 301), ("a\n", "a\t")])
def test_tasks_that_differ_are_called_differently(one: str, other: str) -> None:
    assert task_name(one, "1") != task_name(other, "1")
    assert task_name("s" * 200, one) != task_name("s" * 200, other)
