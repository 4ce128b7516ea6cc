"""A message that comes in pieces, and ends where something else begins."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.world.agents.happenings import Said
from interlock.world.agents.lines import LONGEST

__all__ = ["MessageBuffer"]


class MessageBuffer:
    """The pieces of a message so far; one that is too long is told in parts."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def add(self, text: str) -> Iterator[Said]:
        self._pieces.append(text)
        self._size += len(text)
        if self._size > LONGEST:
            yield from self.end()

    def end(self) -> Iterator[Said]:
        """What was said, if anything was."""
        if said := "".join(self._pieces):
            yield Said(said)
        self._pieces.clear()
        self._size = 0
