"""A driver's steps, each with the same agents and tests alone at its side: others use this machine, too."""

from __future__ import annotations

import resource
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.timing import Comparison, alone, at_most, compare

__all__ = ["Times", "compared", "used"]


@dataclass(slots=True)
class Times:
    """Milliseconds an iteration took here, and right after it the same agent and tests alone."""

    ours: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    """The same of the processor, for the driver and all that it starts: others have less of a say in that."""

    def first(self, most: int) -> Times:
        return Times(self.ours[:most], self.bare[:most], self.busy[:most])

    def last(self, most: int) -> Times:
        return Times(self.ours[-most:], self.bare[-most:], self.busy[-most:])


def compared(subject: str, times: Times, aim: float) -> Iterator[Comparison]:
    """A step with the same agents and tests alone, and what it costs beyond them, in milliseconds."""
    yield compare(subject, "the same agents and tests, bare", times.ours, times.bare, unit=" ms")
    beyond = statistics.median(ours - bare for ours, bare in zip(times.ours, times.bare, strict=True))
    note = f"{statistics.median(times.busy):.0f} ms of CPU in all"
    yield alone(f"{subject}: beyond its agents", beyond, " ms", aim=at_most(aim), note=note)


def used() -> float:
    """Seconds of the processor that this process and those that it has waited for have used."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)
