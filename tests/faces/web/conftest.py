"""One served dashboard for the tests of a module and one browser for all; each test uses instances of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from faces.programs import clean_environment

from .browsers import SharedBrowser
from .sites import Site, site_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="package")
def shared_browser() -> Iterator[SharedBrowser]:
    shared = SharedBrowser()
    yield shared
    shared.close()


@pytest.fixture(scope="module")
def browser(shared_browser: SharedBrowser) -> Iterator[Browser]:
    """A real browser in which no other module has left a page."""
    browser = shared_browser.get()
    yield browser
    for context in browser.contexts:
        context.close()


@pytest.fixture(scope="module")
def own_event_loop(shared_browser: SharedBrowser) -> None:
    """The thread has no event loop: for tests that run one of their own, or start a browser of their own."""
    shared_browser.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = clean_environment(tmp_path_factory.mktemp("home"))
    directory = tmp_path_factory.mktemp("site") / "repository"
    subprocess.run(["git", "init", "-q", directory], env=home, check=True, timeout=60)
    with site_of(directory, home) as found:
        yield found
