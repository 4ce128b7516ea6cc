"""PURE. Two instances of one machine side by side: how long each was in which state, and where their ways part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest
from typing import Final

import msgspec

from interlock.journal import Entry
from interlock.work.formats.times import seconds_of

__all__ = ["StateDuration", "StepPair", "TimedEntry", "aligned", "stays"]

_TOLD: Final = ("actor_kind", "reason", "command", "off_path")
"""What may differ between two entries that are the same step."""


class TimedEntry(msgspec.Struct, frozen=True):
    """An entry, and how many seconds after the first one it was written."""

    entry: Entry
    after: float


class StepPair(msgspec.Struct, frozen=True):
    """What stands beside each other: the same step on both sides, another, or a step on one side only."""

    left: TimedEntry | None
    right: TimedEntry | None
    kind: str
    """`same`, `other`, `left` or `right`."""
    differs: tuple[str, ...] = ()
    """Of the same step: what is not the same about it."""


class StateDuration(msgspec.Struct, frozen=True):
    """A state, and how long and how often each was in it."""

    state: str
    seconds: tuple[float, float]
    visits: tuple[int, int]


def aligned(left: Sequence[Entry], right: Sequence[Entry]) -> list[StepPair]:
    """The entries of two instances, those that are the same step beside each other."""
    ours, theirs = _told(left), _told(right)
    matcher = SequenceMatcher(None, [_step(one) for one in left], [_step(one) for one in right], autojunk=False)
    found: list[StepPair] = []
    for tag, start, end, other, until in matcher.get_opcodes():
        for one, two in zip_longest(ours[start:end], theirs[other:until]):
            found.append(_pair(tag, one, two))
    return found


def _pair(tag: str, one: TimedEntry | None, two: TimedEntry | None) -> StepPair:
    if one is None or two is None:
        return StepPair(one, two, "right" if one is None else "left")
    if tag != "equal":
        return StepPair(one, two, "other")
    differs = tuple(name for name in _TOLD if getattr(one.entry, name) != getattr(two.entry, name))
    return StepPair(one, two, "same", differs)


def _step(entry: Entry) -> tuple[str, str]:
    return entry.event, entry.to_state


def _told(entries: Sequence[Entry]) -> list[TimedEntry]:
    return [TimedEntry(entry, _time(entry) - _time(entries[0])) for entry in entries]


def _time(entry: Entry) -> float:
    return seconds_of(entry.time)


def stays(left: Sequence[Entry], right: Sequence[Entry], until: tuple[float, float]) -> list[StateDuration]:
    """Every state that one of them was in; each is in its last one until a time."""
    both = [_spent(left, until[0]), _spent(right, until[1])]
    states = list(dict.fromkeys(state for side in both for state in side))
    found = []
    for state in states:
        (ours, our_visits), (theirs, their_visits) = (side.get(state, (0.0, 0)) for side in both)
        found.append(StateDuration(state, (ours, theirs), (our_visits, their_visits)))
    return found


def _spent(entries: Sequence[Entry], until: float) -> dict[str, tuple[float, int]]:
    found: dict[str, tuple[float, int]] = {}
    for state, seconds, is_new in _visits(entries, until):
        known, visits = found.get(state, (0.0, 0))
        found[state] = known + seconds, visits + is_new
    return found


def _visits(entries: Sequence[Entry], until: float) -> Iterator[tuple[str, float, bool]]:
    times = [*(_time(one) for one in entries), until]
    for entry, (since, then) in zip(entries, pairwise(times), strict=True):
        yield entry.to_state, max(0.0, then - since), entry.from_state != entry.to_state
