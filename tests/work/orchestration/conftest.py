"""What the tests of runs share: runs that take a while are made once for all of them."""

from __future__ import annotations

import pytest

from work.orchestration.ways import Journeys


@pytest.fixture(scope="session")
def journeys(tmp_path_factory: pytest.TempPathFactory) -> Journeys:
    """The journeys, each made when the first test asks for it."""
    return Journeys(tmp_path_factory.mktemp("journeys"))
