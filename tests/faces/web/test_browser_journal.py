"""In a real browser: the journal follows, the slider travels, the drawing grows, and a machine can be dropped in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faces.journals import SYSTEM, reports
from interlock.journal import Journal
from interlock.machine import Event
from work.attention.standings import PERSON, loop_in, run_in, thread_in

from .sites import Site
from .test_machines import OWN

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def _session(site: Site, *states: str) -> str:
    made = site.journal.create("session", Event("created", SYSTEM)).entry.instance
    for state in states:
        site.journal.append(made, reports(state))
    return made


def _open(page: Page, site: Site, path: str) -> None:
    page.goto(f"{site.url}{path}")
    page.wait_for_selector("#connection[data-state='open']")
    page.evaluate("window.loadedOnce = true")


def _is_still_the_same(page: Page) -> bool:
    return bool(page.evaluate("window.loadedOnce === true"))


def test_new_entries_come_in_at_the_top_and_a_held_page_stays(browser: Browser, page: Page, site: Site) -> None:
    session = _session(site, "analyzing")
    _open(page, site, f"/journal?instance={session}")
    seq = site.journal.append(session, reports("implementing")).entry.seq
    page.wait_for_selector(f"#entries li:first-child#e{seq}")
    assert _is_still_the_same(page)
    page.click("text=Hold still")
    page.wait_for_selector("text=Newest, and follow")
    page.wait_for_selector("#connection[data-state='open']")
    later = site.journal.append(session, reports("testing")).entry.seq
    other = browser.new_page()
    other.goto(f"{site.url}/journal?instance={session}")
    other.wait_for_selector(f"#e{later}")
    other.close()
    assert page.query_selector(f"#e{later}") is None


def test_the_filter_works_by_its_form(page: Page, site: Site) -> None:
    session = _session(site, "analyzing")
    _open(page, site, "/journal")
    page.fill("#instance", session[-8:])
    page.fill("#event", "created")
    page.press("#event", "Enter")
    page.wait_for_url("**instance=*")
    assert page.locator("#entries li").count() == 1


def test_the_slider_puts_it_back_without_a_reload(page: Page, site: Site) -> None:
    session = _session(site, "analyzing", "implementing", "testing")
    _open(page, site, f"/at/{session}")
    page.wait_for_selector("#moment .state-now >> text=Testing")
    page.focus("#version")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#moment .state-now >> text=Implementing")
    page.keyboard.press("Home")
    page.wait_for_selector("#moment .state-now >> text=Idle")
    page.wait_for_url("**version=1")
    assert _is_still_the_same(page)
    page.reload()
    page.wait_for_selector("#moment .state-now >> text=Idle")
    assert page.input_value("#version") == "1"


def test_whoever_looks_at_the_newest_goes_with_it(page: Page, site: Site) -> None:
    session = _session(site, "analyzing")
    _open(page, site, f"/at/{session}")
    site.journal.append(session, reports("implementing"))
    page.wait_for_selector("#moment .state-now >> text=Implementing")
    page.wait_for_selector("#version[max='3']")
    assert page.input_value("#version") == "3"
    page.focus("#version")
    page.keyboard.press("Home")
    page.wait_for_selector("#moment .state-now >> text=Idle")
    site.journal.append(session, reports("testing"))
    page.wait_for_selector("#version[max='4']")
    page.wait_for_selector("#moment .state-now >> text=Idle")
    assert page.input_value("#version") == "1"


def test_a_threads_own_page_is_put_back_and_stays_there_while_it_goes_on(page: Page, site: Site) -> None:
    thread = thread_in(site.journal, "PendingReview")
    newest = site.journal.instance(thread).version
    _open(page, site, f"/thread/{thread}")
    here = ".phases [aria-current='step']"
    page.wait_for_selector(f"{here} >> text=Pending Review")
    page.click("text=Back in time")
    page.focus("#version")
    page.keyboard.press("Home")
    page.wait_for_selector(f"{here} >> text=Drafting")
    page.wait_for_selector(f"text=As it was after entry 1 of {newest}")
    assert page.locator("#menu button, #writing button").count() == 0, "the past is not moved"
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(f"{here} >> text=Finalized")
    page.wait_for_url("**at=2")
    site.journal.append(thread, Event("abandon", PERSON, reason="not wanted"))
    page.wait_for_selector(f"#version[max='{newest + 1}']")
    assert page.locator(f"{here} >> text=Finalized").count() == 1
    assert page.input_value("#version") == "2"
    assert _is_still_the_same(page)
    page.reload()
    page.wait_for_selector(f"{here} >> text=Finalized")
    page.focus("#version")
    page.keyboard.press("End")
    page.wait_for_selector(f"{here} >> text=Abandoned")
    page.click("text=As it is now")
    page.wait_for_url(f"**/thread/{thread}")
    page.wait_for_selector("#way >> text=abandon", state="attached")
    assert page.locator("text=As it was after entry").count() == 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("path", "made"), [("story", partial(loop_in, state="EXIT")), ("run", partial(run_in, state="Exit"))]
)
def test_the_page_of_a_loop_or_run_is_put_back(
    page: Page, site: Site, path: str, made: Callable[[Journal], str]
) -> None:
    id_ = made(site.journal)
    _open(page, site, f"/{path}/{id_}")
    page.click("text=Back in time")
    page.focus("#version")
    page.keyboard.press("Home")
    page.wait_for_selector(f"text=As it was after entry 1 of {site.journal.instance(id_).version}")
    assert _is_still_the_same(page)


def test_without_script_the_slider_is_a_form(browser: Browser, site: Site) -> None:
    session = _session(site, "analyzing")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.url}/at/{session}")
    page.focus("#version")
    page.keyboard.press("Home")
    page.click("text=Go there")
    page.wait_for_url("**version=1")
    assert "Idle" in page.inner_text("#moment .state-now")
    page.goto(f"{site.url}/machine/thread")
    assert page.is_visible("svg.interlock")
    assert not page.is_visible("[data-zoom-buttons]")
    context.close()


def test_the_drawing_grows_and_keeps_its_size_while_it_lives(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    _open(page, site, "/machine/session")
    width = "document.querySelector('svg.interlock').getBoundingClientRect().width"
    first = page.evaluate(width)
    page.click("[data-zoom=in]")
    larger = page.evaluate(width)
    assert larger > first
    page.focus("[data-zoom-frame]")
    page.keyboard.press("+")
    largest = page.evaluate(width)
    assert largest > larger
    before = page.locator("svg.interlock .count").count()
    _session(site, "committing")
    page.wait_for_selector("svg.interlock .count >> nth=0")
    page.wait_for_function(f"document.querySelectorAll('svg.interlock .count').length >= {max(1, before)}")
    page.wait_for_selector("#states >> text=Committing")
    assert abs(page.evaluate(width) - largest) < 1
    page.keyboard.press("0")
    assert page.evaluate(width) <= 380
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    assert _is_still_the_same(page)


def test_a_machine_of_ones_own_is_dropped_in(page: Page, site: Site, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    _open(page, site, "/machines")
    page.set_input_files("#file", file)
    page.click("text=Check it")
    page.wait_for_selector("text=unreachable_state")
    page.wait_for_selector("svg.interlock")
    page.fill("#text", OWN.replace("Begin", "Start"))
    page.click("text=Check it")
    page.wait_for_selector("text=it begins in Start")
