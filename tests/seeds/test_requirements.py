"""Every requirement of the seeds is held by a test, and every test that claims to hold one names a real one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from .manifest import REQUIREMENTS


class _Collected:
    """Remembers what requirements the tests carry that pytest finds."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.ids = _carried(session.items)


def _carried(items: Iterable[pytest.Item]) -> set[str]:
    return {str(mark.args[0]) for item in items for mark in item.iter_markers("requirement")}


def test_every_requirement_has_a_test_and_every_tagged_test_a_requirement(request: pytest.FixtureRequest) -> None:
    """Of all tests that `make test` runs; where only a part of them was asked for, the others are collected here."""
    tests = Path(__file__).parents[1]
    if [Path(one).resolve() for one in request.config.args] == [tests] and not request.config.option.keyword:
        carried = _carried(request.session.items)
    else:
        collected = _Collected()
        pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", str(tests)], plugins=[collected])
        carried = collected.ids
    assert carried == {one["id"] for one in REQUIREMENTS}


def test_every_requirement_has_an_id_of_its_own_a_sentence_and_a_source() -> None:
    ids = [one["id"] for one in REQUIREMENTS]
    assert len(ids) == len(set(ids))
    for one in REQUIREMENTS:
        assert one["id"].startswith(f"{one['machine']}:")
        assert one["says"].endswith(".")
        assert one["source"].startswith(("seeds/00", "reference/source-systems.md, "))
