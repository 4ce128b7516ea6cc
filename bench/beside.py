"""A driver's steps, each with the same agents and tests alone at its side: others use this machine, too."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterator

import msgspec

from bench.timing import Comparison, alone, at_most, compare

__all__ = ["SAMPLE", "WARM_UP", "Laps", "Times", "compared"]

WARM_UP = 3
SAMPLE = 30
"""So many steps at the beginning are measured, and so many at the end."""


class Times(msgspec.Struct):
    """Milliseconds an iteration took here, and right after it the same agent and tests alone."""

    ours: list[float] = msgspec.field(default_factory=list)
    bare: list[float] = msgspec.field(default_factory=list)
    busy: list[float] = msgspec.field(default_factory=list)
    """The same of the processor, for the driver and all that it starts: others have less of a say in that."""

    def first(self, most: int) -> Times:
        return Times(self.ours[:most], self.bare[:most], self.busy[:most])

    def last(self, most: int) -> Times:
        return Times(self.ours[-most:], self.bare[-most:], self.busy[-most:])


class Laps(msgspec.Struct):
    """The steps of a driver, timed from the beginning of one to that of the next, with a bare one after each."""

    steps: int
    bare: Callable[[], float]
    """Does what a step's agents and tests do, alone; how many milliseconds that took."""
    times: Times = msgspec.field(default_factory=Times)
    _begun: int = 0
    _at: float = 0.0
    _busy: float = 0.0

    def begin(self) -> None:
        """A step begins, and with it ends the one before."""
        is_wanted = self._begun <= WARM_UP + SAMPLE or self._begun > self.steps - SAMPLE
        if self._begun > WARM_UP and is_wanted:
            self.times.ours.append((time.perf_counter() - self._at) * 1000)
            self.times.busy.append((_used() - self._busy) * 1000)
            self.times.bare.append(self.bare())
        self._begun += 1
        self._at, self._busy = time.perf_counter(), _used()


def compared(subject: str, times: Times, aim: float) -> Iterator[Comparison]:
    """A step with the same agents and tests alone, and what it costs beyond them, in milliseconds."""
    yield compare(subject, "the same agents and tests, bare", times.ours, times.bare, unit=" ms")
    beyond = statistics.median(ours - bare for ours, bare in zip(times.ours, times.bare, strict=True))
    note = f"{statistics.median(times.busy):.0f} ms of CPU in all"
    yield alone(f"{subject}: beyond its agents", beyond, " ms", aim=at_most(aim), note=note)


def _used() -> float:
    """Seconds of the processor that this process and those that it has waited for have used."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)
