"""PURE. What runs of agents have used: counted a task, a loop and a day, and reserved before it is known."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

__all__ = ["Books", "Spent"]


class Spent(msgspec.Struct, frozen=True):
    """Time, tokens and money."""

    seconds: float = 0.0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.seconds + other.seconds, self.tokens + other.tokens, self.usd + other.usd)


_NOTHING = Spent()


@dataclass(slots=True)
class Books:
    """What a loop has used. A run is reserved before it begins; where it is never settled, the reserve is what it cost.

    So a driver that dies with its agent does not get that run for nothing, and pays for it once.
    """

    iterations: dict[str, int] = field(default_factory=dict)
    """How many iterations were begun on a day."""
    _runs: int = 0
    _total: Spent = _NOTHING
    _by_task: dict[str, Spent] = field(default_factory=dict)
    _by_day: dict[str, Spent] = field(default_factory=dict)
    _open: tuple[str, str, Spent] | None = None
    """The run that was reserved and not settled: its task, its day, and what was reserved."""

    def copy(self) -> Books:
        """The same, to be changed without changing this one."""
        kept = (self.iterations.copy(), self._runs, self._total, self._by_task.copy(), self._by_day.copy(), self._open)
        return Books(*kept)

    def reserve(self, task: str, day: str, likely: Spent) -> None:
        """A run is about to begin. One that is still open has died, and what was reserved for it is used."""
        if self._open is not None:
            self._charge(*self._open)
        self._open = (task, day, likely)

    def settle(self, task: str, day: str, spent: Spent) -> None:
        """The run has ended: what it used takes the place of what was reserved."""
        self._open = None
        self._runs += 1
        self._charge(task, day, spent)

    def begin(self, day: str) -> None:
        """An iteration begins."""
        self.iterations[day] = self.iterations.get(day, 0) + 1

    def carry(self, day: str, spent: Spent, iterations: int) -> None:
        """What loops before this one used on the day that it began."""
        self._by_day[day] = spent
        self.iterations[day] = iterations

    def total(self) -> Spent:
        return self._total + self._reserved()

    def of_task(self, task: str) -> Spent:
        return self._by_task.get(task, _NOTHING) + self._reserved(task=task)

    def of_day(self, day: str) -> Spent:
        """What was used on a day, by earlier loops of that day, too."""
        return self._by_day.get(day, _NOTHING) + self._reserved(day=day)

    def likely(self) -> Spent:
        """What the next run may use: what the others did on the average, and nothing where there were none."""
        if not self._runs:
            return _NOTHING
        total = self._total
        return Spent(total.seconds / self._runs, round(total.tokens / self._runs), total.usd / self._runs)

    def _reserved(self, task: str | None = None, day: str | None = None) -> Spent:
        if self._open is None:
            return _NOTHING
        of, on, likely = self._open
        return likely if task in (None, of) and day in (None, on) else _NOTHING

    def _charge(self, task: str, day: str, spent: Spent) -> None:
        self._total += spent
        self._by_task[task] = self._by_task.get(task, _NOTHING) + spent
        self._by_day[day] = self._by_day.get(day, _NOTHING) + spent
