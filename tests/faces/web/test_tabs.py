"""All tabs of a browser share one stream, and show on every page when a person is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from exhaustive import EXHAUSTIVE
from interlock.machine import Event
from work.attention.standings import PERSON, thread_in

from .sites import Site, walk
from .test_tickets import ticket_in
from .wires import Wire, wired

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

_PAGES = ("/", "/board", "/threads", "/sessions", "/loops", "/journal", "/machines", "/stats", "/login", "/thread/none")
_SOME = ("/", "/journal", "/login", "/thread/none")
_STUB = """
window.told = [];
window.Notification = class { constructor(title, given) { window.told.push(title + ": " + given.body); } };
window.Notification.permission = "%s";
window.Notification.requestPermission = async () => { window.Notification.permission = "granted"; return "granted"; };
"""


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context() as found:
        yield found


@pytest.fixture
def wire(site: Site) -> Iterator[Wire]:
    with wired(site.url) as found:
        yield found


def _error() -> Any:
    from playwright.sync_api import Error

    return Error


def _opened(context: BrowserContext, url: str, *paths: str) -> list[Page]:
    """Pages that are connected, and have heard how many wait for a person: what is already there is no news."""
    pages = [context.new_page() for _ in paths]
    for page, path in zip(pages, paths, strict=True):
        page.goto(f"{url}{path}")
        page.wait_for_selector("#connection[data-state='open']")
        page.wait_for_selector("#needed [data-waiting]", state="attached")
    return pages


def test_tabs_share_one_stream_and_each_has_its_own_news(context: BrowserContext, site: Site, wire: Wire) -> None:
    session = site.session()
    paths = ("/board", "/threads", f"/session/{session}")
    board, threads, own = _opened(context, wire.url, *paths)
    wire.shows(lambda streams: [sorted(one) for one in streams] == [sorted(("/needed", *paths))])
    number, thread = ticket_in(site), thread_in(site.journal, "Stuck")
    walk(site.journal, session, "analyzing")
    board.wait_for_selector(f"[data-ticket='{number}']")
    threads.wait_for_selector(f"a[href='/thread/{thread}']")
    own.wait_for_selector("#head [data-state='analyzing']")
    wire.shows(lambda streams: len(streams) == 1)
    board.close()
    wire.shows(lambda streams: [sorted(one) for one in streams] == [sorted(("/needed", *paths[1:]))])
    threads.close()
    own.close()
    wire.shows(lambda streams: streams == [])


@pytest.mark.parametrize("which", [0, 1], ids=["that began the stream", "that joined it"])
def test_a_tab_that_crashed_is_shown_no_more_and_the_other_goes_on(
    browser: Browser, context: BrowserContext, site: Site, wire: Wire, which: int
) -> None:
    paths = ["/board", "/threads"]
    pages = _opened(context, wire.url, *paths)
    wire.shows(lambda streams: [sorted(one) for one in streams] == [["/board", "/needed", "/threads"]])
    with suppress(_error()):
        pages[which].goto("chrome://crash")
    wire.shows(lambda streams: streams == [["/needed", paths[1 - which]]])
    title = f"Came after the crash of {which}"
    ticket_in(site, title)
    thread_in(site.journal, "Stuck", title)
    pages[1 - which].wait_for_selector(f"main >> text={title}")


@pytest.mark.exhaustive
def test_every_page_tells_when_a_person_is_needed_and_when_not_any_more(context: BrowserContext, site: Site) -> None:
    pages = _opened(context, site.url, *(_PAGES if EXHAUSTIVE else _SOME))
    titles = [page.title() for page in pages]
    waiting = thread_in(site.journal, "PendingReview")
    for page, title in zip(pages, titles, strict=True):
        count = int(title[1:].partition(")")[0]) if title.startswith("(") else 0
        page.wait_for_function("(start) => document.title.startsWith(start)", arg=f"({count + 1}) ")
        page.wait_for_selector("link[rel=icon][href='/static/icon-waiting.svg']", state="attached")
        assert page.inner_text("#needed").endswith("for you")
    site.journal.append(waiting, Event("abandon", PERSON, reason="not wanted"))
    for page, title in zip(pages, titles, strict=True):
        page.wait_for_function("(title) => document.title === title", arg=title)


def test_a_browser_notifies_once_from_whichever_pages_are_open(context: BrowserContext, site: Site, wire: Wire) -> None:
    context.add_init_script(_STUB % "granted")
    thread_in(site.journal, "PendingReview", "Waits already")
    pages = _opened(context, wire.url, "/board", "/stats", "/sessions")
    _tell(site, pages, "Greet <b>people</b>\u202e")
    assert _told(pages) == ["Waits for you: Greet <b>people</b>⟦U+202E⟧: PendingReview"]
    pages.pop(0).close()
    wire.shows(lambda streams: streams == [["/needed", "/sessions", "/stats"]])  # who is gone cannot notify
    _tell(site, pages, "Say goodbye")
    assert [one for one in _told(pages) if "goodbye" in one] == ["Waits for you: Say goodbye: PendingReview"]


def _tell(site: Site, pages: list[Page], title: str) -> None:
    """Something begins to wait, and all pages know."""
    id_ = thread_in(site.journal, "PendingReview", title)
    for page in pages:
        page.wait_for_selector(f"#needed [data-key^='{id_}']", state="attached")


def _told(pages: list[Page]) -> list[str]:
    return [one for page in pages for one in page.evaluate("window.told")]


def test_notifications_are_offered_with_words_where_nobody_has_decided(context: BrowserContext, site: Site) -> None:
    context.add_init_script(_STUB % "default")
    [page] = _opened(context, site.url, "/")
    thread_in(site.journal, "PendingReview")
    assert "when something begins to wait for you" in page.inner_text("#notify")
    page.click("#notify button")
    page.wait_for_selector("#notify", state="hidden")
    _tell(site, [page], "Greet people")
    page.wait_for_function("() => window.told.length > 0")


def test_notifications_are_not_offered_where_it_is_decided(browser: Browser, site: Site) -> None:
    for decided in ("granted", "denied"):
        with browser.new_context() as context:
            context.add_init_script(_STUB % decided)
            [page] = _opened(context, site.url, "/")
            assert page.is_hidden("#notify")
