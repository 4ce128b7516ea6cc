"""Bytes passed on between the streams of a person and those of a process, which so has none of theirs itself.

A descriptor of the person's would be more than it looks: through /proc a process can open what is behind one again,
to write what it was given to read.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from interlock.world.terminals.escapes import EscapeFilter

__all__ = ["Flow", "relay"]

_CHUNK: Final = 4096
"""What a pipe or terminal takes without blocking once it takes anything."""
_MOST: Final = 1 << 16
_POLL: Final = 0.2
_DRAIN: Final = 0.5
"""Seconds of silence after a process has ended, until nothing more is expected of those that it started."""


class Flow:
    """One direction: what is read from one descriptor is written to another."""

    def __init__(
        self,
        source: int,
        target: int,
        *,
        escapes: EscapeFilter | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        """`close` is called at the end: it closes our end of a pipe, so that the process notices."""
        self.source = source
        self.target = target
        self.waiting = b""
        self.reads = True
        self.close = close
        self._escapes = escapes

    @property
    def is_over(self) -> bool:
        """True if nothing will be written any more."""
        return not self.reads and not self.waiting

    @property
    def has_room(self) -> bool:
        return self.reads and len(self.waiting) < _MOST

    def read(self) -> None:
        """Read what there is; at the end of it, read no more."""
        try:
            data = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # a terminal says so when its other end is closed
            data = b""
        if not data:
            self.reads = False
            self._close()
            return
        self.waiting += data if self._escapes is None else self._escapes.feed(data)

    def write(self) -> None:
        """Write what is taken; where nobody reads it any more, read no more either."""
        try:
            written = os.write(self.target, self.waiting[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            self.reads, self.waiting = False, b""
            self._close()
            return
        self.waiting = self.waiting[written:]
        self._close()

    def _close(self) -> None:
        if self.is_over and self.close is not None:
            with suppress(OSError):
                self.close()


def relay(inward: Flow, outward: Sequence[Flow], look: Callable[[], bool], wakes: Sequence[int] = ()) -> None:
    """Pass bytes on until `look` says that the process has ended, and all that it wrote has arrived.

    `look` is called several times a second, and when one of the descriptors `wakes` can be read. What comes from the
    person does not hold up the end.
    """
    heard: float | None = None
    while True:
        has_ended = look()
        if has_ended:
            now = time.monotonic()
            heard = now if heard is None else heard
            is_silent = now - heard > _DRAIN and not any(one.waiting for one in outward)
            if is_silent or all(one.is_over for one in outward):
                return
        flows = [*outward] if has_ended else [inward, *outward]
        reads = {one.source: one for one in flows if one.has_room}
        writes = {one.target: one for one in flows if one.waiting}
        others = () if has_ended else wakes
        readable, writable, _ = select.select([*reads, *others], list(writes), [], _POLL)
        for number in readable:
            if number in reads:
                reads[number].read()
                heard = time.monotonic() if has_ended else None
        for number in writable:
            writes[number].write()
