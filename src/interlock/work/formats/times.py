"""PURE. Times: seconds since 1970, as a journal tells the time, and texts, as its entries keep it."""

from __future__ import annotations

from datetime import datetime

from interlock.journal.ids import time_text

__all__ = ["day_of", "milliseconds_of", "seconds_of", "text_of"]


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
