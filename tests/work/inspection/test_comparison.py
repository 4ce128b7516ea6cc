"""Two texts side by side: nothing is lost, and what is the same is told apart from what differs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interlock.work.inspection.comparison import side_by_side

_TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "  a"]), max_size=30).map("\n".join)


@given(_TEXTS, _TEXTS)
def test_every_line_that_differs_is_shown_with_its_number(left: str, right: str) -> None:
    pairs = side_by_side(left, right)
    one, other = left.splitlines(), right.splitlines()
    for pair in pairs:
        if pair.left_number is not None:
            assert one[pair.left_number - 1] == pair.left
        if pair.right_number is not None:
            assert other[pair.right_number - 1] == pair.right
        both = pair.left_number is not None and pair.right_number is not None
        assert (pair.kind == "same") == (both and pair.left == pair.right)
    same = sum(pair.kind == "same" for pair in pairs) + sum(pair.skipped for pair in pairs)
    lefts = sum(pair.kind in ("changed", "removed") for pair in pairs)
    rights = sum(pair.kind in ("changed", "added") for pair in pairs)
    assert (same + lefts, same + rights) == (len(one), len(other))


def test_long_stretches_that_are_the_same_are_left_out() -> None:
    lines = [str(number) for number in range(100)]
    pairs = side_by_side("\n".join(lines), "\n".join([*lines[:50], "new", *lines[50:]]))
    assert [(pair.kind, pair.skipped) for pair in pairs if pair.kind != "same"] == [
        ("gap", 47),
        ("added", 0),
        ("gap", 47),
    ]
    assert len(pairs) == 9


def test_texts_that_are_the_same_are_shown_whole() -> None:
    assert [pair.kind for pair in side_by_side("a\nb", "a\nb\n")] == ["same", "same"]


def test_very_long_texts_are_compared_all_the_same() -> None:
    pairs = side_by_side("a\n" * 100_000, "a\n" * 99_999 + "b\n")
    assert [pair.kind for pair in pairs] == ["gap", "same", "same", "same", "changed"]
