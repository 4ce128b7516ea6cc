"""JSON as people write it: any value, with comments, trailing commas and white space of every kind."""

from __future__ import annotations

import json

from hypothesis import strategies as st

__all__ = ["VALUES", "written", "written_objects"]

_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff"), max_size=6)
_PLAIN = st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(-10, 10) | _WORDS
VALUES = st.recursive(
    _PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3), max_leaves=8
)
_BREAKS = ("\n", "\r\n", "\n\n", "\n  ", "\r\n\t", "\n      ")
_SPACES = st.sampled_from(["", "", " ", "  ", "\t", *_BREAKS])
_INNER = st.text(st.sampled_from('ab"{}[],: /'), max_size=5).map(lambda text: text.replace("*/", ""))
_LINE_COMMENTS = st.tuples(_INNER, st.sampled_from(_BREAKS)).map(lambda two: f"//{two[0]}{two[1]}")
_COMMENTS = _LINE_COMMENTS | _INNER.map(lambda text: f"/* {text} */") | st.just("/* two\nlines */")
_GAPS = st.lists(_SPACES | _SPACES | _SPACES | _COMMENTS, max_size=3).map("".join)


@st.composite
def written(draw: st.DrawFn, value: object) -> str:
    """One way to write a value."""
    if isinstance(value, dict):
        members = [
            f"{_string(draw, key)}{draw(_SPACES)}:{draw(_SPACES)}{draw(written(one))}" for key, one in value.items()
        ]
        return _container(draw, "{", members, "}")
    if isinstance(value, list):
        return _container(draw, "[", [draw(written(one)) for one in value], "]")
    return _string(draw, value) if isinstance(value, str) else json.dumps(value)


def _string(draw: st.DrawFn, text: str) -> str:
    return json.dumps(text, ensure_ascii=draw(st.booleans()))


def _container(draw: st.DrawFn, begin: str, items: list[str], end: str) -> str:
    spaced = [f"{draw(_GAPS)}{item}{draw(_GAPS)}" for item in items]
    is_trailed: bool = draw(st.booleans())
    trailing = f",{draw(_GAPS)}" if items and is_trailed else ""
    return begin + (",".join(spaced) if items else draw(_GAPS)) + trailing + end


@st.composite
def written_objects(draw: st.DrawFn) -> str:
    """A whole file that holds an object."""
    value = draw(st.dictionaries(_WORDS, VALUES, max_size=4))
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    return mark + draw(_GAPS) + draw(written(value)) + draw(_GAPS)
