"""`python -m bench`: measure everything once, print one table and write it to `bench/results.md`.

A missed aim is printed, never an error.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from bench.host import load, machine
from bench.report import as_json, as_markdown, as_text
from bench.timing import Comparison, Effort

__all__ = ["RESULTS", "main", "parse"]

_BENCHMARKS = (
    "durable",
    "steps",
    "startup",
    "agents",
    "sandbox",
    "tickets",
    "trees",
    "stories",
    "threads",
    "orchestrations",
    "dashboard",
    "growth",
    "postgres",
    "peers",
)
"""A module each, in the order in which they are measured and told."""

_FULL = Effort(rounds=20, seconds=0.1, launches=21, sizes=(10, 1_000, 100_000))
_QUICK = Effort(rounds=10, seconds=0.05, launches=7, sizes=(10, 1_000, 10_000))
RESULTS = Path(__file__).with_name("results.md")
_SPACE = Path(__file__).with_name("results")
"""On the disk that the project is on; not under version control."""


def main() -> None:
    arguments = parse()
    began, at = time.monotonic(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    before = load()
    _SPACE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=_SPACE) as directory:
        os.environ["XDG_STATE_HOME"] = str(Path(directory, "state"))  # what is trusted here is nothing to the user
        comparisons, failed = _measured(_QUICK if arguments.quick else _FULL, Path(directory), arguments.only)
    took = f"{time.monotonic() - began:.0f} s{', in a hurry (--quick)' if arguments.quick else ''}"
    host = {"date": at, "took": took, **machine(), "load at the beginning": before, "load at the end": load()}
    if failed:
        host["not measured, for it failed"] = ", ".join(failed)
    print((as_json if arguments.json else as_text)(host, comparisons))
    if arguments.write:
        arguments.write.write_text(as_markdown(host, comparisons), encoding="utf-8")
        print(f"written: {arguments.write}", file=sys.stderr)
    sys.exit(1 if failed else 0)


def _measured(effort: Effort, directory: Path, only: str | None) -> tuple[list[Comparison], list[str]]:
    """Everything that could be measured, and the names of what failed: it does not take the others with it."""
    comparisons: list[Comparison] = []
    failed: list[str] = []
    for name in _BENCHMARKS if only is None else (only,):
        print(f"measuring {name} …", file=sys.stderr)
        began = time.monotonic()
        try:
            found: Iterable[Comparison] = import_module(f"bench.{name}").measure(effort, directory)
            comparisons += [replace(one, part=name) for one in found]
        except Exception:
            traceback.print_exc()
            failed.append(name)
        print(f"  {time.monotonic() - began:.0f} s", file=sys.stderr)
    return comparisons, failed


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """What is asked for; a whole run writes the results, a part of one or a quick one only where it is told to."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="What Interlock costs, as ratios.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="measure in less time; figures are less certain")
    parser.add_argument("--only", metavar="BENCHMARK", choices=_BENCHMARKS, help=f"one of: {', '.join(_BENCHMARKS)}")
    parser.add_argument("--write", metavar="FILE", type=Path, help="where the table goes, as Markdown")
    arguments = parser.parse_args(words)
    is_whole = arguments.only is None
    if arguments.write is None and is_whole and not arguments.quick:
        arguments.write = RESULTS
    if arguments.write and not is_whole and arguments.write.resolve() == RESULTS:
        parser.error(f"{RESULTS.name} is for all benchmarks, and this is one: leave out --only, or write elsewhere")
    return arguments


if __name__ == "__main__":
    main()
