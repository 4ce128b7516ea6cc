"""A driver in a process of its own, which is killed at the n-th moment at which it would change the world.

    python -m work.stories.mortal DIRECTORY OPTIONS

Options are JSON: `agent`, `judge` (scripts), `tests`, and `dies`, the number of the moment or null. It prints what it
is told, then every moment that it lived through, a line each.

What a moment is, `mortality` says; the memory's file is one of the place.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from interlock.journal.journal import Journal
from interlock.work.stories.loop import begin, drive
from interlock.world.agents.happenings import Said
from interlock.world.agents.scripted.adapter import Scripted
from interlock.world.memory import EmbeddedMemory, MemoryEvent
from mortality import LIVED, Fate, MortalStore, say, watch
from work.stories.yards import Ground

__all__ = ["FileMemory"]


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
    fate = Fate(directory, options["dies"])
    (ground.root / ".ralf").mkdir(exist_ok=True)
    store = MortalStore(ground.root / ".ralf" / "journal.db", time.time_ns, fate)

    def tell(happening: object) -> None:
        if isinstance(happening, Said | str):
            say(happening.text if isinstance(happening, Said) else happening)

    ground.hear = tell
    context = ground.context(
        Journal(store),
        agents=[Scripted(Path(options["agent"]), "implementer")],
        judge=Scripted(Path(options["judge"]), "judge"),
        tests=tuple(options["tests"]),
        memory=FileMemory(directory / "memory"),
    )
    watch(fate)
    drive(context, begin(context))
    for moment in fate.lived:
        say(f"{LIVED}{moment}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
