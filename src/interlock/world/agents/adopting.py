"""While agents run, whoever loses its parent below us becomes our child: nobody gets away by leaving its family.

A process that forks twice would else belong to the first process of the system, and nothing above it would tell that
an agent started it. Only Linux can do this; elsewhere nothing is changed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from interlock.world.agents.tree import everyone
from interlock.world.ancestry import DRIVER

__all__ = ["adopting"]

_SET_NAME, _GET_NAME, _SET_SUBREAPER = 15, 16, 36
"""What `prctl` calls them on Linux."""
_SECONDS = 2.0
_POLL = 0.01


@contextmanager
def adopting() -> Iterator[None]:
    """Be the parent of all that agents leave behind, under the name of a driver; at the end they are ended."""
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        yield
        return
    import ctypes

    control = ctypes.CDLL(None).prctl
    name = ctypes.create_string_buffer(16)
    control(_GET_NAME, name, 0, 0, 0)
    ours = set(_children())
    control(_SET_NAME, DRIVER.encode(), 0, 0, 0)
    control(_SET_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        _end(ours)
        control(_SET_SUBREAPER, 0, 0, 0, 0)
        control(_SET_NAME, name, 0, 0, 0)


def _end(spared: set[int]) -> None:
    """End the children that were not there before, and theirs, which become ours as they lose their parents."""
    deadline = time.monotonic() + _SECONDS
    while (left := set(_children()) - spared) and time.monotonic() < deadline:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_POLL)


def _children() -> list[int]:
    """The processes whose parent we are, those among them that have ended and were not asked about."""
    return [one.pid for one in everyone() if one.parent == os.getpid()]
