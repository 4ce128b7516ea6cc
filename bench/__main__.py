"""`python -m bench`: measure everything once and print it. A missed aim is printed, never an error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import (
    agents,
    dashboard,
    durable,
    growth,
    orchestrations,
    peers,
    postgres,
    startup,
    steps,
    stories,
    threads,
    tickets,
)
from bench.report import as_json, as_text, machine
from bench.timing import Comparison, Effort

_FULL = Effort(rounds=40, seconds=0.1, launches=21, sizes=(10, 1_000, 100_000))
_QUICK = Effort(rounds=10, seconds=0.05, launches=7, sizes=(10, 1_000, 10_000))
_RESULTS = Path("bench", "results")
"""On the disk that the project is on; not under version control."""


def main() -> None:
    arguments = _parser().parse_args()
    effort = _QUICK if arguments.quick else _FULL
    _RESULTS.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=_RESULTS) as directory:
        comparisons = _measured(effort, Path(directory), arguments.only)
    print((as_json if arguments.json else as_text)(machine(), comparisons))


def _measured(effort: Effort, directory: Path, only: str | None) -> list[Comparison]:
    subjects: dict[str, Callable[[], Iterable[Comparison]]] = {
        "durable": lambda: durable.measure(effort, directory),
        "steps": lambda: steps.measure(effort),
        "startup": lambda: startup.measure(effort),
        "agents": lambda: agents.measure(effort, directory),
        "tickets": lambda: tickets.measure(effort, directory),
        "stories": lambda: stories.measure(effort, directory),
        "threads": lambda: threads.measure(effort, directory),
        "orchestrations": lambda: orchestrations.measure(effort, directory),
        "dashboard": lambda: dashboard.measure(effort, directory),
        "growth": lambda: growth.measure(effort, directory),
        "postgres": lambda: postgres.measure(effort, directory),
        "peers": lambda: peers.measure(effort, directory),
    }
    comparisons: list[Comparison] = []
    for name, measure in subjects.items():
        if only not in (None, name):
            continue
        print(f"measuring {name} …", file=sys.stderr)
        comparisons += measure()
    return comparisons


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="What Interlock costs, as ratios.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="measure for seconds, not minutes")
    parser.add_argument("--only", metavar="SUBJECT", help="measure one subject: dashboard, for one")
    return parser


if __name__ == "__main__":
    main()
