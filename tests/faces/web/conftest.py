"""One served dashboard and one browser for the tests of a module; each test uses instances of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from faces.programs import clean_environment

from .browsers import chromium
from .sites import Site, site_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser, for the tests of a module."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = clean_environment(tmp_path_factory.mktemp("home"))
    directory = tmp_path_factory.mktemp("site") / "repository"
    subprocess.run(["git", "init", "-q", directory], env=home, check=True, timeout=60)
    with site_of(directory, home) as found:
        yield found
