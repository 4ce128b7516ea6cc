"""The cases of large tables that `make test` runs: a few, drawn with a seed. `make test-exhaustive` runs all of them.

A test with the mark `sampled(n)` runs with n of its cases; with `sampled(0)` it runs only in `make test-exhaustive`. A
test that runs on both databases runs on PostgreSQL with two of its cases, because what differs between them is the
database and not the case.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

import pytest

__all__ = ["left_out"]

_ON_POSTGRESQL = 2


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the cases that a sample leaves out, and mark each sampled test as `exhaustive`.

    A case that carries a requirement of its own is never left out.
    """
    groups: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function):
            groups[item.nodeid.partition("[")[0]].append(item)
    return [item for name, group in groups.items() for item in _left_out_of(name, group)]


def _left_out_of(name: str, group: Sequence[pytest.Function]) -> list[pytest.Item]:
    by_database: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in group:
        by_database[_database(item)].append(item)
    mark = group[0].get_closest_marker("sampled")
    most: int = mark.args[0] if mark else len(group)
    left: list[pytest.Item] = []
    for database, cases in by_database.items():
        limit = min(most, _ON_POSTGRESQL) if database == "postgresql" and "sqlite" in by_database else most
        drawn = set(random.Random(name).sample(range(len(cases)), min(limit, len(cases))))
        left += [one for number, one in enumerate(cases) if number not in drawn and not _has_a_requirement(one)]
    if left:
        for item in group:
            item.add_marker(pytest.mark.exhaustive)
    return left


def _database(item: pytest.Function) -> str:
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return str(parameters.get("address", parameters.get("shared_address", "")))


def _has_a_requirement(item: pytest.Function) -> bool:
    """True if the case itself carries a requirement, not only its function."""
    marks = item.callspec.marks if hasattr(item, "callspec") else item.own_markers
    return any(mark.name == "requirement" for mark in marks)
