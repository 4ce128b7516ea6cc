"""Every requirement of the seeds is held by a test, and every test that claims to hold one names a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from .manifest import REQUIREMENTS


class _Collected:
    """Remembers what requirements the tests carry that pytest finds."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        marks = (mark for item in session.items for mark in item.iter_markers("requirement"))
        self.ids = {str(mark.args[0]) for mark in marks}


def test_every_requirement_has_a_test_and_every_tagged_test_a_requirement() -> None:
    collected = _Collected()
    tests = Path(__file__).parents[1]
    pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", str(tests)], plugins=[collected])
    assert collected.ids == {one["id"] for one in REQUIREMENTS}


def test_every_requirement_has_an_id_of_its_own_a_sentence_and_a_source() -> None:
    ids = [one["id"] for one in REQUIREMENTS]
    assert len(ids) == len(set(ids))
    for one in REQUIREMENTS:
        assert one["id"].startswith(f"{one['machine']}:")
        assert one["says"].endswith(".")
        assert one["source"].startswith(("seeds/00", "reference/source-systems.md, "))
