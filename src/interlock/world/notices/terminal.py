"""The terminal that controls this process: a bell, or a sequence that terminals show as a notification."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from interlock.world.characters import is_hidden
from interlock.world.notices.notice import DeliveryFailure, Notice

__all__ = ["Terminal"]

_SHOWN: Final = 200
_TERMINAL: Final = "/dev/tty"


def _line(text: str) -> str:
    """One line that can end no sequence and begin no part of it."""
    return "".join(" " if one == ";" or is_hidden(one) else one for one in text)[:_SHOWN]


_SEQUENCES: Final[Mapping[str, Callable[[Notice], str]]] = {
    "bell": lambda notice: "\a",
    "osc9": lambda notice: f"\x1b]9;{_line(f'{notice.title}: {notice.body}')}\x1b\\",
    "osc777": lambda notice: f"\x1b]777;notify;{_line(notice.title)};{_line(notice.body)}\x1b\\",
}
"""How a terminal is told: by the names of the setting."""


class Terminal(msgspec.Struct, frozen=True):
    """The controlling terminal, where there is one."""

    sequence: str
    path: str = _TERMINAL
    name: str = "terminal"

    @property
    def is_here(self) -> bool:
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    def send(self, notice: Notice) -> DeliveryFailure | None:
        said = _SEQUENCES[self.sequence](notice).encode()
        # A process in the background would be stopped for writing, where the terminal is set so.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
            try:
                written = os.write(file, said)
            finally:
                os.close(file)
        except OSError as error:
            return DeliveryFailure(f"the terminal cannot be written to: {error.strerror}")
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return None if written == len(said) else DeliveryFailure("the terminal took only a part of it")
