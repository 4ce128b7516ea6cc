"""What is told: the machine, and one table with a line for each comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from bench.timing import Comparison

__all__ = ["COLUMNS", "as_json", "as_markdown", "as_text"]

COLUMNS = (
    "benchmark",
    "what",
    "ours",
    "compared with",
    "theirs",
    "ratio",
    "growth",
    "half of the rounds",
    "aim",
    "met",
    "note",
)
_READING = (
    "A ratio is ours divided by theirs, the median of rounds that ran by turns: of what is done in a second more is"
    " better, of milliseconds less. Growth is the same, of ours where there is much divided by ours where there is"
    " little. Figures differ from machine to machine and from disk to disk; ratios less so. An aim within the middle"
    " half of the rounds is neither met nor missed."
)


def as_json(host: Mapping[str, str], comparisons: Iterable[Comparison]) -> str:
    """All of it as one JSON document."""
    lines = [
        {**msgspec.to_builtins(one), "unit": one.unit.strip(), "aim": str(one.aim or ""), "met": one.met}
        for one in comparisons
    ]
    return msgspec.json.format(msgspec.json.encode({"machine": host, "comparisons": lines}), indent=2).decode()


def as_text(host: Mapping[str, str], comparisons: Iterable[Comparison]) -> str:
    """All of it as people read it: the machine, then a table as wide as it has to be."""
    width = max(map(len, host))
    about = [f"{name:<{width}}  {value}" for name, value in host.items()]
    rows = [COLUMNS, *map(_row, comparisons)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([*about, "", table[0], "─" * sum(widths, 2 * len(widths) - 2), *table[1:]])


def as_markdown(host: Mapping[str, str], comparisons: Iterable[Comparison]) -> str:
    """All of it as a page: the machine, how to read it, and the same table."""
    about = [_cells(one) for one in (("machine", ""), ("---", "---"), *host.items())]
    rows = [COLUMNS, ("---",) * len(COLUMNS), *map(_row, comparisons)]
    title = ["# What Interlock costs", "", "Measured and written by `make bench`.", ""]
    return "\n".join([*title, *about, "", _READING, "", *map(_cells, rows), ""])


def _cells(row: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _row(one: Comparison) -> tuple[str, ...]:
    ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
    ratios = ("", ratio) if one.is_growth else (ratio, "")
    spread = "" if one.spread is None else f"{one.spread[0]:.2f} to {one.spread[1]:.2f}"
    aim = "" if one.aim is None else f"{one.aim}{one.unit if one.ratio is None else ''}"
    ours, theirs = _amount(one.ours, one.unit), _amount(one.theirs, one.unit)
    return (one.part, one.subject, ours, one.against, theirs, *ratios, spread, aim, one.met, one.note)


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,.{0 if value >= 10 else 2}f}{unit}"
