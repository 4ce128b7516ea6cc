"""Ctrl+C while something runs: counted and told, so that what runs can end well."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["interruptible"]


@contextmanager
def interruptible(
    press: Callable[[], None], tell: Callable[[int], None] = lambda presses: None, *, patience: int
) -> Iterator[None]:
    """Let Ctrl+C be pressed; so many times, and it interrupts as ever."""
    presses = 0

    def pressed(*_: object) -> None:
        nonlocal presses
        presses += 1
        if presses >= patience:
            raise KeyboardInterrupt
        press()
        tell(presses)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
