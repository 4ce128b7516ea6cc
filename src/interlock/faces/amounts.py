"""Times and numbers in few words, the same in a terminal and on a page."""

from __future__ import annotations

__all__ = ["count_text", "span_text"]

_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000


def span_text(milliseconds: float) -> str:
    """How long, in the units that say it best."""
    whole = int(milliseconds)
    if whole < 10 * _SECOND:
        return f"{whole / _SECOND:.1f} s"
    if whole < 2 * _MINUTE:
        return f"{whole // _SECOND} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def count_text(number: float) -> str:
    """A large number, short."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.{0 if number >= 10 * size else 1}f} {unit}"
    return f"{number:.0f}"
