"""A real page in a real browser, and when something is to be seen on it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from bench.project import TOKEN

__all__ = ["NoBrowser", "Seen", "browser"]

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
_EXPECT = """(text) => { window.seen = new Promise((resolve) => {
  const is = () => document.body.textContent.includes(text);
  const watching = new MutationObserver(() => {
    if (!is()) return;
    watching.disconnect();
    requestAnimationFrame(() => resolve(performance.timeOrigin + performance.now()));
  });
  if (is()) throw new Error(text + " is on the page already");
  watching.observe(document.body, { childList: true, subtree: true, characterData: true });
}); }"""
"""A promise of the time, in milliseconds, at which a frame with that text on it is drawn."""


class NoBrowser(Exception):
    """There is no browser here, and this says why."""


class Seen:
    """A page that is watched."""

    def __init__(self, page: Any, url: str) -> None:
        self._page = page
        page.goto(f"{url}/?token={TOKEN}")
        page.wait_for_selector("#connection[data-state=open]")

    def expect(self, text: str) -> None:
        """Begin to look for a text that is not there yet."""
        self._page.evaluate(_EXPECT, text)

    def at(self) -> float:
        """When it was seen, in seconds as `time.time` has them."""
        return float(self._page.evaluate("() => window.seen")) / 1000


@contextmanager
def browser() -> Iterator[Any]:
    """The system's Chromium, or Playwright's own; raises `NoBrowser` where there is neither."""
    try:
        api = import_module("playwright.sync_api")
    except ImportError:
        raise NoBrowser("not run: Playwright is not installed") from None
    program = next((found for one in _PROGRAMS if (found := shutil.which(one))), None)
    with api.sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=program, args=[*_ARGUMENTS])
        except api.Error as error:
            raise NoBrowser(f"not run: {str(error).splitlines()[0]}") from None
        try:
            yield found
        finally:
            found.close()
