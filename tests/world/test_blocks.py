"""Blocks of ours in texts of others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.world import blocks
from interlock.world.blocks import BlockFault, Fence

MODEST = settings(max_examples=examples(300))
FENCES = st.sampled_from(Fence)
LINES = st.sampled_from(["", "# Guide", "text", "    <!-- ralph:begin v1 -->", "-- ralph:end", "\ufeff", "\r", "é"])
TEXTS = st.tuples(
    st.sampled_from(["", "\ufeff"]),
    st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n"])).map("".join), max_size=5).map("".join),
    LINES,
).map("".join)
BODIES = st.lists(st.sampled_from(["a", "", "  b", "@AGENTS.md"]), max_size=3).map(
    lambda lines: "\n".join([*lines, "z"])
)


@MODEST
@given(TEXTS, FENCES, BODIES)
def test_taking_out_what_was_put_in_gives_the_text_from_before(text: str, fence: Fence, body: str) -> None:
    assert blocks.take(blocks.put(text, fence, 1, body), fence) == text


@MODEST
@given(TEXTS, FENCES, BODIES, BODIES)
def test_putting_again_replaces_the_block_in_its_place(text: str, fence: Fence, body: str, other: str) -> None:
    edited = blocks.put(text, fence, 1, body)
    assert blocks.put(edited, fence, 1, body) == edited
    newer = blocks.put(edited, fence, 2, other)
    found = blocks.find(newer, fence)
    assert found is not None
    assert (found.version, found.body) == (2, f"{other}\n")
    assert newer == blocks.put(text, fence, 2, other)


@MODEST
@given(TEXTS, TEXTS, FENCES)
def test_what_others_write_behind_the_block_stays(text: str, more: str, fence: Fence) -> None:
    edited = blocks.put(text, fence, 1, "ours")
    edited += ("" if edited.endswith("\n") else "\n") + more
    taken = blocks.take(edited, fence)
    assert taken.startswith(text.rstrip("\n\r"))
    assert taken.endswith(more)
    assert blocks.find(taken, fence) is None


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("", "# ralph:begin v1\na\n# ralph:end\n"),
        ("x\n", "x\n\n# ralph:begin v1\na\n# ralph:end\n"),
        ("x", "x\n\n# ralph:begin v1\na\n# ralph:end"),
        ("x\r\n", "x\r\n\r\n# ralph:begin v1\r\na\r\n# ralph:end\r\n"),
        ("\ufeff", "\ufeff# ralph:begin v1\na\n# ralph:end\n"),
    ],
)
def test_a_block_comes_after_an_empty_line_with_the_texts_own_line_ends(text: str, edited: str) -> None:
    assert blocks.put(text, Fence.HASH, 1, "a") == edited


@pytest.mark.parametrize(
    "text",
    [
        "<!-- ralph:begin v1 -->\n",
        "<!-- ralph:end -->\n",
        "<!-- ralph:end -->\n<!-- ralph:begin v1 -->\n",
        "<!-- ralph:begin v1 -->\n<!-- ralph:begin v2 -->\n<!-- ralph:end -->\n",
        "<!-- ralph:begin v1 -->\n<!-- ralph:end -->\n" * 2,
        "<!-- ralph:begin v1 -->\n<!-- ralph:end -->\n<!-- ralph:end -->",
    ],
)
def test_half_a_block_or_two_are_a_fault(text: str) -> None:
    for act in (blocks.find, blocks.take):
        with pytest.raises(BlockFault):
            act(text, Fence.MARKDOWN)
    with pytest.raises(BlockFault):
        blocks.put(text, Fence.MARKDOWN, 1, "a")


def test_a_text_without_a_block_stays_as_it_is() -> None:
    text = "  <!-- ralph:begin v1 -->\n`<!-- ralph:end -->`\n"
    assert blocks.find(text, Fence.MARKDOWN) is None
    assert blocks.take(text, Fence.MARKDOWN) == text
