"""The system's Chromium, driven by Playwright; where there is none, a test is not run and says why."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from patience import MILLISECONDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["chromium"]

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own, whose pages wait for as long as everything else does."""
    api = pytest.importorskip("playwright.sync_api", reason="not run: Playwright is not installed")
    program = next((found for one in _PROGRAMS if (found := shutil.which(one))), None)
    with api.sync_playwright() as playwright:
        try:  # the system's, or the one that Playwright has installed
            browser = playwright.chromium.launch(executable_path=program, args=[*_ARGUMENTS], timeout=MILLISECONDS)
        except api.Error as error:
            if program is not None:
                raise
            pytest.skip(f"not run: there is no Chromium on this machine ({str(error).splitlines()[0]})")
        for name in ("new_context", "new_page"):
            setattr(browser, name, _patient(getattr(browser, name)))
        try:
            yield browser
        finally:
            browser.close()


def _patient(make: Callable[..., Any]) -> Callable[..., Any]:
    """What makes a context or a page, where the time of each wait is ours and not Playwright's."""

    def made(**options: Any) -> Any:
        found = make(**options)
        found.set_default_timeout(MILLISECONDS)
        return found

    return made
