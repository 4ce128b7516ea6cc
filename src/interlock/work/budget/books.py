"""PURE. What one loop or run has used: counted by task and by day, and reserved before it is known."""

from __future__ import annotations

import msgspec

from interlock.work.budget.amounts import NOTHING, Amount, likely

__all__ = ["Books"]


class Books(msgspec.Struct):
    """What a loop has used. A run is reserved before it begins; where it is never settled, the reserve is what it cost.

    So a driver that dies with its agent does not get that run for nothing, and pays for it once.
    """

    iterations: dict[str, int] = msgspec.field(default_factory=dict)
    """How many iterations were begun on a day."""
    _runs: int = 0
    _total: Amount = NOTHING
    _by_task: dict[str, Amount] = msgspec.field(default_factory=dict)
    _by_day: dict[str, Amount] = msgspec.field(default_factory=dict)
    _open: tuple[str, str, Amount] | None = None
    """The run that was reserved and not settled: its task, its day, and what was reserved."""

    def copy(self) -> Books:
        """The same, to be changed without changing this one."""
        kept = (self.iterations.copy(), self._runs, self._total, self._by_task.copy(), self._by_day.copy(), self._open)
        return Books(*kept)

    def reserve(self, task: str, day: str, most: Amount) -> None:
        """A run is about to begin. One that is still open has died, and what was reserved for it is used."""
        if self._open is not None:
            self._charge(*self._open)
        self._open = (task, day, most)

    def settle(self, task: str, day: str, spent: Amount) -> None:
        """The run has ended: what it used takes the place of what was reserved."""
        self._open = None
        self._runs += 1
        self._charge(task, day, spent)

    def begin(self, day: str) -> None:
        """An iteration begins."""
        self.iterations[day] = self.iterations.get(day, 0) + 1

    def carry(self, day: str, spent: Amount, iterations: int) -> None:
        """What loops before this one used on the day that it began."""
        self._by_day[day] = spent
        self.iterations[day] = iterations

    def total(self) -> Amount:
        return self._total + self._reserved()

    def of_task(self, task: str) -> Amount:
        return self._by_task.get(task, NOTHING) + self._reserved(task=task)

    def of_day(self, day: str) -> Amount:
        """What was used on a day, by earlier loops of that day, too."""
        return self._by_day.get(day, NOTHING) + self._reserved(day=day)

    def likely(self) -> Amount:
        """What the next run may use: see `amounts.likely`."""
        return likely(self._total, self._runs)

    def _reserved(self, task: str | None = None, day: str | None = None) -> Amount:
        if self._open is None:
            return NOTHING
        of, on, most = self._open
        return most if task in (None, of) and day in (None, on) else NOTHING

    def _charge(self, task: str, day: str, spent: Amount) -> None:
        self._total += spent
        self._by_task[task] = self._by_task.get(task, NOTHING) + spent
        self._by_day[day] = self._by_day.get(day, NOTHING) + spent
