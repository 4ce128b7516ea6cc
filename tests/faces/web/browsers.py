"""The system's Chromium, driven by Playwright; where there is none, a test is not run and says why."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from faces.programs import SERVE_TOKEN
from patience import MILLISECONDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["SharedBrowser", "chromium"]

_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class SharedBrowser:
    """One browser for many modules, started when the first asks for it.

    While it is open, this thread has Playwright's event loop: whoever needs another one closes it first.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._browser: Browser | None = None

    def get(self) -> Browser:
        if self._browser is None:
            self._browser = self._stack.enter_context(chromium())
        return self._browser

    def close(self) -> None:
        self._browser = None
        self._stack.close()


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
    """What makes a context or a page, where the time of each wait is ours and not Playwright's.

    Nothing moves by itself unless a test asks for it: what is drawn sixty times a second costs a tenth of a processor.
    """

    def made(**options: Any) -> Any:
        found = make(**{"reduced_motion": "reduce", **options})
        found.set_default_timeout(MILLISECONDS)
        if hasattr(found, "new_page"):
            found.new_page = _admitted(found.new_page)
            return found
        return _with_token(found)

    return made


def _admitted(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda: _with_token(make())


def _with_token(page: Any) -> Any:
    """A page that opens addresses as `ralph serve` prints them; the server sends it on without the token."""
    go = page.goto

    def goto(address: str, **options: Any) -> Any:
        if not address.startswith(("http://", "/")):
            return go(address, **options)
        address, _, fragment = address.partition("#")
        address += f"{'&' if '?' in address else '?'}token={SERVE_TOKEN}"
        return go(f"{address}#{fragment}" if fragment else address, **options)

    page.goto = goto
    return page
