"""Start-up of the command line, against an interpreter that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.timing import Comparison, Effort, at_most, compare, missing

__all__ = ["measure"]

_NOTHING = [sys.executable, "-c", "pass"]
_AIM = at_most(5)
_AGAINST = "python -c pass"
_UNSET = "PYTHONDONTWRITEBYTECODE"
"""With it every start would compile every module again."""


def measure(effort: Effort, _directory: Path) -> Iterator[Comparison]:
    """`ralph --help` and `ralph machine list`."""
    commands = {f"ralph {' '.join(words)}": words for words in (["--help"], ["machine", "list"])}
    ralph = _ralph()
    working = {name: [*ralph, *words] for name, words in commands.items() if _works([*ralph, *words])}
    times: dict[str, list[float]] = {name: [] for name in (_AGAINST, *working)}
    for _ in range(effort.launches):
        for name, command in {_AGAINST: _NOTHING, **working}.items():
            times[name].append(_milliseconds(command))
    for name in commands:
        if name in working:
            yield compare(f"start-up, {name}", _AGAINST, times[name], times[_AGAINST], unit=" ms", aim=_AIM)
        else:
            yield missing(f"start-up, {name}", _AGAINST, "not there yet", _AIM)


def _ralph() -> list[str]:
    """The command beside this interpreter, or the module where it is not installed as a command."""
    script = Path(sys.executable).with_name("ralph")
    return [str(script)] if script.exists() else [sys.executable, "-m", "interlock"]


def _works(command: list[str]) -> bool:
    return _run(command).returncode == 0


def _milliseconds(command: list[str]) -> float:
    began = time.perf_counter()
    _run(command)
    return (time.perf_counter() - began) * 1000


def _run(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if name != _UNSET}
    return subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
