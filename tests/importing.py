"""Share the rewriting of assertions among the workers of a first run.

pytest rewrites the assertions of each test module when it is imported, and keeps the result beside the module. In a
fresh clone this is two thirds of the collection, and workers that all begin with the same module all do all of it. So
each begins somewhere else, and finds the rest done.
"""

from __future__ import annotations

import importlib
import os
from contextlib import suppress
from pathlib import Path

import pytest

__all__ = ["import_test_modules"]


def import_test_modules(config: pytest.Config) -> None:
    """Import the test modules that this worker is about to collect, beginning with its own share."""
    worker, workers = os.environ.get("PYTEST_XDIST_WORKER"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if worker is None or workers < 2:
        return
    names = _module_names(config)
    start = len(names) * int(worker.removeprefix("gw")) // workers
    for name in names[start:] + names[:start]:
        with suppress(Exception, pytest.skip.Exception):  # the collection reports it
            importlib.import_module(name)


def _module_names(config: pytest.Config) -> list[str]:
    """The modules of packages; those of other directories are imported by rules of pytest's own."""
    tests = Path(__file__).parent
    found: set[str] = set()
    for argument in config.args:
        place = Path(config.invocation_params.dir, argument.partition("::")[0])
        for path in [place] if place.is_file() else place.rglob("test_*.py"):
            if path.with_name("__init__.py").is_file():
                found.add(".".join(path.relative_to(tests).with_suffix("").parts))
    return sorted(found)
