"""PURE. Two texts side by side, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final

import msgspec

from interlock.world.characters import marked

__all__ = ["LinePair", "side_by_side"]

_AROUND: Final = 3
_MOST: Final = 4000
"""More lines are compared by position: what follows would take a time that grows with the square."""


class LinePair(msgspec.Struct, frozen=True):
    """A line of each text, or of one of them; where both numbers are missing, lines that are the same are left out."""

    kind: str
    """`same`, `changed`, `removed`, `added` or `gap`."""
    left: str = ""
    right: str = ""
    left_number: int | None = None
    right_number: int | None = None
    skipped: int = 0


def side_by_side(left: str, right: str) -> list[LinePair]:
    """What of two texts is the same and what differs, with some lines around each difference."""
    one, other = marked(left).splitlines(), marked(right).splitlines()
    if one == other:
        return [LinePair("same", text, text, number, number) for number, text in enumerate(one, 1)]
    pairs = list(_pairs(one, other))
    return list(_shortened(pairs))


def _pairs(one: Sequence[str], other: Sequence[str]) -> Iterator[LinePair]:
    if max(len(one), len(other)) > _MOST:
        yield from _block(one, other, 0, 0)
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (
                LinePair("same", one[i], other[j], i + 1, j + 1)
                for i, j in zip(range(i1, i2), range(j1, j2), strict=True)
            )
        else:
            yield from _block(one[i1:i2], other[j1:j2], i1, j1)


def _block(removed: Sequence[str], added: Sequence[str], before: int, beside: int) -> Iterator[LinePair]:
    """Lines that took the place of others, each beside the one that it replaces."""
    for place, (old, new) in enumerate(zip_longest(removed, added), 1):
        if old is not None and new is not None:
            kind = "same" if old == new else "changed"
            yield LinePair(kind, old, new, before + place, beside + place)
        elif old is not None:
            yield LinePair("removed", old, "", before + place, None)
        else:
            yield LinePair("added", "", new or "", None, beside + place)


def _shortened(pairs: Sequence[LinePair]) -> Iterator[LinePair]:
    """The same without the long stretches in which nothing differs."""
    near: set[int] = set()
    for place, pair in enumerate(pairs):
        if pair.kind != "same":
            near.update(range(place - _AROUND, place + _AROUND + 1))
    skipped = 0
    for place, pair in enumerate(pairs):
        if place in near:
            if skipped:
                yield LinePair("gap", skipped=skipped)
            skipped = 0
            yield pair
        else:
            skipped += 1
    if skipped:
        yield LinePair("gap", skipped=skipped)
