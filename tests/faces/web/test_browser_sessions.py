"""A session goes through the seed's eight states, and a real browser shows each indicator without a reload."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .sites import WAY, Site, walk
from .test_sessions import SEED

if TYPE_CHECKING:
    from playwright.sync_api import Page

_MARK = "window.loadedOnce = true"
_STILL = "window.loadedOnce === true"
_PLACES = {"the session's page": "#head .standing .indicator", "the list": "[data-session='{}'] .indicator"}


def _open(page: Page, site: Site, path: str) -> None:
    """Go to a page that is connected then, and knows whether it is loaded again."""
    page.goto(f"{site.url}{path}")
    page.wait_for_selector("#connection[data-state='open']")
    page.evaluate(_MARK)


def _shows(page: Page, place: str, state: str) -> None:
    """Wait until a state is shown, with the indicator and the colour of the seed's table."""
    color, indicator = SEED[state]
    wanted = f"{place}[data-state='{state}'][data-indicator='{indicator}'][data-color='{color}']"
    page.wait_for_selector(wanted)
    assert page.evaluate(_STILL), "the page was loaded again"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("end", ["done", "failed"])
@pytest.mark.parametrize("place", _PLACES)
def test_each_state_is_shown_without_a_reload(page: Page, site: Site, place: str, end: str) -> None:
    session = site.session()
    is_list = place == "the list"
    _open(page, site, "/sessions" if is_list else f"/session/{session}")
    where = _PLACES[place].format(session)
    _shows(page, where, "idle")
    for state in (*WAY, end):
        walk(site.journal, session, state)
        _shows(page, where, state)


def test_spinners_spin_and_a_pulse_pulses_unless_somebody_wants_no_motion(page: Page, site: Site) -> None:
    session = site.session()
    _open(page, site, f"/session/{session}")
    motion = "getComputedStyle(document.querySelector('#head .standing .mark')).animationName"
    moves = {"analyzing": "spin", "implementing": "pulse", "testing": "spin", "committing": None, "reviewing": "none"}
    for state, wanted in moves.items():
        walk(site.journal, session, state)
        _shows(page, _PLACES["the session's page"], state)
        if wanted:
            page.emulate_media(reduced_motion="no-preference")
            assert page.evaluate(motion) == wanted, state
            page.emulate_media(reduced_motion="reduce")
            assert page.evaluate(motion) == "none", state


def test_a_page_is_readable_at_380_pixels(page: Page, site: Site) -> None:
    session = site.session(agent="a-rather-long-name-of-an-agent " * 5)
    walk(site.journal, session, *WAY)
    page.set_viewport_size({"width": 380, "height": 800})
    for path in ("/sessions", f"/session/{session}"):
        page.goto(f"{site.url}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
