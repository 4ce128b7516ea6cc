"""Lines with colours: as rich draws them, and never wider than the terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text as RichText

from interlock.faces.cli.styled import Text, ansi

STYLES = ["", "bold", "red", "bold black on yellow", "dim", "dark_orange"]
PIECES = st.lists(st.tuples(st.text("ab 漢é", min_size=1, max_size=12), st.sampled_from(STYLES)), max_size=6)
COLOURS = ansi({"TERM": "xterm-256color"})


@given(PIECES)
def test_a_text_is_its_pieces(pieces: list[tuple[str, str]]) -> None:
    text = Text.assemble(*pieces)
    theirs = RichText.assemble(*pieces)
    assert (text.plain, text.cell_len, bool(text)) == (theirs.plain, theirs.cell_len, bool(theirs))
    assert re.sub(r"\x1b\[[0-9;]*m", "", text.rendered(COLOURS)) == text.plain
    assert text.__rich__().plain == text.plain


@given(PIECES, st.integers(1, 40))
def test_it_is_cut_where_rich_cuts_it(pieces: list[tuple[str, str]], width: int) -> None:
    text, theirs = Text.assemble(*pieces), RichText.assemble(*pieces)
    text.truncate(width)
    theirs.truncate(width, overflow="ellipsis")
    assert text.cell_len <= width
    assert text.plain.rstrip("… ") == theirs.plain.rstrip("… ")


@given(PIECES, st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(pieces: list[tuple[str, str]], width: int) -> None:
    text = Text.assemble(*pieces)
    lines = [line.plain for line in text.wrapped(width)]
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.plain.replace(" ", "")


def test_words_stay_whole_where_they_fit_and_styles_go_with_them() -> None:
    text = Text.assemble("one two ", ("three four", "red"))
    lines = list(text.wrapped(9))
    assert [line.plain for line in lines] == ["one two", "three", "four"]
    assert lines[1].rendered(COLOURS) == lines[2].rendered(COLOURS).replace("four", "three") == "\x1b[31mthree\x1b[0m"


@pytest.mark.parametrize(
    ("environment", "drawn"),
    [
        ({"TERM": "xterm-256color"}, "\x1b[1;30;43mx\x1b[0m\x1b[38;5;208my\x1b[0m"),
        ({"TERM": "xterm"}, "\x1b[1;30;43mx\x1b[0m\x1b[33my\x1b[0m"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "\x1b[1;30;43mx\x1b[0m\x1b[38;5;208my\x1b[0m"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "\x1b[1mx\x1b[0my"),
        ({"TERM": "dumb"}, "xy"),
    ],
)
def test_a_terminal_gets_what_it_knows(environment: dict[str, str], drawn: str) -> None:
    text = Text("x", "bold black on yellow").append("y", "dark_orange")
    assert text.rendered(ansi(environment)) == drawn


def test_a_style_ends_with_its_line() -> None:
    assert Text("\na\nb", "red").rendered(COLOURS) == "\n\x1b[31ma\x1b[0m\n\x1b[31mb\x1b[0m"


def test_spaces_at_the_end_go_in_every_style() -> None:
    text = Text.assemble("a ", ("b  ", "red"), ("  ", "bold"))
    text.rstrip()
    assert text.plain == "a b"
