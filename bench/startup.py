"""Start-up of the command line, and commands that people wait for, against an interpreter that does nothing."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.threads import with_threads
from bench.tickets import add_tickets
from bench.timing import Aim, Comparison, Effort, at_most, compare
from interlock.journal import open_journal

__all__ = ["measure"]

_NOTHING = [sys.executable, "-c", "pass"]
_AGAINST = "python -c pass"
_UNSET = "PYTHONDONTWRITEBYTECODE"
"""With it every start would compile every module again."""
_THREADS, _TICKETS = 1_000, 10_000
_START: tuple[tuple[str, ...], ...] = (("--help",), ("machine", "list"))
_WAITED_FOR: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("ticket", "board"),
    ("thread", "list"),
    ("why", "5"),
    ("log",),
)


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """Commands that need no journal; then those that people wait for, in an empty repository and in a full one."""
    empty, full = _repository(directory / "empty"), _full(directory / "full")
    yield from _compared(effort, "start-up", empty, _START, at_most(5))
    yield from _compared(effort, "empty repository", empty, [one for one in _WAITED_FOR if one[0] != "why"], at_most(8))
    yield from _compared(effort, f"{_THREADS:,} threads, {_TICKETS:,} tickets", full, _WAITED_FOR, at_most(8))


def _compared(
    effort: Effort, where: str, root: Path, commands: list[tuple[str, ...]] | tuple[tuple[str, ...], ...], aim: Aim
) -> Iterator[Comparison]:
    """Compare processor time, by turns: it says more than elapsed time on a machine that others use too."""
    ralph = str(Path(sys.executable).with_name("ralph"))
    lines = {_AGAINST: _NOTHING, **{f"ralph {' '.join(words)}": [ralph, *words] for words in commands}}
    for command in lines.values():
        _milliseconds(command, root)  # the first start compiles, and makes the projections
    times: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(effort.launches):
        for name, command in lines.items():
            times[name].append(_milliseconds(command, root))
    for name in list(lines)[1:]:
        yield compare(f"{where}, {name}", _AGAINST, times[name], times[_AGAINST], unit=" ms of processor", aim=aim)


def _repository(root: Path) -> Path:
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return root


def _full(root: Path) -> Path:
    with_threads(root, _THREADS)
    journal = open_journal(root / ".ralf" / "journal.db")
    add_tickets(journal, _TICKETS)
    journal.close()
    return root


def _milliseconds(command: list[str], root: Path) -> float:
    environment = {name: value for name, value in os.environ.items() if name != _UNSET}
    before = _processor_seconds()
    subprocess.run(command, cwd=root, env=environment, capture_output=True, timeout=60, check=True)
    return (_processor_seconds() - before) * 1000


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
