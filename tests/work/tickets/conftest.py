"""A journal with tickets, and a board on a server that plays GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from world.github_server import Check

from .boards import Office, office_at


@pytest.fixture
def check() -> Check | None:
    """What holds the requests against GitHub's schema; nothing here."""
    return None


@pytest.fixture
def office(sqlite_address: Path, check: Check | None) -> Iterator[Office]:
    with office_at(sqlite_address, check) as office:
        yield office
