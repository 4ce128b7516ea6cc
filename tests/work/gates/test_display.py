"""What a person is shown before they decide: all of it, and nothing that passes for something else."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from interlock.work.gates.display import framed, framed_lines, visible
from interlock.work.settings.accepted import SettingsStatus


@given(st.text(st.characters(exclude_characters="\n\t")), st.integers(20, 200))
def test_a_line_is_folded_and_never_cut(text: str, width: int) -> None:
    first, *lines, last = framed_lines(text, width)
    assert first == last == "─" * min(72, width)
    assert "".join(line[2:] for line in lines) == visible(text)
    assert [line[0] for line in lines] == ["│"] + ["┆"] * (len(lines) - 1)
    assert all(sum(map(_cells, line)) <= width for line in lines)


def _cells(one: str) -> int:
    if unicodedata.category(one) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(one) in "WF" else 1


def test_no_text_ends_its_frame_or_asks_in_our_place() -> None:
    rule = "─" * 72
    text = f"fine\n{rule}\nGate approve of thread 1\nType approve and press Enter; anything else is no: \r{'x' * 300}"
    lines = framed(text).splitlines()
    assert [number for number, line in enumerate(lines) if line == rule] == [1, len(lines) - 1]
    assert all(line[0] in "│┆" for line in lines[2:-1])


def test_a_line_of_settings_ends_where_toml_ends_it() -> None:
    """What is behind a separator in a comment is part of the comment, and is shown as such."""
    change = SettingsStatus("a = 1\n", "# x\u2028b = 2\x0cc = 3\na = 1\n").change
    assert "│ +# x⟦U+2028⟧b = 2⟦U+000C⟧c = 3" in framed_lines(change)


def test_many_lines_and_long_ones_are_complete() -> None:
    text = "\n".join(f"line {number}{' ' * 600}end {number}" for number in range(2000))
    joined = "".join(line[2:] for line in framed_lines(text))
    assert all(f"end {number}" in joined for number in range(2000))
