"""Places to run the programs in: one that is no repository, an empty repository, and one with a journal."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from faces.programs import clean_environment


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment with a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    return clean_environment(home)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory that is in no repository."""
    directory = tmp_path / "outside"
    directory.mkdir()
    return directory


@pytest.fixture
def repository(tmp_path: Path, environment: dict[str, str]) -> Path:
    """A new git repository in which nothing has happened yet."""
    directory = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", directory], env=environment, check=True, timeout=60)
    return directory
