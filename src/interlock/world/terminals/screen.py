"""A person's terminal that another program draws on: raw meanwhile, and as it was before, whatever happens."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["copy_size", "open_terminal", "opened_again", "raw"]

_SIZE = struct.Struct("HHHH")


@contextmanager
def raw(terminal: int, restoring: Callable[[], bytes]) -> Iterator[None]:
    """Have each key of a terminal as bytes, also Ctrl+C and Ctrl+Z.

    Afterwards what `restoring` gives is written, and what was typed or answered meanwhile is thrown away: it was for
    the program, and would be read by the person's shell.
    """
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal, termios.TCSANOW)
        yield
    finally:
        with suppress(OSError, termios.error):  # it may be gone; nothing here waits for it
            if select.select([], [terminal], [], 0)[1]:
                os.write(terminal, restoring())
            termios.tcsetattr(terminal, termios.TCSANOW, before)
            termios.tcflush(terminal, termios.TCIFLUSH)


@contextmanager
def opened_again(terminal: int) -> Iterator[int]:
    """Give a descriptor to write to a terminal without waiting for it; the person's own stays as it is.

    It is shared with their shell. Where the terminal cannot be opened, it is the person's own.
    """
    try:
        number = os.open(os.ttyname(terminal), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        yield terminal
        return
    try:
        yield number
    finally:
        os.close(number)


def open_terminal(like: int) -> tuple[int, int]:
    """Make a terminal of the size and the settings of another; gives our end and the program's."""
    ours, theirs = os.openpty()
    termios.tcsetattr(theirs, termios.TCSANOW, termios.tcgetattr(like))
    copy_size(like, ours)
    os.set_blocking(ours, False)
    return ours, theirs


def copy_size(source: int, target: int) -> None:
    """Give a terminal the size of another; whoever runs on it is told by a signal."""
    with suppress(OSError):
        size = fcntl.ioctl(source, termios.TIOCGWINSZ, _SIZE.pack(0, 0, 0, 0))
        fcntl.ioctl(target, termios.TIOCSWINSZ, size)
