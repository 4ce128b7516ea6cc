"""A driver in a process of its own, which dies at the n-th write of its journal.

    python -m work.stories.mortal DIRECTORY OPTIONS

Options are JSON: `agent`, `judge` (scripts), `tests`, and `dies`, a pair of a number and "before" or "after". It prints
what it is told, then how often it wrote.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from interlock.journal.journal import Journal
from interlock.journal.sqlite import SqliteStore
from interlock.work.stories.loop import begin, drive
from interlock.world.agents.happenings import Said
from interlock.world.agents.scripted.adapter import Scripted
from interlock.world.memory import EmbeddedMemory, MemoryEvent
from work.stories.yards import Ground

if TYPE_CHECKING:
    from interlock.journal.store import Sql

__all__ = ["DIED", "FileMemory", "MortalStore"]

DIED = 86
Result = TypeVar("Result")


class MortalStore(SqliteStore):
    """A store whose process dies right before or right after one of its writes, as if it were pulled from the wall."""

    def __init__(self, path: Path, now: Callable[[], int], dies: tuple[int, str] | None) -> None:
        super().__init__(path, now)
        self.dies = dies
        self.writes = 0

    def write(self, work: Callable[[Sql], Result], *, decides_first: bool = False) -> Result:
        if self.dies == (self.writes, "before"):
            os._exit(DIED)
        result = super().write(work, decides_first=decides_first)
        if self.dies == (self.writes, "after"):
            os._exit(DIED)
        self.writes += 1
        return result


class FileMemory(EmbeddedMemory):
    """A memory that outlives its driver: one line an event, once by its id, as a server keeps it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def lines(self) -> list[list[str]]:
        return [json.loads(line) for line in self._path.read_text().splitlines()] if self._path.exists() else []

    def remember(self, event: MemoryEvent) -> str:
        if event.id not in [one[0] for one in self.lines()]:
            with self._path.open("a") as file:
                file.write(json.dumps([event.id, event.type, event.story, event.task]) + "\n")
        return event.id


def main(directory: Path, options: dict[str, Any]) -> None:
    ground = Ground(directory, uses_clock=False)
    dies = options["dies"]
    (ground.root / ".ralf").mkdir(exist_ok=True)
    store = MortalStore(ground.root / ".ralf" / "journal.db", time.time_ns, dies and (dies[0], dies[1]))

    def tell(happening: object) -> None:
        if isinstance(happening, Said | str):
            _say(happening.text if isinstance(happening, Said) else happening)

    ground.hear = tell
    yard = ground.yard(
        Journal(store),
        agents=[Scripted(Path(options["agent"]), "implementer")],
        judge=Scripted(Path(options["judge"]), "judge"),
        tests=tuple(options["tests"]),
        memory=FileMemory(directory / "memory"),
    )
    drive(yard, begin(yard))
    _say(store.writes)


def _say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
