"""What of a program's output reaches a person's terminal."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.world.terminals.escapes import EscapeFilter

PASSES = {
    "text": "Grüße, 世界 🙂\r\n\t\x07\x08",
    "colours": "\x1b[1;38;5;12mred\x1b[0m",
    "the other screen": "\x1b[?1049h\x1b[2J\x1b[H",
    "the mouse": "\x1b[?1000;1006h",
    "keys of kitty": "\x1b[>1u\x1b[<u\x1b[?u",
    "a question for the position": "\x1b[6n",
    "a question for the kind of terminal": "\x1b[c\x1b[>c\x1b[>0q",
    "a question for the size": "\x1b[14t\x1b[18t",
    "a question for a colour": "\x1b]11;?\x1b\\\x1b]4;1;?\x07",
    "a title": "\x1b]0;claude: at work\x07",
    "a link": "\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\",
    "a notification": "\x1b]9;done\x07\x1b]777;notify;a;b\x07",
    "line drawing": "\x1b(0lqk\x1b(B",
    "saving the cursor": "\x1b7\x1b8\x1bM\x1bc",
    "a control within a sequence": "\x1b[1\n;2H",
}
DROPPED = {
    "the clipboard": "\x1b]52;c;cm0gLXJmIC8K\x07",
    "the clipboard, asked for": "\x1b]52;c;?\x1b\\",
    "the clipboard with zeros": "\x1b]00052;c;QQ==\x07",
    "the clipboard of kitty": "\x1b]5522;type=read;aaaa\x07",
    "the title as an answer": "\x1b[21t",
    "the icon as an answer": "\x1b[20t",
    "the title with a control within": "\x1b[2\x001t",
    "the title with zeros": "\x1b[0021;0t",
    "a setting as an answer": "\x1bP$qm\x1b\\",
    "what screen passes on": "\x1bP]52;c;QQ==\x07\x1b\\",
    "a command to kitty": '\x1bP@kitty-cmd{"cmd":"send-text"}\x1b\\',
    "graphics from a file": "\x1b_Gt=f,f=100;L2V0Yy9wYXNzd2Q=\x1b\\",
    "a font": "\x1b]50;evil\x07",
    "files and variables of iTerm2": "\x1b]1337;File=name=LmJhc2hyYw==:eA==\x07",
    "no number": "\x1b]Ptitle\x1b\\",
    "the printer": "\x1b[5i\x1b[4i",
    "another encoding": "\x1b%@",
    "answers in eight bits": "\x1b G",
    "the clipboard in eight bits": "\u009d52;c;QQ==",
    "the title of screen": "\x1bktitle\x1b\\",
}
WITHIN: dict[str, str | bytes] = {
    "what tmux passes on": "\x1bPtmux;\x1b\x1b]52;c;QQ==\x07\x1b\\",
    "a string that is cut off": "\x1bP$q\x1b[m",
    "a command that is cut off": "\x1b]52;c;QQ==\x1b[m",
    "a command with a line in it": "\x1b]0;a\n\x1b]52;c;QQ==\x07",
    "one within the other": "\x1b]0;\x1b]52;c;QQ==\x07\x07",
    "a sequence that is cut off": "\x1b[\x1b]52;c;QQ==\x07",
    "another character in a sequence": "\x1b[2é1t",
    "bytes that are not UTF-8": b"\xd0\x1b]52;c;QQ==\x07\x9d52;c;QQ==\x07\xc2",
}
HARMFUL = re.compile(
    r"\x1b(\]([^0-9]|0*(50|52|5522|1337)[;\x07\x1b])|[P_^X]|%|\[[\x00-\x1f]*2[\x00-\x1f]*[01][^a-zA-Z]*t)|[\x80-\x9f]"
)


def _passed(*written: bytes) -> str:
    one = EscapeFilter()
    return b"".join(map(one.feed, written)).decode()


@pytest.mark.parametrize("what", PASSES)
def test_what_programs_draw_with_passes(what: str) -> None:
    assert _passed(PASSES[what].encode()) == PASSES[what]


@pytest.mark.parametrize("what", DROPPED)
def test_what_acts_beyond_the_screen_is_dropped(what: str) -> None:
    passed = _passed(f"before{DROPPED[what]}after".encode())
    assert passed.startswith("before")
    assert passed.endswith("after")
    assert "\x1b" not in passed
    assert not HARMFUL.search(passed)


@pytest.mark.parametrize("what", WITHIN)
def test_nothing_gets_through_within_something_else(what: str) -> None:
    text = WITHIN[what]
    passed = _passed(text if isinstance(text, bytes) else text.encode(), b"after")
    assert not HARMFUL.search(passed), passed
    assert passed.endswith("after")


PIECES = [*PASSES.values(), *DROPPED.values(), *(one for one in WITHIN.values() if isinstance(one, str))]
PIECES += ["\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x07", "\x18", "\x9c", "2", "1", "t", ";", "52", "ESC"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8), st.lists(st.integers(0, 200), max_size=6))
def test_it_does_not_matter_in_which_parts_it_is_written(pieces: list[str], cuts: list[int]) -> None:
    written = "".join(pieces).encode("utf-8", "replace")
    places = sorted({0, *(cut % (len(written) + 1) for cut in cuts), len(written)})
    parts = [written[start:end] for start, end in pairwise(places)]
    assert _passed(*parts) == _passed(written)
    assert not HARMFUL.search(_passed(written))


def test_a_string_without_an_end_takes_no_memory() -> None:
    one = EscapeFilter()
    one.feed(b"\x1b]0;")
    for _ in range(100):
        assert one.feed(b"x" * 10_000) == b""
    assert len(one._rest) < 100_000
    assert one.feed(b"\x07\x1b\\after") == b"after"


@pytest.mark.parametrize(
    ("written", "undone"),
    [
        ("\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?2004h", "\x1b[?2004l\x1b[?1006l\x1b[?1000l\x1b[?25h\x1b[?1049l"),
        ("\x1b[?1049h\x1b[?1049l\x1b[?25l\x1b[?25h\x1b[?7h\x1b[?4711h", ""),
        ("\x1b[>1u\x1b[>5u\x1b[<u", "\x1b[<1u"),
        ("\x1b[>4;2m\x1b=\x1b[6 q\x1b[1;31m", "\x1b[>4m\x1b>\x1b[0 q\x1b[0m"),
        ("\x1b[>4;2m\x1b[>4;0m\x1b[1m\x1b[m\x1b=\x1b>", ""),
    ],
)
def test_what_a_program_left_changed_is_undone(written: str, undone: str) -> None:
    one = EscapeFilter()
    assert one.feed(written.encode()).decode() == written
    assert one.restoring().decode() == undone
