"""The system's Chromium, driven by Playwright; where there is none, a test is not run and says why."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

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
    """A browser of its own."""
    api = pytest.importorskip("playwright.sync_api", reason="not run: Playwright is not installed")
    program = next((found for one in _PROGRAMS if (found := shutil.which(one))), None)
    if program is None:
        pytest.skip(f"not run: there is no {' and no '.join(_PROGRAMS)} on this machine")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*_ARGUMENTS])
        try:
            yield browser
        finally:
            browser.close()
