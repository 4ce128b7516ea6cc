"""PURE. Plots as numbers: where each column stands and how high it is; a template draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

__all__ = ["HEIGHT", "WIDTH", "ColumnPart", "Plot", "PlotRectangle", "plot_of"]

WIDTH: Final = 640
HEIGHT: Final = 170
_TOP: Final = 18.0
_FLOOR: Final = 140.0
_LEFT: Final = 4.0
_WIDEST: Final = 36.0
_SHARE: Final = 0.72
"""How much of its room a column takes."""


class ColumnPart(msgspec.Struct, frozen=True):
    """A part of a column: how much, and the class of its colour."""

    value: float
    kind: str
    name: str = ""


class PlotRectangle(msgspec.Struct, frozen=True):
    """A rectangle of a plot, and what it says."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    words: str


class Plot(msgspec.Struct, frozen=True):
    """A plot, and the same as a table."""

    title: str
    said: str
    """What it shows, for whoever does not see it."""
    pieces: tuple[PlotRectangle, ...]
    labels: tuple[tuple[float, str, str], ...]
    """Below the columns: where, what, and how it is anchored."""
    highest: str
    names: tuple[tuple[str, str], ...]
    """What the parts are called, each with its class; empty where there is only one."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def plot_of(
    title: str,
    days: Sequence[str],
    stacks: Sequence[Sequence[ColumnPart]],
    text: Callable[[float], str],
    most: float = 0.0,
) -> Plot:
    """A column for each day, of parts on each other; `text` says a value, `most` is what reaches the top at least."""
    sums = [sum(part.value for part in stack) for stack in stacks]
    top = max([most, *sums]) or 1.0
    room = (WIDTH - 2 * _LEFT) / max(1, len(days))
    names = tuple(dict.fromkeys((part.name, part.kind) for stack in stacks for part in stack)) or (("", ""),)
    pieces = tuple(
        piece
        for place, (day, stack) in enumerate(zip(days, stacks, strict=True))
        for piece in _column(_LEFT + (place + 0.5) * room, min(_WIDEST, room * _SHARE), day, stack, top, text)
    )
    return Plot(
        title=title,
        said=_said(days, sums, text),
        pieces=pieces,
        labels=tuple(_labels(days, room)),
        highest=text(top),
        names=names if len(names) > 1 else (),
        columns=("Day", *(name or title for name, _ in names)),
        rows=tuple(
            (day, *(_value(stack, name, text) for name, _ in names)) for day, stack in zip(days, stacks, strict=True)
        ),
    )


def _column(
    middle: float, width: float, day: str, stack: Sequence[ColumnPart], top: float, text: Callable[[float], str]
) -> list[PlotRectangle]:
    found, floor = [], _FLOOR
    for part in stack:
        if part.value > 0:
            height = max(1.0, part.value / top * (_FLOOR - _TOP))
            floor -= height
            words = f"{day}: {text(part.value)}{f' {part.name}' if part.name else ''}"
            place = (round(middle - width / 2, 1), round(floor, 1), round(width, 1), round(height, 1))
            found.append(PlotRectangle(*place, part.kind, words))
    return found


def _labels(days: Sequence[str], room: float) -> list[tuple[float, str, str]]:
    """The first and the last day, and the one in the middle where there is room for it."""
    last = len(days) - 1
    if last < 0:
        return []
    if last == 0:
        return [(round(_LEFT + 0.5 * room, 1), days[0], "middle")]
    found = [(_LEFT, days[0], "start"), (WIDTH - _LEFT, days[last], "end")]
    if last >= 4:
        found.append((round(_LEFT + (last // 2 + 0.5) * room, 1), days[last // 2], "middle"))
    return found


def _said(days: Sequence[str], sums: Sequence[float], text: Callable[[float], str]) -> str:
    if not days:
        return "There is nothing to show."
    most = max(range(len(days)), key=lambda place: sums[place])
    return (
        f"From {days[0]} to {days[-1]}. The highest is {text(sums[most])} on {days[most]}, the last {text(sums[-1])}."
    )


def _value(stack: Sequence[ColumnPart], name: str, text: Callable[[float], str]) -> str:
    return next((text(part.value) for part in stack if part.name == name), "–")
