"""Small plots of block characters, and numbers beside them, as wide as they are asked to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["bar", "count_text", "shares", "span_text", "sparkline"]

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_HEIGHTS: Final = "▁▂▃▄▅▆▇█"
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000


def bar(value: float, most: float, width: int) -> str:
    """A bar to the eighth of a character; what is there at all is seen."""
    if value <= 0 or most <= 0:
        return ""
    whole, eighths = divmod(max(1, round(min(1.0, value / most) * width * 8)), 8)
    return "█" * whole + _EIGHTHS[eighths].strip()


def shares(values: Sequence[int], width: int) -> list[int]:
    """How many of `width` characters each value gets: all are used, and what is there at all gets one."""
    whole, there = sum(values), sum(value > 0 for value in values)
    if not whole:
        return [0] * len(values)
    given = [1 + value * (width - there) // whole if value else 0 for value in values]
    given[values.index(max(values))] += width - sum(given)
    return given


def sparkline(values: Sequence[float], width: int) -> str:
    """The last of these values, one beside the other, each as high as it is beside the highest."""
    shown = values[-width:]
    most = max(shown, default=0)
    return "".join(_HEIGHTS[min(7, int(value * 8 / most)) if most > 0 else 0] for value in shown)


def span_text(milliseconds: int) -> str:
    """How long, in the units that say it best."""
    if milliseconds < 10 * _SECOND:
        return f"{milliseconds / _SECOND:.1f} s"
    if milliseconds < 2 * _MINUTE:
        return f"{milliseconds // _SECOND} s"
    if milliseconds < _HOUR:
        return f"{milliseconds // _MINUTE} min"
    if milliseconds < 2 * _DAY:
        return f"{milliseconds // _HOUR} h {milliseconds % _HOUR // _MINUTE:02d} min"
    return f"{milliseconds // _DAY} d {milliseconds % _DAY // _HOUR} h"


def count_text(number: int) -> str:
    """A large number, short."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.{0 if number >= 10 * size else 1}f} {unit}"
    return str(number)
