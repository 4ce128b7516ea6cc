"""The first page in a real browser: what begins to wait for a person appears, in the title and the icon, too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from interlock.machine import Event
from work.attention.standings import PERSON, thread_in

from .sites import Site
from .test_tickets import STATES, ticket_in

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_what_waits_appears_and_goes_without_a_reload(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/")
    page.wait_for_selector("#connection[data-state='open']")
    page.wait_for_selector("#needed [data-waiting]", state="attached")
    before = page.title()
    count = int(found[1]) if (found := re.match(r"\((\d+)\) ", before)) else 0
    assert before == (f"({count}) " if count else "") + "Now · Interlock"
    id_ = thread_in(site.journal, "PendingReview", "Greet <b>people</b>")
    card = page.wait_for_selector(f"article.loud[data-waits='{id_}']")
    assert card is not None
    assert "Greet <b>people</b>" in card.inner_text()
    page.wait_for_function("title => document.title === title", arg=f"({count + 1}) Now · Interlock")
    assert page.evaluate("document.querySelector('link[rel=icon]').href").endswith("icon-waiting.svg")
    site.journal.append(id_, Event("abandon", PERSON, reason="not wanted"))
    page.wait_for_selector(f"article[data-waits='{id_}']", state="detached")
    page.wait_for_function("title => document.title === title", arg=before)


def test_the_keyboard_leads_from_what_waits_to_its_page(page: Page, site: Site) -> None:
    first, second = thread_in(site.journal, "Stuck"), thread_in(site.journal, "Paused")
    page.goto(f"{site.url}/")
    for id_ in (first, second):
        page.wait_for_selector(f"article[data-waits='{id_}']")
    waiting = page.locator("[data-row]").evaluate_all("all => all.map(one => one.querySelector('a').pathname)")
    assert waiting.index(f"/thread/{first}") < waiting.index(f"/thread/{second}")
    for path in waiting:
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.pathname") == path


def test_the_board_scrolls_in_itself_and_the_page_does_not(page: Page, site: Site) -> None:
    for state in STATES:
        ticket_in(site, state=state)
    page.set_viewport_size({"width": 1000, "height": 700})
    page.goto(f"{site.url}/board")
    wide = "document.querySelector('.board').scrollWidth > document.querySelector('.board').clientWidth"
    assert page.evaluate(wide)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000
    page.set_viewport_size({"width": 380, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
