"""A scheduler in place of the world: drivers run one at a time, and may change places before every effect."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import asdict

from interlock.work.driver.ports import Ports, real_ports
from interlock.world.folder import Folder
from patience import SECONDS

__all__ = ["Scheduler"]


class Scheduler:
    """Lets one driver run at a time; before an effect, the next one to run is drawn."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._turn = threading.Condition()
        self._waiting: set[str] = set()
        self._running: str | None = None
        self._alive: set[str] = set()
        self.effects: list[tuple[str, str]] = []
        """Every effect, with the driver that asked for it."""

    def run(self, drivers: dict[str, Callable[[Ports], object]]) -> dict[str, object]:
        """Run drivers to their ends; what each returned or raised."""
        results: dict[str, object] = {}

        def lead(name: str) -> None:
            self._wait(name)
            try:
                results[name] = drivers[name](self.ports(name))
            except Exception as error:  # the caller looks at it
                results[name] = error
            finally:
                self._end(name)

        self._alive = set(drivers)
        threads = [threading.Thread(target=lead, args=(name,), daemon=True) for name in drivers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert set(results) == set(drivers), f"not at their end: {set(drivers) - set(results)}, {self.effects[-5:]}"
        return results

    def ports(self, name: str) -> Ports:
        """The world as one driver sees it."""
        real: dict[str, Any] = asdict(real_ports())
        beside = ("holder", "monotonic", "start_thread", "is_present")  # what a heartbeat uses while others run
        scheduled: dict[str, Any] = {
            key: value if key in beside else _scheduled(self, name, key, value) for key, value in real.items()
        }
        return Ports(**scheduled)

    def effect(self, name: str, what: str) -> None:
        """Another driver may run now, before this effect."""
        self.effects.append((name, what))
        with self._turn:
            self._running = None
            self._turn.notify_all()
        self._wait(name)

    def _wait(self, name: str) -> None:
        with self._turn:
            self._waiting.add(name)
            self._draw()
            assert self._turn.wait_for(lambda: self._running == name, SECONDS)

    def _draw(self) -> None:
        is_complete = self._waiting >= self._alive  # all that live are about to do something
        if self._running is None and self._waiting and is_complete:
            self._running = self._random.choice(sorted(self._waiting))
            self._waiting.discard(self._running)
            self._turn.notify_all()

    def _end(self, name: str) -> None:
        with self._turn:
            self._alive.discard(name)
            self._running = None
            self._draw()


def _before(scheduler: Scheduler, name: str, what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        scheduler.effect(name, what)
        found = function(*given, **named)
        return _Port(scheduler, name, what, found) if isinstance(found, Folder) else found

    return call


def _scheduled(scheduler: Scheduler, name: str, what: str, real: Any) -> Any:
    return _before(scheduler, name, what, real) if callable(real) else _Port(scheduler, name, what, real)


class _Port:
    """A module or a folder of the world, whose functions are scheduled."""

    def __init__(self, scheduler: Scheduler, name: str, what: str, real: Any) -> None:
        self._given: Sequence[Any] = (scheduler, name, what, real)

    def __getattr__(self, attribute: str) -> Any:
        scheduler, name, what, real = self._given
        found = getattr(real, attribute)
        return _before(scheduler, name, f"{what}.{attribute}", found) if callable(found) else found
