"""Bytes into lines and pieces into messages, with bounded memory: what is too long is cut, its rest passed over."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.world.agents.happenings import Said

__all__ = ["LONGEST", "Lines", "MessageBuffer"]

LONGEST = 1024 * 1024
"""How many bytes of a line are read."""


class Lines:
    """The lines of one stream, whatever pieces it comes in."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._passing_over = False
        self.cut = 0
        """How many lines were cut."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Every line that these bytes complete, without its end; a cut one as soon as it is too long."""
        *whole, last = data.split(b"\n")
        for part in whole:
            yield from self._add(part)
            if not self._passing_over:
                yield self._take()
            self._passing_over = False
        yield from self._add(last)

    def end(self) -> Iterator[bytes]:
        """The last line, where it has no end."""
        if self._rest:
            yield self._take()

    def _add(self, part: bytes) -> Iterator[bytes]:
        if self._passing_over:
            return
        self._rest += part
        if len(self._rest) > self._longest:
            del self._rest[self._longest :]
            self._passing_over = True
            self.cut += 1
            yield self._take()

    def _take(self) -> bytes:
        line = bytes(self._rest)
        self._rest.clear()
        return line.removesuffix(b"\r")


class MessageBuffer:
    """The pieces of a message that ends where something else begins; one that is too long is told in parts."""

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
