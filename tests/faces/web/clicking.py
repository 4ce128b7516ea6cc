"""A person with a real browser and the terminal that `ralph serve` prints its codes on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from faces.journals import opened
from forging.arena import Arena
from interlock.work.threads.reading import read_thread

from .persons import Terminal, in_terminal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

__all__ = ["Clicker", "clicking", "is_same", "stay"]


class Clicker(msgspec.Struct):
    """Who clicks: what they see is a page, and what they read beside it the terminal."""

    arena: Arena
    terminal: Terminal
    page: Page
    troubles: list[str] = msgspec.field(default_factory=list)
    """What the browser complained of: the policy of the server forbids nothing that its pages do."""

    def open(self, path: str) -> None:
        """A page, once it is connected."""
        self.page.goto(f"{self.terminal.url}{path}")
        self.connected()

    def connected(self) -> None:
        self.page.wait_for_selector("#connection[data-state='open']")

    def log_in(self) -> None:
        """By the code of the terminal, from whatever page there is."""
        self.open("/")
        self.page.get_by_role("link", name="Log in to act").click()
        self.page.get_by_label("Code", exact=True).fill(self.terminal.login_code())
        self.page.get_by_role("button", name="Log in").click()
        self.page.get_by_role("link", name="You can act").wait_for()

    def button(self, name: str) -> Locator:
        """A button of what can be done; its letter and what it does are beside it."""
        return self.page.locator("#content").get_by_role("button", name=re.compile(rf"(^|\s){re.escape(name)}$"))

    def press(self, name: str) -> None:
        """Press it, and wait for the page that shows what came of it."""
        self.connected()
        with self.page.expect_navigation():
            self.button(name).click()
        self.page.wait_for_selector("#told")
        self.connected()

    def pass_gate(self, name: str, event: str) -> str:
        """Press a button that is a gate's, compare, and type the code; what was shown."""
        after = len(self.terminal.screen)
        self.press(name)
        assert self.page.locator("main [sse-swap]").count() == 0, "nothing moves while a code is typed"
        shown: str = self.page.locator("#question").inner_text()
        for line in shown.splitlines():
            self.terminal.seen(re.escape(line.strip()), after)
        self.page.get_by_label("Code from the terminal").fill(self.terminal.gate_code(event, after))
        self.press(event.capitalize())
        self.page.wait_for_url(re.compile(r"/thread/\w+$"))
        return shown

    def stands(self, label: str) -> None:
        """Wait until the phase bar of the page has come to a phase."""
        here = self.page.locator(".phases [aria-current='step']", has_text=re.compile(rf"{re.escape(label)}$"))
        try:
            here.wait_for()
        except Exception as error:
            error.add_note(f"The thread is {self.state}, and the page shows:\n{self.page.inner_text('body')}")
            raise

    def can_do_nothing(self) -> None:
        """Wait until the page offers nothing more; its parts follow one after the other."""
        self.page.locator("#menu button").first.wait_for(state="detached")

    @property
    def thread(self) -> str:
        """The thread whose page is shown."""
        found = re.search(r"/thread/(\w+)", self.page.url)
        assert found is not None, self.page.url
        return found[1]

    @property
    def state(self) -> str:
        with opened(self.arena.root) as journal:
            return read_thread(journal, self.thread).state


@contextmanager
def clicking(browser: Browser, place: Path, *, logs_in: bool = True) -> Iterator[Clicker]:
    """A repository, its server in a terminal, and a browser, which is the person's once they have logged in."""
    arena = Arena(place, "none")
    arena.begin()
    with in_terminal(arena.root, arena.environment) as terminal:
        context = browser.new_context()
        clicker = Clicker(arena, terminal, context.new_page())
        clicker.page.on("console", lambda told: clicker.troubles.append(told.text) if told.type == "error" else None)
        clicker.page.on("pageerror", lambda error: clicker.troubles.append(str(error)))
        if logs_in:
            clicker.log_in()
        yield clicker
        context.close()
        assert clicker.troubles == []


def stay(page: Page) -> None:
    """Leave a mark that a reload takes away."""
    page.evaluate("window.loadedOnce = true")


def is_same(page: Page) -> bool:
    return bool(page.evaluate("window.loadedOnce === true"))
