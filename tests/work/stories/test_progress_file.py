"""`progress.txt`: errors have their line, and writing changes only what differs."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import ndiff

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exhaustive import examples
from interlock.errors import InterlockError, Refusal
from interlock.work.stories.progress import SHOWN, IterationStatus, LoopMetrics, Progress, StoryProgress, StoryStatus
from interlock.work.stories.progress_file import ProgressFile, parse, template, written

from .progress_texts import SPEC, STYLES, progresses

NOW = "2026-02-08T15:00:00Z"


def differences(before: str, after: str) -> list[str]:
    lines = ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line.startswith(("-", "+"))]


def newlines(text: str) -> set[str]:
    return set(re.findall(r"\r\n|\r|\n", text))


def changed(text: str, id_: str, **fields: object) -> str:
    """A text in which one story has other fields."""
    before = parse(text)
    stories = tuple(replace(one, **fields) if one.id == id_ else one for one in before.stories)
    return written(text, replace(before, stories=stories))


# Reading


@pytest.mark.requirement("story:progress:fields")
def test_every_field_of_the_specification_is_read() -> None:
    assert parse(SPEC) == Progress(
        project="faith-meats",
        iteration=47,
        last_updated="2026-02-08T14:30:00Z",
        stories=(
            StoryProgress("story-1-1", StoryStatus.COMPLETE, tasks_completed=5, tasks_total=5, last_commit="abc123"),
            StoryProgress(
                "story-2-1", StoryStatus.IN_PROGRESS, current_task="task-3", retry_count=1, last_action="implement"
            ),
            StoryProgress(
                "story-2-2",
                StoryStatus.BLOCKED,
                blocker_reason="No test framework: `vitest` is missing",
                blocker_type="permanent",
                blocker_logged_to_neo4j=True,
                neo4j_event_id="evt-99",
                requires_human=True,
            ),
            StoryProgress("story-2-3", StoryStatus.NOT_STARTED),
        ),
        current_iteration=IterationStatus("ralph-47", "2026-02-08T14:00:00Z", "45%", True, 2),
        metrics=LoopMetrics(3, 1, 180_000),
    )


@pytest.mark.requirement("story:progress:query")
def test_the_seeds_query_finds_the_stories_in_progress() -> None:
    """`yq '.stories[] | select(.status == "in_progress")' progress.txt`, in Python."""
    text = changed(SPEC, "story-2-3", status=StoryStatus.IN_PROGRESS, current_task="1")
    loaded = yaml.safe_load(text)
    assert [one["id"] for one in loaded["stories"] if one["status"] == "in_progress"] == ["story-2-1", "story-2-3"]


def test_ids_and_texts_are_read_as_they_are_written() -> None:
    assert [one.id for one in parse(STYLES["numbers as ids"]).stories] == ["1.10", "007"]
    assert parse("project: 1.10\nlast_updated: 2026-01-01\nstories: []\n").project == "1.10"


def test_a_field_of_another_status_is_not_read() -> None:
    assert parse(STYLES["fields of another status"]).stories == (
        StoryProgress("a", StoryStatus.IN_PROGRESS, current_task="1"),
    )


ONE = "stories:\n  - id: a\n    status: {}\n"
INVALID = {
    "nothing": ("", 1, "empty"),
    "comments only": ("# nothing\n", 1, "empty"),
    "a list": ("- a\n", 1, "no mapping"),
    "a word": ("hello\n", 1, "no mapping"),
    "no stories": ("project: p\n", 1, "`stories`"),
    "null stories": ("project: p\nstories:\n", 2, "`stories`"),
    "stories that are a mapping": ("\nstories: {a: 1}\n", 2, "`stories`"),
    "no YAML": ("stories:\n  - id: [\n", 3, "no YAML"),
    "a colon too many": ("stories: []\nproject: a: b\n", 2, "no YAML"),
    "tabs": ("stories:\n\t- id: a\n", 2, "no YAML"),
    "a quote that does not end": ("stories: []\nproject: 'x\n", 3, "no YAML"),
    "a key twice": ("stories: []\nproject: a\nproject: b\n", 3, "twice"),
    "a key of a story twice": (ONE.format("not_started") + "    id: b\n", 4, "twice"),
    "an unknown key twice": ("stories: []\nmine:\n  x: 1\n  x: 2\n", 4, "twice"),
    "an id twice": (ONE.format("not_started") + "  - id: a\n    status: complete\n", 4, "'a' is there twice"),
    "a word as a story": ("stories:\n  - a\n", 2, "mapping with an `id`"),
    "no id": ("stories:\n  - status: complete\n", 2, "mapping with an `id`"),
    "an id that is a list": ("stories:\n  - status: complete\n    id: [a]\n", 3, "`id` must be a text"),
    "an id that is empty": ("stories:\n  - status: complete\n    id: ''\n", 3, "`id` has"),
    "an id of two lines": ('stories:\n  - id: "a\\nb"\n    status: complete\n', 2, "`id` has"),
    "an id that is long": (f"stories:\n  - id: {'a' * 201}\n    status: complete\n", 2, "`id` has"),
    "no status": ("stories:\n  - id: a\n", 2, "'None' is no status"),
    "an unknown status": (ONE.format("done"), 3, "'done' is no status of a; there is not_started, in_progress"),
    "a status that is true": (ONE.format("true"), 3, "'true' is no status"),
    "a status that is a list": (ONE.format("[complete]"), 3, "`status` must be a text"),
    "in progress with nothing": (ONE.format("in_progress"), 2, "no current_task"),
    "in progress with null": (ONE.format("in_progress") + "    current_task: null\n", 2, "no current_task"),
    "blocked without a reason": (ONE.format("blocked"), 2, "no blocker_reason"),
    "a count that is a word": (
        ONE.format("in_progress") + "    current_task: '1'\n    retry_count: one\n",
        5,
        "`retry_count` must be a whole number",
    ),
    "a count that is true": ("iteration: true\nstories: []\n", 1, "`iteration` must be a whole number"),
    "a count below zero": ("iteration: -1\nstories: []\n", 1, "`iteration` must be a whole number"),
    "a count that is huge": (f"iteration: {'9' * 5000}\nstories: []\n", 1, "`iteration` must be a whole number"),
    "a count that is broken": ("stories: []\niteration: 1.5\n", 2, "`iteration` must be a whole number"),
    "a switch that is a word": (
        ONE.format("blocked") + "    blocker_reason: x\n    requires_human: maybe\n",
        5,
        "`requires_human` must be true or false",
    ),
    "a text that is a mapping": ("stories: []\nproject: {a: 1}\n", 2, "`project` must be a text"),
    "a part that is a list": ("stories: []\nmetrics: [1]\n", 2, "`metrics` must be a mapping"),
    "a part with a wrong value": ("stories: []\nmetrics:\n  blockers_encountered: x\n", 3, "`blockers_encountered`"),
    "an anchor": ("stories: []\nx: &a 1\n", 2, "anchor"),
    "an alias": ("stories: []\nx: *a\n", 2, "alias"),
    "a bomb": ("a: &a [x, x]\nb: &b [*a, *a]\nstories: []\n", 1, "anchor"),
    "a merge": ("stories: []\nx:\n  <<: *a\n", 3, "alias"),
    "a Python tag": ("stories: []\nx: !!python/object:os.system ls\n", 2, "tag"),
    "a harmless tag": ("project: !!str 5\nstories: []\n", 1, "tag"),
    "a tag on a list": ("stories: !!seq []\n", 1, "tag"),
    "a directive": ("%YAML 1.1\n---\nstories: []\n", 1, "directive"),
    "two documents": ("stories: []\n---\nstories: []\n", 3, "second document"),
    "a key of many lines": ("? stories\n: []\n", 1, "beginning of its line"),
    "a key that is a list": ("stories: []\n[a]: 1\n", 2, "beginning of its line"),
    "a NUL": ("stories: []\nproject: a\0b\n", 2, "U+0000"),
    "an escape character": ("stories: []\r\n\r\nproject: \x1b[31m\r\n", 3, "U+001B"),
    "a line separator": ("stories: []\nproject: a\u2028b\n", 2, "U+2028"),
    "half a character": ("stories: []\nproject: \ud800\n", 2, "U+D800"),
    "half a character, escaped": ('stories: []\nproject: "\\ud800"\n', 2, "invalid Unicode"),
    "deep nesting": ("stories: []\nx: " + "[" * 13 + "]" * 13 + "\n", 2, "nested"),
    "very deep nesting": ("stories: []\nx: " + "[" * 100_000, 2, "nested"),
    "very deep mappings": ("{a: " * 50_000, 1, "nested"),
}  # fmt: skip


@pytest.mark.requirement("story:progress:validation")
@pytest.mark.parametrize(("text", "line", "says"), INVALID.values(), ids=INVALID)
def test_what_is_wrong_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(text)
    assert refused.value.code == "progress_invalid"
    assert says in str(refused.value)
    assert (refused.value.details["line"], f"line {line}:" in str(refused.value)) == (line, True)


@pytest.mark.parametrize("text", ["#" * (1024 * 1024) + "\n", "#" + "é" * (600 * 1024)], ids=["characters", "bytes"])
def test_a_text_of_more_than_a_megabyte_is_refused_without_being_read(text: str) -> None:
    with pytest.raises(Refusal, match="bytes") as refused:
        parse(f"{text}\nstories: []\n")
    assert refused.value.code == "progress_invalid"


@given(
    st.one_of(
        st.text(),
        st.text(st.sampled_from("ab:-?|>!&*%#@`'\"[]{},\n\r\t ~0\\\ufeff")),
        st.lists(st.sampled_from([*SPEC.splitlines(), "- ", "  ", "? ", ": ", "[", "}", "|", "\t", "&a", "!!x"])).map(
            "\n".join
        ),
    )
)
@example("%YAML 9.9\n---\nstories: []")
@example("%TAG ! x\n--- a")
@example("a: |99\n  x")
@example('"\\U99999999": 1')
def test_whatever_a_text_is_it_is_read_or_refused(text: str) -> None:
    with suppress(InterlockError):
        parse(text)


# Writing


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_a_text_that_says_it_already_is_left_alone(text: str) -> None:
    assert written(text, parse(text)) == text


@pytest.mark.exhaustive
@settings(max_examples=examples(300))
@given(st.sampled_from(list(STYLES)), progresses)
@example(
    "comments everywhere",
    Progress(current_iteration=IterationStatus(pending_neo4j_logs=1), metrics=LoopMetrics(1, 2, 3)),
)
def test_what_was_written_is_read_again(style: str, progress: Progress) -> None:
    result = written(STYLES[style], progress)
    assert parse(result) == progress
    assert written(result, progress) == result


@pytest.mark.exhaustive
@settings(max_examples=examples(200))
@given(progresses, progresses)
def test_any_text_that_was_written_can_be_written_again(one: Progress, other: Progress) -> None:
    assert parse(written(written(None, one), other)) == other


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_a_changed_text_keeps_its_new_lines_and_its_comments(text: str) -> None:
    before = parse(text)
    after = replace(before, iteration=before.iteration + 1, stories=before.stories[::-1])
    result = written(text, after)
    assert newlines(result) == (newlines(text) or {"\n"})
    for line in text.splitlines():
        comment = line[line.find("#") :] if "#" in line else ""
        assert comment in result


def test_only_what_changed_is_written() -> None:
    after = changed(SPEC, "story-2-1", current_task="task-4", retry_count=0)
    assert differences(SPEC, after) == [
        "-     current_task: task-3",
        "+     current_task: task-4",
        "-     retry_count: 1",
        "+     retry_count: 0",
    ]
    before = parse(SPEC)
    counted = replace(before, iteration=48, current_iteration=replace(before.current_iteration, neo4j_connected=False))
    assert differences(SPEC, written(SPEC, counted)) == [
        "- iteration: 47",
        "+ iteration: 48",
        "-   neo4j_connected: true",
        "+   neo4j_connected: false",
    ]


@pytest.mark.requirement("story:commit:progress")
def test_a_committed_subtask_moves_the_task_on_and_resets_the_retries() -> None:
    before = parse(SPEC)
    story = replace(before.stories[1], current_task="task-4", retry_count=0)
    after = replace(before, last_updated=NOW, stories=(before.stories[0], story, *before.stories[2:]))
    assert differences(SPEC, written(SPEC, after)) == [
        "- last_updated: 2026-02-08T14:30:00Z",
        f"+ last_updated: {NOW}",
        "-     current_task: task-3",
        "+     current_task: task-4",
        "-     retry_count: 1",
        "+     retry_count: 0",
    ]


@pytest.mark.requirement("story:blocker:progress")
def test_a_blocked_story_says_why_and_keeps_what_is_not_ours() -> None:
    fields = {"blocker_reason": "vitest: not found", "blocker_type": "permanent", "requires_human": True}
    after = changed(SPEC, "story-2-1", status=StoryStatus.BLOCKED, retry_count=3, **fields)
    assert differences(SPEC, after) == [
        "-     status: in_progress      # since Monday",
        "+     status: blocked      # since Monday",
        "-     retry_count: 1",
        "+     retry_count: 3",
        '+     blocker_reason: "vitest: not found"',
        "+     blocker_type: permanent",
        "+     requires_human: true",
    ]


@pytest.mark.requirement("story:blocker:resolution")
def test_an_unblocked_story_loses_its_blocker_lines() -> None:
    after = changed(SPEC, "story-2-2", status=StoryStatus.IN_PROGRESS, current_task="1")
    assert [line for line in differences(SPEC, after) if line.startswith("-")] == [
        "-     status: blocked",
        '-     blocker_reason: "No test framework: `vitest` is missing"',
        "-     blocker_type: permanent",
        "-     blocker_logged_to_neo4j: true",
        "-     neo4j_event_id: evt-99",
        "-     requires_human: true",
    ]


def test_a_complete_story_shows_what_was_done_and_no_task() -> None:
    after = changed(
        SPEC, "story-2-1", status=StoryStatus.COMPLETE, tasks_completed=4, tasks_total=4, last_commit="def456"
    )
    assert "    owner: sabir             # a key of our own\n" in after
    assert [line for line in differences(SPEC, after) if line.startswith("+")] == [
        "+     status: complete      # since Monday",
        "+     tasks_completed: 4",
        "+     tasks_total: 4",
        "+     last_commit: def456",
    ]


def test_stories_move_with_the_comments_above_them() -> None:
    before = parse(SPEC)
    first, second, *rest = before.stories
    after = written(SPEC, replace(before, stories=(second, first, *rest)))
    assert after.index("# the one that matters") < after.index("story-2-1") < after.index("story-1-1")
    assert sorted(after) == sorted(SPEC)


def test_a_new_story_stands_like_the_others() -> None:
    text = STYLES["a list that is not indented"]
    before = parse(text)
    after = replace(before, stories=(*before.stories, StoryProgress("c", StoryStatus.NOT_STARTED, "c.md")))
    assert written(text, after) == text + "- id: c\n  status: not_started\n  file: c.md\n"


def test_a_story_that_is_not_wanted_is_taken_out() -> None:
    text = STYLES["a list that is not indented"]
    assert written(text, Progress()) == "stories: []\n"


def test_a_missing_part_is_made_in_the_style_around_it() -> None:
    text = STYLES["one line"]
    after = replace(parse(text), metrics=LoopMetrics(1))
    assert written(text, after) == text.replace("}]}", '}], "metrics": {"tasks_completed_this_session": 1}}')


def test_what_is_no_progress_is_not_written_over() -> None:
    with pytest.raises(Refusal) as refused:
        written("# mine\n", Progress())
    assert refused.value.code == "progress_invalid"


@pytest.mark.parametrize("text", ["true", "No", "null", "~", "1.10", "0x1F", "2026-01-01", "- a", "a: b", "a #b", ""])
def test_texts_stay_texts_for_every_reader(text: str) -> None:
    result = written(None, Progress(project=text, workflow=text))
    loaded = yaml.safe_load(result)
    assert (loaded["project"], loaded["workflow"]) == (text, text)


@pytest.mark.requirement("story:error:template")
def test_the_template_is_read_as_stories_that_are_not_started() -> None:
    text = template("my project", [("story-1", "docs/story-1.md"), ("story-2", None)], NOW)
    assert parse(text) == Progress(
        project="my project",
        last_updated=NOW,
        stories=(
            StoryProgress("story-1", StoryStatus.NOT_STARTED, "docs/story-1.md"),
            StoryProgress("story-2", StoryStatus.NOT_STARTED),
        ),
    )
    assert text.startswith("# Where the stories stand.")


def test_every_field_of_a_story_belongs_to_a_status() -> None:
    assert {name for names in SHOWN.values() for name in names} == set(StoryProgress.__struct_fields__)


# From one step to the next


def _changes(before: Progress) -> st.SearchStrategy[Progress]:
    """What a text says, with some stories changed and the rest as it is."""

    def changed(progress: Progress, places: set[int], hides: bool) -> Progress:
        stories = {one.id: one for one in before.stories}
        for place, one in enumerate(progress.stories):
            old = before.stories[place % len(before.stories)] if before.stories else None
            if old is not None and place in places:
                stories[old.id] = replace(one, id=old.id, last_action="hidden" if hides else one.last_action)
        return replace(progress, stories=tuple(stories.values()))

    return st.builds(changed, progresses, st.sets(st.integers(0, 4)), st.booleans())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", STYLES)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_a_kept_file_writes_what_is_written_of_the_whole_text(name: str, data: st.DataObject) -> None:
    text, file = STYLES[name], ProgressFile()
    for _ in range(3):
        before = parse(text)
        assert file.parse(text) == before
        wanted = data.draw(_changes(before) | progresses)
        with suppress(Refusal):
            expected = written(text, wanted)
            assert file.written(text, wanted) == expected
            assert file.parse(expected) == parse(expected)
            text = expected


def test_one_story_among_many_is_written_where_it_stands() -> None:
    text = template("p", [(f"story-{number}", None) for number in range(50)], "2026-01-01T00:00:00Z")
    text = text.replace("  - id: story-7\n", "  # the one that matters\n  - id: story-7\n")
    file, progress = ProgressFile(), parse(text)
    for place in (7, 0, 49, 7):
        working = StoryProgress(f"story-{place}", StoryStatus.IN_PROGRESS, current_task="1", last_action="test")
        stories = (*progress.stories[:place], working, *progress.stories[place + 1 :])
        progress = replace(progress, stories=stories, iteration=progress.iteration + 1)
        assert file.written(text, progress) == written(text, progress)
        text = file.written(text, progress)
        assert file.parse(text) == parse(text) == progress
