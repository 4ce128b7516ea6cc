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
    with api.sync_playwright() as playwright:
        try:  # the system's, or the one that Playwright has installed
            browser = playwright.chromium.launch(executable_path=program, args=[*_ARGUMENTS])
        except api.Error as error:
            if program is not None:
                raise
            pytest.skip(f"not run: there is no Chromium on this machine ({str(error).splitlines()[0]})")
        try:
            yield browser
        finally:
            browser.close()
