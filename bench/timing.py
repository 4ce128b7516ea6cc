"""Measuring on a machine that others use too: sides run by turns, and only their ratios are believed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

__all__ = [
    "Aim",
    "Comparison",
    "Effort",
    "Rates",
    "Side",
    "alone",
    "at_least",
    "at_most",
    "by_turns",
    "compare",
    "grown",
    "missing",
]

Side: TypeAlias = Callable[[], int]
"""Does some work and says how many operations that was."""
Rates: TypeAlias = "dict[str, list[float]]"
"""Operations per second of every side, one number for each round."""


class Effort(msgspec.Struct, frozen=True):
    """How long to measure."""

    rounds: int
    seconds: float
    """Of one side in one round."""
    launches: int
    """Of each command whose start-up is measured."""
    sizes: tuple[int, int, int]
    """Entries in the journals whose growth is measured."""


class Aim(msgspec.Struct, frozen=True):
    """What a ratio should be, or a figure that has none."""

    limit: float
    at_least: bool

    def met(self, figure: float) -> bool:
        return figure >= self.limit if self.at_least else figure <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"


def at_least(limit: float) -> Aim:
    return Aim(limit, at_least=True)


def at_most(limit: float) -> Aim:
    return Aim(limit, at_least=False)


class Comparison(msgspec.Struct, frozen=True):
    """One line of the report: what was compared with what, and what came of it."""

    subject: str
    against: str = ""
    unit: str = ""
    ours: float | None = None
    theirs: float | None = None
    ratio: float | None = None
    """The median of the ratios of all rounds."""
    spread: tuple[float, float] | None = None
    """The quartiles of those ratios: half of the rounds lie between them."""
    aim: Aim | None = None
    note: str = ""
    is_growth: bool = False
    """Whether it is compared with itself where there is less: the ratio says what growing costs."""
    part: str = ""
    """The benchmark that it belongs to."""

    @property
    def met(self) -> str:
        """Whether the aim was met: yes, no, or unclear where it lies within the spread; empty where nobody can say."""
        figure = self.ours if self.ratio is None else self.ratio
        if self.aim is None or figure is None:
            return ""
        low, high = map(self.aim.met, self.spread or (figure, figure))
        return "unclear" if low != high else "yes" if low else "no"


def by_turns(sides: Mapping[str, Side], rounds: int, seconds: float) -> Rates:
    """Run every side in every round, one after the other, after one round to warm up that is thrown away."""
    rates: Rates = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, side in sides.items():
            rate = _rate(side, seconds)
            if number:
                rates[name].append(rate)
    return rates


def _rate(side: Side, seconds: float) -> float:
    done, began = 0, time.perf_counter()
    while True:
        done += side()
        elapsed = time.perf_counter() - began
        if elapsed >= seconds:
            return done / elapsed


def compare(
    subject: str,
    against: str,
    ours: list[float],
    theirs: list[float],
    *,
    unit: str = "/s",
    aim: Aim | None = None,
    note: str = "",
) -> Comparison:
    """Ours against theirs, round by round."""
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    medians = statistics.median(ours), statistics.median(theirs)
    return Comparison(subject, against, unit, *medians, middle, (low, high), aim, note)


def grown(
    subject: str,
    before: str,
    much: list[float],
    little: list[float],
    *,
    unit: str = "/s",
    aim: Aim | None = None,
    note: str = "",
) -> Comparison:
    """The same where there is much against where there is little, round by round."""
    return replace(compare(subject, before, much, little, unit=unit, aim=aim, note=note), is_growth=True)


def alone(subject: str, figure: float, unit: str, *, aim: Aim | None = None, note: str = "") -> Comparison:
    """A figure that is compared with nothing but its aim."""
    return Comparison(subject, unit=unit, ours=figure, aim=aim, note=note)


def missing(subject: str, against: str, why: str, aim: Aim | None = None) -> Comparison:
    """A line for what could not be measured."""
    return Comparison(subject, against, aim=aim, note=why)
