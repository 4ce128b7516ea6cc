"""In a real browser, a page lives on under a person's hands: what they typed, opened and stand on stays theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.machine import Event
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.handoff import handoff
from work.attention.standings import PERSON, noted, thread_in

from .clicking import is_same, stay
from .sites import Site
from .test_tickets import ticket_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """A page on which nothing fails, and that is not loaded again."""
    yield page
    assert is_same(page)


def _open(page: Page, site: Site, path: str) -> None:
    page.goto(f"{site.url}{path}")
    page.wait_for_selector("#connection[data-state='open']")
    stay(page)


def _focused(page: Page, attribute: str) -> str | None:
    """An attribute of the element that has the focus, where it can be seen that it has."""
    assert page.evaluate("document.activeElement.matches(':focus-visible')")
    found: str | None = page.evaluate("name => document.activeElement.getAttribute(name)", attribute)
    return found


def test_a_reason_stays_with_its_cursor_while_the_ticket_moves(page: Page, site: Site) -> None:
    number = ticket_in(site)
    _open(page, site, f"/ticket/{number}")
    page.fill("#reason", "who decides this?")
    page.evaluate("document.getElementById('reason').setSelectionRange(4, 11, 'backward')")
    site.journal.transact(handoff(Caller(PERSON), number, to="Ready for Plan", reason="it is clear"))
    page.wait_for_selector("#hand-Research-Needed", state="detached")
    assert _focused(page, "id") == "reason"
    where = "['selectionStart', 'selectionEnd', 'selectionDirection'].map(one => document.activeElement[one])"
    assert page.evaluate(where) == [4, 11, "backward"]
    page.keyboard.type("really decides")
    page.keyboard.press("Enter")  # which chooses nothing
    assert not page.is_visible("#moves button[disabled]")
    assert page.input_value("#reason") == "who really decides this?"


def test_what_is_typed_for_one_move_is_not_said_with_another(page: Page, site: Site) -> None:
    thread = thread_in(site.journal, "PendingReview")
    _open(page, site, f"/thread/{thread}")
    page.fill("#reason-reject", "it is rude")
    page.fill("#reason-abandon", "perhaps")
    site.journal.append(thread, Event("reverify", PERSON))
    page.wait_for_selector("#menu [data-state='Verifying']")
    assert page.input_value("#reason-abandon") == "perhaps"
    assert page.locator("#menu input:not([type=hidden])").count() == 1


def test_a_spec_that_is_being_written_stays_while_another_is_kept(browser: Browser, page: Page, site: Site) -> None:
    thread = thread_in(site.journal, "Drafting")
    _open(page, site, f"/thread/{thread}")
    page.fill("#spec-text", "# Mine\n\nfirst")
    noted(site.journal, thread, "revised", revision=1, sha256="0" * 64, text="# Theirs\n")
    page.wait_for_selector("#spec >> text=# Theirs")
    assert page.is_visible("#spec-text"), "it is closed where there is a spec, but not under somebody's hands"
    page.keyboard.type(" and second")
    assert page.input_value("#spec-text") == "# Mine\n\nfirst and second"
    other = browser.new_page()
    other.goto(page.url)
    assert other.input_value("#spec-text") == "# Theirs\n"
    assert not other.is_visible("#spec-text")
    other.close()


def test_what_is_not_touched_follows_and_what_is_chosen_stays(page: Page, site: Site) -> None:
    thread = thread_in(site.journal, "Paused")
    _open(page, site, f"/thread/{thread}")
    choose, tell = page.locator("#writing details").last, page.locator("#writing details").first
    tell.locator("summary").click()
    page.fill("#say-context", "look at the clock")
    assert not page.is_visible("#config-driver")
    site.journal.append(thread, Event("reconfigure", PERSON))
    page.wait_for_selector("#config-driver", state="visible")  # it opens by itself where it is what comes next
    page.select_option("#config-driver", "story")
    page.fill("#config-iterations", "9")
    choose.locator("summary").click()
    site.journal.append(thread, Event("start", PERSON))
    site.journal.append(thread, Event("pause", PERSON))
    page.wait_for_selector("#menu [data-state='Paused']")
    assert page.input_value("#say-context") == "look at the clock"
    assert page.is_visible("#say-context")


def test_what_was_opened_stays_open_and_what_was_scrolled_stays_there(page: Page, site: Site) -> None:
    thread = thread_in(site.journal, "Running", reason="long ago\n" * 200)
    _open(page, site, f"/thread/{thread}")
    page.click("#way summary")
    page.evaluate("document.querySelector('.reason').scrollTop = 100")
    moves = page.inner_text("#way summary")
    site.journal.append(thread, Event("pause", PERSON, reason="long ago\n" * 200))
    page.wait_for_function("was => document.querySelector('#way summary').textContent.trim() !== was", arg=moves)
    assert page.locator("#way details[open] tbody tr").count() > 1
    assert page.evaluate("document.querySelector('.reason').scrollTop") == 100


def test_the_focus_stays_on_its_row_while_others_come_and_goes_to_its_part_when_it_is_gone(
    page: Page, site: Site
) -> None:
    thread = thread_in(site.journal, "Drafting", "Mine")
    _open(page, site, "/threads")
    page.keyboard.press("j")
    assert _focused(page, "href") == f"/thread/{thread}"
    later = thread_in(site.journal, "Drafting", "Theirs")
    page.wait_for_selector(f"a[href='/thread/{later}']")
    assert _focused(page, "href") == f"/thread/{thread}"
    page.keyboard.press("k")
    assert _focused(page, "href") == f"/thread/{later}"
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/thread/{later}")
    page.wait_for_selector("#connection[data-state='open']")
    stay(page)
    page.wait_for_selector("#menu button >> nth=0")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent.trim()") == "Finalize"
    site.journal.append(later, Event("abandon", PERSON, reason="not wanted"))
    page.wait_for_selector("#menu button", state="detached")
    assert _focused(page, "id") == "menu"


_TEXT = st.sampled_from(["", " ", "a", "b"])
_NAMES = st.sampled_from(["1", "2", "3", "4"])
_LEAVES = st.one_of(
    _TEXT,
    st.builds("<p>{}</p>".format, _TEXT),
    st.builds("<!--{}-->".format, _TEXT),
    st.builds('<a href="/{}">{}</a>'.format, _NAMES, _TEXT),
    st.builds('<b class="{}">{}</b>'.format, _NAMES, _TEXT),
    st.builds('<input name="{}" value="{}">'.format, _NAMES, _TEXT),
    st.builds(
        "<details{}><summary>{} moves</summary>{}</details>".format, st.sampled_from(["", ' open=""']), _NAMES, _TEXT
    ),
)
_TREES = st.recursive(
    st.lists(_LEAVES, max_size=4).map("".join),
    lambda inside: st.lists(
        st.one_of(
            _LEAVES,
            st.builds("<div>{}</div>".format, inside),
            st.builds("<ul><li>{}</li></ul>".format, inside),
            st.builds('<form action="/{}">{}</form>'.format, _NAMES, _TEXT),
        ),
        max_size=5,
    ).map("".join),
    max_leaves=12,
)


def test_whatever_was_shown_becomes_exactly_what_arrives(page: Page, site: Site) -> None:
    _open(page, site, "/login")
    swap = """([shown, wanted]) => {
        const here = document.createElement("section"), there = document.createElement("template");
        here.innerHTML = shown; there.innerHTML = wanted;
        const expected = there.innerHTML;
        fitAll(here, there.content, []);
        return [here.innerHTML, expected];
    }"""

    @settings(suppress_health_check=list(HealthCheck))
    @given(_TREES, _TREES)
    def becomes(shown: str, wanted: str) -> None:
        made, expected = page.evaluate(swap, [shown, wanted])
        assert made == expected

    becomes()
