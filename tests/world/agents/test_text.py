"""Lines, the log's text and promises: the same whatever pieces they come in, and never a secret."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.world.agents.lines import Lines
from interlock.world.agents.promise import promise
from interlock.world.agents.transcript import Stretch
from interlock.world.redaction import redacted

TOKEN = "ghp_" + "aB3" * 12


def _cut(length: int, cuts: list[int]) -> list[tuple[int, int]]:
    return list(pairwise(sorted({0, length, *(cut % (length + 1) for cut in cuts)})))


# Lines


def _lines(data: bytes, cuts: list[int], longest: int) -> list[bytes]:
    lines = Lines(longest)
    found = [line for start, end in _cut(len(data), cuts) for line in lines.feed(data[start:end])]
    return found + list(lines.end())


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=10), st.integers(1, 50))
def test_lines_are_the_same_in_any_chunking_and_never_too_long(data: bytes, cuts: list[int], longest: int) -> None:
    found = _lines(data, cuts, longest)
    *whole, last = data.split(b"\n")
    assert found == [line[:longest].removesuffix(b"\r") for line in (*whole, *([last] if last else []))]


def test_a_line_that_is_too_long_is_told_at_once_and_its_rest_passed_over() -> None:
    lines = Lines(5)
    assert list(lines.feed(b"1234567")) == [b"12345"]
    assert list(lines.feed(b"89\nab\n")) == [b"ab"]
    assert lines.cut == 1


# The log's text


@given(st.text(st.sampled_from("ab \n-_:"), max_size=80), st.lists(st.integers(0, 80), max_size=8))
def test_the_log_is_the_same_in_any_chunking(text: str, cuts: list[int]) -> None:
    stretch = Stretch()
    shown = "".join(stretch.feed(text[start:end]) for start, end in _cut(len(text), cuts))
    assert shown + stretch.end() == redacted(text) == text


@given(
    st.integers(0, 30_000),
    st.integers(0, 30_000),
    st.sampled_from(["x", "x ", "xy\n", "=", "é"]),
    st.lists(st.integers(0, 60_000), max_size=10),
)
def test_a_secret_is_never_shown_however_it_is_cut(before: int, after: int, filling: str, cuts: list[int]) -> None:
    text = (filling * before)[:before] + " " + TOKEN + " " + (filling * after)[:after]
    stretch = Stretch(held=8_000)
    shown = "".join(stretch.feed(text[start:end]) for start, end in _cut(len(text), cuts)) + stretch.end()
    assert TOKEN[:24] not in shown
    assert shown == text.replace(TOKEN, "[redacted:github]")


def test_what_is_held_is_bounded() -> None:
    stretch = Stretch(held=10_000)
    shown = sum(len(stretch.feed("x" * 1_000)) for _ in range(100))
    assert 100_000 - shown <= 11_000


# Promises


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<promise>COMPLETED</promise>", "COMPLETED"),
        ("Done.\n\n  <promise> completed </promise>  \n\n", "COMPLETED"),
        ("<PROMISE>Ready_For_Next_Task</PROMISE>", "READY_FOR_NEXT_TASK"),
        ("<promise>ready for  next task</promise>", "READY_FOR_NEXT_TASK"),
        ("\x1b[32m<promise>BLOCKED</promise>\x1b[0m", "BLOCKED"),
        ("<promise>\nSETUP_REQUIRED\n</promise>", "SETUP_REQUIRED"),
        ("<promise>BLOCKED</promise>\n<promise>COMPLETED</promise>", "COMPLETED"),
        ("", None),
        ("COMPLETED", None),
        ("<promise></promise>", None),
        ("I will say <promise>COMPLETED</promise>", None),
        ("<promise>COMPLETED</promise> is what I would say.", None),
        ("<promise>COMPLETED</promise>\n\nI added a test and a page of the docs.", "COMPLETED"),
        ("<promise>COMPLETED</promise>\n" + "It took long. " * 1000, "COMPLETED"),
        ("I ran:\n```sh\nmake test\n```\n<promise>COMPLETED</promise>", "COMPLETED"),
        ("The log breaks off:\n```\nmake test\n\n<promise>COMPLETED</promise>", "COMPLETED"),
        ("The prompt says to end with <promise>COMPLETED</promise> but I did not.", None),
        ("> <promise>COMPLETED</promise>\n\nis what I was told to say.", None),
        ("The prompt says:\n```\n<promise>COMPLETED</promise>\n```\nI am not done.", None),
        ("~~~~ md\n~~~\n<promise>COMPLETED</promise>\n~~~~~\nI am not done.", None),
        ("`<promise>COMPLETED</promise>`", None),
        ("<promise>COMPLETED</promise><promise>BLOCKED</promise>", None),
        ("<promise>a<b>c</promise>", None),
    ],
)
def test_a_promise_is_a_line_of_its_own_outside_of_code_and_quotations(text: str, name: str | None) -> None:
    assert promise(text) == name


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    promise(text)
