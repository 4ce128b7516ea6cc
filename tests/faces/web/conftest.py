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
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize

_SIZE: ViewportSize = {"width": 1280, "height": 720}


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
def shared_page(browser: Browser) -> Page:
    return browser.new_page()


@pytest.fixture
def page(shared_page: Page) -> Iterator[Page]:
    """A page that says nothing on its console: the policy of the server forbids nothing that it does.

    The tests of a module go on in the same one, because the first page of a new one costs three times as much.
    """
    said: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        said.append(message.text)

    def hear_error(error: Error) -> None:
        said.append(str(error))

    shared_page.set_viewport_size(_SIZE)
    shared_page.on("console", hear)
    shared_page.on("pageerror", hear_error)
    yield shared_page
    shared_page.remove_listener("console", hear)
    shared_page.remove_listener("pageerror", hear_error)
    assert said == []


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
