"""Characters that a reader does not see."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.world.characters import decoded, is_hidden, marked

HIDDEN = (
    "\u3164\u2800\ufe0f\U000e0100\u115f\u1160\uffa0\u034f\u17b4\u180b\u180e\u200b\u200d\u00ad\u061c\u202e\u2066\u2069"
    "\u200e\u2028\u2029\u00a0\u3000\u2003\ufeff\U000e0041\U0001d159\ufffc\x00\x1b\r\x0b\x0c\x85\x7f\ud800\ue000"
)


@pytest.mark.parametrize("one", HIDDEN, ids=lambda one: f"{ord(one):04X}")
def test_what_is_not_seen_is_marked(one: str) -> None:
    assert marked(f"a{one}b\n\tc") == f"a⟦U+{ord(one):04X}⟧b\n\tc"


def test_what_people_write_is_left_alone() -> None:
    text = "Größe → ✓ 日本語 emoji 🙂 עברית العربية ไทย\n\tindented"
    assert marked(text) == text
    assert marked(text, keep="") == text.replace("\n", "⟦U+000A⟧").replace("\t", "⟦U+0009⟧")


def test_all_that_unicode_lets_a_renderer_ignore_is_hidden() -> None:
    """Every format, control, private and unassigned character, every space but one, and every selector of variants."""
    named = ("VARIATION SELECTOR", "FILLER", "BLANK")
    for one in map(chr, range(0x110000)):
        kind, name = unicodedata.category(one), unicodedata.name(one, "")
        if kind[0] == "C" or (kind[0] == "Z" and one != " ") or (kind in ("Mn", "Lo") and name.endswith(named)):
            assert is_hidden(one), f"{ord(one):04X} {name}"
        if name.startswith(("VARIATION SELECTOR", "MONGOLIAN FREE VARIATION")):
            assert is_hidden(one), f"{ord(one):04X} {name}"


@given(st.text())
def test_what_is_marked_is_all_seen_and_stays_as_it_is(text: str) -> None:
    shown = marked(text)
    assert not [one for one in shown if one not in "\n\t" and is_hidden(one)]
    assert marked(shown) == shown


@given(st.binary())
def test_every_byte_of_a_text_is_there(content: bytes) -> None:
    text = decoded(content)
    assert text.encode() == content or "⟦0x" in text
