"""A tour through every kind of page of a furnished dashboard, as a person who acts sees them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from faces.mcp.servers import serving
from faces.programs import clean_environment

from .furnished import Furnished, furnished
from .persons import Terminal, in_terminal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

__all__ = ["FRESH", "NARROW", "WIDE", "Tour", "touring"]

WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 380, "height": 800}
FRESH = (
    "/",
    "/board",
    "/threads",
    "/loops",
    "/sessions",
    "/journal",
    "/compare",
    "/machines",
    "/machine/ticket",
    "/stats",
)
"""The pages that are there from the first moment on."""
ANONYMOUS = frozenset({"login", "refused", "token"})
"""The pages of somebody who has not logged in."""
STILL = frozenset({"missing", "refused", "token"})
"""The pages on which nothing lives."""

_SEND = """() => {
  const form = document.querySelector("form[action$='/handoff']");
  form.elements.reason.value = "because";
  form.submit();
}"""


class Tour(msgspec.Struct):
    """A served dashboard with everything in it, and one that only asks for its token."""

    made: Furnished
    terminal: Terminal
    guarded: str
    cookies: list[Any]

    @property
    def pages(self) -> dict[str, str]:
        """Every kind of page, by a name for it."""
        made, threads = self.made, self.made.threads
        review, stuck = threads["PendingReview"], threads["Stuck"]
        steps = {
            f"thread-{name}": f"/thread/{threads[state]}"
            for name, state in (
                ("drafting", "Drafting"),
                ("looping", "Running"),
                ("stuck", "Stuck"),
                ("paused", "Paused"),
                ("reviewing", "PendingReview"),
                ("done", "Done"),
            )
        }
        return {
            "now": "/",
            "board": "/board",
            "board-found": "/board?find=parse",
            "ticket": f"/ticket/{made.tickets['In Progress']}",
            "ticket-blocked": f"/ticket/{made.tickets['Ready for Plan']}",
            "threads": "/threads",
            **steps,
            "revisions": f"/thread/{threads['Drafting']}?left=1&right=2",
            "changes": f"/thread/{review}/changes",
            "gate": f"/thread/{review}/gate/approve",
            "loops": "/loops",
            "story": f"/story/{made.story}",
            "run": f"/run/{made.runs['Failed']}?task=task-3",
            "run-executing": f"/run/{made.runs['Executing']}",
            "sessions": "/sessions",
            "session": f"/session/{made.sessions['odd']}",
            "session-done": f"/session/{made.sessions['done']}",
            "journal": "/journal",
            "entry": "/journal/5",
            "travel": f"/at/{stuck}?version=8",
            "compare": f"/compare?left={stuck}&right={review}",
            "machines": "/machines",
            "machine": "/machine/ticket",
            "stats": "/stats",
            "login": "/login",
            "acting": "/login",
            "refused": f"/ticket/{made.tickets['In Progress']}",
            "missing": "/thread/nothing",
            "token": f"{self.guarded}/",
        }

    def open(self, browser: Browser, **options: Any) -> BrowserContext:
        """The browser of the person who has logged in."""
        context = browser.new_context(base_url=self.terminal.url, **options)
        context.add_cookies(self.cookies)
        return context

    def enter(self, page: Page, name: str) -> None:
        """Go to a page, and wait until it is whole and live."""
        if name in ANONYMOUS:
            page.context.clear_cookies()
        page.goto(self.pages[name])
        if name == "refused":
            page.evaluate(_SEND)
            page.wait_for_selector("h1:has-text('Nothing was done')")
        if name not in STILL:
            page.wait_for_selector("#connection[data-state='open']")
        if name in ANONYMOUS:
            page.context.add_cookies(self.cookies)


@contextmanager
def touring(directory: Path, browser: Browser) -> Iterator[Tour]:
    """The furnished repository, served at a terminal; its person has logged in, and has asked for a gate's code."""
    environment = clean_environment(directory)
    with (
        furnished(directory / "dates") as made,
        in_terminal(made.root, environment) as terminal,
        _guarded(directory, environment) as guarded,
    ):
        tour = Tour(made, terminal, guarded, [])
        context = tour.open(browser)
        page = context.new_page()
        page.goto("/login")
        page.locator("#code").fill(terminal.login_code())
        page.keyboard.press("Enter")
        page.wait_for_url(f"{terminal.url}/")
        page.goto(tour.pages["gate"])
        page.get_by_role("button", name="Print a code on the terminal").click()
        page.get_by_label("Code from the terminal").wait_for()
        tour.cookies = context.cookies()
        context.close()
        yield tour


@contextmanager
def _guarded(directory: Path, environment: dict[str, str]) -> Iterator[str]:
    """A dashboard that asks everybody for a token."""
    root = directory / "guarded"
    subprocess.run(["git", "init", "-q", root], env=environment, check=True, timeout=60)
    with serving(root, {**environment, "RALPH_SERVE_TOKEN": "a-token-of-this-test-only-0123456789"}) as served:
        yield served.url
