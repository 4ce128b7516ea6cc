"""A repository with gates, on a stage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.journal import Journal

from .scenes import Person, open_place, signs


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "repository"


@pytest.fixture
def place(root: Path) -> Iterator[Journal]:
    """The journal of a new repository."""
    journal = open_place(root)
    yield journal
    journal.close()


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    return signs(tmp_path / "keys", "ada")


@pytest.fixture
def bob(tmp_path: Path) -> Person:
    return signs(tmp_path / "keys", "bob")
