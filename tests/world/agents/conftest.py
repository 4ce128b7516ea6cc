"""A place to run agents in."""

from __future__ import annotations

from pathlib import Path

import pytest

from world.agents.runs import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
