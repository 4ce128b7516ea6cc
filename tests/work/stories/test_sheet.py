"""`progress.txt` read and written the short way: never otherwise than the long way."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exhaustive import examples
from interlock.errors import Refusal
from interlock.work.stories.progress import Progress, StoryProgress, StoryStatus, parse, template, written
from interlock.work.stories.sheet import Sheet
from interlock.work.stories.simple import simply
from interlock.work.stories.yaml_reader import read as read_any
from interlock.work.stories.yaml_tree import is_allowed

from .progress_texts import SPEC, STYLES, progresses

PLAIN = SPEC[: SPEC.index("# What the team")]
FRAGMENTS = (
    *("stories:\n", "metrics:\n", "project: ", "  - id: ", "- id: ", "    status: ", "  status: ", "key:", " key: "),
    *(
        "a",
        "1.10",
        "a b",
        " # said",
        "# said\n",
        "\n",
        "\n\n",
        " ",
        ":",
        "x:y",
        "x: y",
        "#",
        "a#b",
        "-",
        "- ",
        "'",
        "''",
    ),
    *(
        '"',
        '"a"',
        "'it''s'",
        '"\\n\\x41\\u0041\\U00000041"',
        '"\\z"',
        "~",
        "null",
        "|",
        "[",
        "{a: 1}",
        "é",
        "\xa0",
        "?",
        "!",
    ),
    *("&a", "*a", "%", "@", "...", "---", "/", ".", "+", "_"),
)


def _agrees(text: str) -> bool:
    """Whether a text is simple; what is read of it then is what is read of it otherwise."""
    found = simply(text) if is_allowed(text) else None
    assert found is None or found == read_any(text)
    return found is not None


@pytest.mark.parametrize("name", STYLES)
def test_a_text_is_read_the_short_way_as_it_is_the_long_way(name: str) -> None:
    _agrees(STYLES[name])


@given(progresses)
def test_what_the_loop_writes_is_read_as_it_is_the_long_way(progress: Progress) -> None:
    _agrees(written(None, progress))


def test_what_the_loop_usually_writes_is_simple() -> None:
    assert _agrees(template("p", [("story-1", None), ("story-2", "stories/2.md")], "2026-01-01T00:00:00Z"))
    assert _agrees(PLAIN)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map(lambda parts: "".join(parts) + "\n"))
@example("stories:\n- id: a\n -  b: c\n")
@example("a: b\n c: d\n")
@example("a:\nb: c\n")
@example("a:\n  b: c\n - d: e\n")
@example("a:\n  - b: c\n   d: e\n")
@example("a: b\na: c\n")
@example("a: x\n#\n  b: y\n")
def test_lines_of_any_kind_are_read_as_they_are_the_long_way(text: str) -> None:
    _agrees(text)


@given(st.integers(0, len(PLAIN)), st.integers(0, 12), st.sampled_from(FRAGMENTS))
def test_a_text_with_a_slip_is_read_as_it_is_the_long_way(at: int, length: int, fragment: str) -> None:
    _agrees(PLAIN[:at] + fragment + PLAIN[at + length :])


# Writing


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
def test_a_sheet_writes_what_is_written_of_the_whole_text(name: str, data: st.DataObject) -> None:
    text, sheet = STYLES[name], Sheet()
    for _ in range(3):
        before = parse(text)
        assert sheet.parse(text) == before
        wanted = data.draw(_changes(before) | progresses)
        with suppress(Refusal):
            expected = written(text, wanted)
            assert sheet.written(text, wanted) == expected
            assert sheet.parse(expected) == parse(expected)
            text = expected


def test_one_story_among_many_is_written_where_it_stands() -> None:
    text = template("p", [(f"story-{number}", None) for number in range(50)], "2026-01-01T00:00:00Z")
    text = text.replace("  - id: story-7\n", "  # the one that matters\n  - id: story-7\n")
    sheet, progress = Sheet(), parse(text)
    for place in (7, 0, 49, 7):
        working = StoryProgress(f"story-{place}", StoryStatus.IN_PROGRESS, current_task="1", last_action="test")
        stories = (*progress.stories[:place], working, *progress.stories[place + 1 :])
        progress = replace(progress, stories=stories, iteration=progress.iteration + 1)
        assert sheet.written(text, progress) == written(text, progress)
        text = sheet.written(text, progress)
        assert sheet.parse(text) == parse(text) == progress
