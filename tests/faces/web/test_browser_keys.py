"""In a real browser, without a mouse: a person finds a thread, logs in and makes a move, and sees where they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faces.journals import PERSON, opened
from interlock.machine import Event

from .clicking import Clicker, clicking, is_same, stay

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

MOST = 60
"""So many times Tab is pressed at the most to come anywhere."""


@pytest.fixture
def person(browser: Browser, tmp_path: Path) -> Iterator[Clicker]:
    with clicking(browser, tmp_path, logs_in=False) as found:
        yield found


def _must_be_seen(person: Clicker) -> None:
    """Whatever has the focus has a frame around it, and is on the screen."""
    frame = "(at => [getComputedStyle(at).outlineStyle, at.getBoundingClientRect().height])(document.activeElement)"
    style, height = person.page.evaluate(frame)
    assert style != "none"
    assert height > 0


def _tab_to(person: Clicker, wanted: Locator) -> None:
    for _ in range(MOST):
        person.page.keyboard.press("Tab")
        _must_be_seen(person)
        if wanted.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError("Tab does not lead there")


def test_a_person_without_a_mouse_logs_in_finds_a_thread_and_ends_it(person: Clicker) -> None:
    page, keyboard = person.page, person.page.keyboard
    other, thread = person.arena.new("Other"), person.arena.new("Greet")
    person.open("/")
    keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    dialog.wait_for()
    assert "next, previous" in dialog.inner_text()
    _must_be_seen(person)
    keyboard.press("Escape")
    dialog.wait_for(state="hidden")

    _tab_to(person, page.get_by_role("link", name="Log in to act"))
    keyboard.press("Enter")
    page.wait_for_url("**/login")
    page.locator("input:focus").wait_for()  # the page puts it there
    keyboard.type(person.terminal.login_code())
    keyboard.press("Enter")
    page.get_by_role("link", name="You can act").wait_for()
    person.connected()
    keyboard.press("g")
    keyboard.press("t")
    page.wait_for_url("**/threads")
    person.connected()
    for key, where in (("j", thread), ("j", other), ("j", other), ("k", thread)):
        keyboard.press(key)
        assert page.evaluate("document.activeElement.getAttribute('href')") == f"/thread/{where}"
        _must_be_seen(person)
    keyboard.press("Enter")
    page.wait_for_url(f"**/thread/{thread}")
    person.connected()

    reason = page.locator("#reason-abandon")
    _tab_to(person, reason)
    keyboard.type("it is j")
    stay(page)
    with opened(person.arena.root) as journal:
        journal.append(thread, Event("assess", PERSON))
    page.locator("#menu [data-state='Assessing']").wait_for()
    assert is_same(page)
    _must_be_seen(person)
    keyboard.type("ust not wanted?")
    assert reason.input_value() == "it is just not wanted?"
    assert not dialog.is_visible()
    keyboard.press("Enter")
    person.stands("Abandoned")
    assert person.state == "Abandoned"
    with opened(person.arena.root) as journal:
        last = journal.history(thread)[-1]
    assert (last.event, last.channel, last.reason) == ("abandon", "web", "it is just not wanted?")
