"""Bytes into lines, with bounded memory: a line that is too long is cut, and its rest is passed over."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["LONGEST", "Lines"]

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
