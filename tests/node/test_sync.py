"""The tests of tickets and a board in step once more, with every request and answer held against GitHub's schema."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from node.schema import Schema
from work.tickets.conftest import office  # noqa: F401 - a fixture
from work.tickets.test_sync import *  # noqa: F403 - they are collected here again, and take the fixtures from here
from work.tickets.test_sync_moves import *  # noqa: F403
from world.github_server import Check

pytestmark = pytest.mark.node


@pytest.fixture(scope="session")
def schema() -> Iterator[Schema]:
    with Schema() as schema:
        yield schema


@pytest.fixture
def check(schema: Schema) -> Check:
    """What holds the requests against GitHub's schema."""
    return schema
