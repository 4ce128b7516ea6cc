"""PURE. Times: seconds since 1970, as a journal tells the time, and texts, as its entries keep it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from interlock.journal.ids import time_text

__all__ = ["FILE_CLOCK_LAG", "day_of", "milliseconds_of", "seconds_of", "text_of"]

FILE_CLOCK_LAG: Final = 0.05
"""Seconds that the time of a file may lie before that of an entry which was written earlier.

The kernel's clock for files ticks: usually every 4 to 10 ms, later on a busy machine.
"""


def text_of(seconds: float) -> str:
    """A time as the journal writes it."""
    return time_text(int(seconds * 1e9))


def day_of(seconds: float) -> str:
    """The day (UTC) of a time."""
    return text_of(seconds)[:10]


def seconds_of(text: str) -> float:
    """A time of an entry, in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def milliseconds_of(text: str) -> int:
    """The same in whole milliseconds, as exact as entries are."""
    return round(seconds_of(text) * 1000)
