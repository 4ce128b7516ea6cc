"""What a page shows of a terminal: its commands, what they print, and the surroundings that they are run in."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from documents import Block, name_of

from interlock.errors import CODES

__all__ = ["commands", "expected_status", "pattern", "stripped", "surroundings", "where"]

_ERROR = re.compile(r"^ralph: (?:.*\n)?.*?\[(\w+)\]$|^\{\"ok\":false,\"error\":\{\"code\":\"(\w+)\"", re.MULTILINE)
_STYLING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What makes a screen bold, hides its cursor or clears a line: no reader sees it as text."""


def where(one: Block | Path) -> str:
    return name_of(one) if isinstance(one, Path) else f"{name_of(one.page)}:{one.line}"


def commands(block: Block) -> list[tuple[str, str]]:
    """Each command with the output shown below it."""
    found: list[tuple[str, str]] = []
    for line in block.body.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].strip(), ""))
        else:
            assert found, f"{where(block)} begins without a command"
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def surroundings(directory: Path) -> dict[str, str]:
    """An environment that has the programs at hand, and nothing of whoever runs the tests."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("RALPH_", "GIT_"))}
    for name in ("home", "cache", "tmp"):
        (directory / name).mkdir()
    return {
        **ours,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(directory / "home"),
        "XDG_CACHE_HOME": str(directory / "cache"),
        "TMPDIR": str(directory / "tmp"),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",  # so that messages and results come in the order that a person sees
    }


def stripped(text: str) -> str:
    """A screen as it is read: without styling, and without what is blank at the end of a line."""
    return "".join(f"{line.rstrip()}\n" for line in _STYLING.sub("", text).splitlines())


def pattern(shown: str) -> re.Pattern[str]:
    """What the output must match: `…` stands for any text in a line, alone in a line for any lines."""
    lines = stripped(shown).splitlines(keepends=True)
    parts = ["(?:.*\n)*?" if line == "…\n" else re.escape(line).replace("…", ".*?") for line in lines]
    return re.compile("".join(parts))


def expected_status(output: str) -> int:
    """What a command exits with that ends with this output: with that of the last error, else with 0."""
    codes = [one or other for one, other in _ERROR.findall(output)]
    return CODES[codes[-1]][0] if codes else 0
