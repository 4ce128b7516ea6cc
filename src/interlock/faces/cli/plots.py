"""Small plots of block characters, as wide as they are asked to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["bar", "shares", "sparkline"]

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_HEIGHTS: Final = "▁▂▃▄▅▆▇█"


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
