"""The agents' programs, and a scratch repository that `ralph init` has set up for one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agents.drivers import Agent, Place, make_place
from node.tools import packages


@pytest.fixture(scope="session")
def programs() -> Path:
    """Where the agents' programs are; not run where they cannot be had."""
    return packages(Path(__file__).parent)


@pytest.fixture
def set_up(tmp_path: Path, programs: Path) -> Callable[[Agent], Place]:
    """Makes a repository with one commit, and sets it up for an agent as a person would."""

    def set_up(agent: Agent) -> Place:
        place = make_place(tmp_path / "home", tmp_path / "repository", programs)
        place.ralph("init", "--yes", "--agent", agent.name)
        place.git("add", "--all")
        place.git("commit", "-q", "-m", "set up")
        return place

    return set_up
