"""Every page reads well: on a telephone, in the dark, with relative times, and where nothing is there yet.

`make screenshots` has the pictures of the docs made here; otherwise they are thrown away.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from exhaustive import EXHAUSTIVE

from .looking import Seen
from .pictures import smaller
from .sites import Site
from .tour import FRESH, NARROW, WIDE, Tour, touring

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CUT = """() => {
  const cut = [], wide = document.documentElement.clientWidth;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node; node = walker.nextNode();) {
    if (!node.data.trim() || !node.parentElement.checkVisibility()) continue;
    if (node.parentElement.closest("svg, option, datalist, dialog, textarea")) continue;
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.right <= 0) continue;
      let left = 0, right = wide, scrolls = false;
      for (let one = node.parentElement; one; one = one.parentElement) {
        const flow = getComputedStyle(one).overflowX, edge = one.getBoundingClientRect();
        scrolls ||= flow === "auto" || flow === "scroll" || getComputedStyle(one).clipPath !== "none";
        if (flow === "hidden") { left = Math.max(left, edge.left); right = Math.min(right, edge.right); }
      }
      if (scrolls || box.left >= left - 1 && box.right <= right + 1) continue;
      cut.push(node.data.trim().slice(0, 80));
      break;
    }
  }
  return cut;
}"""
"""The texts of a page that are outside of it, or of what cuts them off, and that nothing scrolls to;
but for what is clipped away on purpose, for those who hear the page."""
LEVELS = "() => [...document.querySelectorAll('main h1, main h2, main h3')].map(one => +one.tagName[1])"
UNNAMED = """() => [...document.querySelectorAll("main input:not([type=hidden]), main select, main textarea")]
  .filter(one => !one.labels.length && !one.ariaLabel).map(one => one.outerHTML)"""
TIMES = "() => [...document.querySelectorAll('time')].map(one => [one.textContent, one.title, one.dateTime])"
NEVER = {"machines", "machine", "login", "acting", "refused", "missing", "token", "stats", "gate", "changes"}
"""The pages that tell of no time."""
VARIANTS = {"board-found", "ticket-blocked", "session-done", "run-executing", "acting"}
VARIANTS |= {"thread-drafting", "thread-looping", "thread-paused", "thread-done", "threads", "sessions", "refused"}
VARIANTS |= {"travel", "compare", "changes", "missing", "token", "revisions", "entry", "loops", "machines", "login"}
"""The pages that are much like another one, and are looked at where everything is tried."""

ROOT = Path(__file__).parents[3]
SHOWN = (
    *("now", "board", "ticket", "threads", "thread-drafting", "thread-looping", "thread-stuck", "thread-paused"),
    *("thread-reviewing", "gate", "thread-done", "loops", "story", "run", "sessions", "session", "journal", "entry"),
    *("travel", "compare", "machines", "machine", "stats", "login"),
)
"""The pages of which there are pictures; of some, one in the dark or as wide as a telephone, too."""
TAKEN = {
    ("light", "wide"): SHOWN,
    ("dark", "wide"): ("now", "thread-reviewing", "machine"),
    ("light", "small"): ("now", "thread-stuck"),
}
MOST_BYTES = 1_500_000
SCREENSHOTS = os.environ.get("RALPH_TEST_SCREENSHOTS")


def _file(name: str, scheme: str, size: str) -> str:
    return f"{name}{'-dark' if scheme == 'dark' else ''}{'-small' if size == 'small' else ''}.png"


@pytest.fixture(scope="module")
def tour(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    with touring(tmp_path_factory.mktemp("tour"), browser) as found:
        yield found


class _Look(msgspec.Struct, frozen=True):
    """A page on a telephone: what reads badly there, and what its parts say of themselves."""

    sideways: int
    cut: list[str]
    levels: list[int]
    unnamed: list[str]
    times: list[tuple[str, str, str]]


@pytest.fixture(scope="module")
def looks(browser: Browser, tour: Tour) -> dict[str, _Look]:
    """Every kind of page, looked at once."""
    context = tour.open(browser, viewport=NARROW)
    page = context.new_page()
    found = {}
    for name in tour.pages:
        if name in VARIANTS and not EXHAUSTIVE:
            continue
        tour.enter(page, name)
        sideways = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        found[name] = _Look(sideways, *(page.evaluate(one) for one in (CUT, LEVELS, UNNAMED, TIMES)))
    context.close()
    return found


@pytest.mark.exhaustive
def test_on_a_telephone_no_page_scrolls_sideways_and_nothing_is_cut_off(looks: dict[str, _Look]) -> None:
    assert {name: (look.sideways, look.cut) for name, look in looks.items() if look.sideways > 0 or look.cut} == {}


@pytest.mark.exhaustive
def test_headings_leave_out_no_level_and_every_field_has_a_label(looks: dict[str, _Look]) -> None:
    for name, look in looks.items():
        assert look.levels[0] == 1, name
        assert all(after <= before + 1 for before, after in pairwise(look.levels)), (name, look.levels)
        assert look.unnamed == [], name


@pytest.mark.exhaustive
def test_times_are_relative_and_the_exact_one_is_behind_them(looks: dict[str, _Look]) -> None:
    for name, look in looks.items():
        assert look.times or name in NEVER, name
        for said, exact, machine in look.times:
            assert re.fullmatch(r"\d+ (s|min|h|d)", said), name
            assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", exact), name
            assert machine.startswith(exact[:10]), name


def test_the_dark_is_dark_and_the_light_is_light(browser: Browser, tour: Tour) -> None:
    for scheme, is_dark in (("light", False), ("dark", True)):
        context = tour.open(browser, color_scheme=scheme)
        page = context.new_page()
        tour.enter(page, "now")
        grounds = page.evaluate(
            "['body', 'header', 'article.loud', 'article:not(.loud)'].map("
            "one => getComputedStyle(document.querySelector(one)).backgroundColor)"
        )
        for ground in grounds:
            red, green, blue = (int(one) for one in re.findall(r"\d+", ground)[:3])
            assert (red + green + blue < 200) is is_dark, (scheme, grounds)
        context.close()


@pytest.mark.parametrize("path", [path for path in FRESH if path != "/machines"])  # that is in test_machines
def test_where_nothing_is_there_yet_a_page_says_what_to_do_next(site: Site, path: str) -> None:
    seen = Seen(site.page(path))
    if path.startswith("/machine"):
        assert "instance" in seen.text
        return
    assert seen.with_class("empty"), path
    assert re.search(r"ralph (ticket create|thread new|story run|orchestrate|init|session create)", seen.text), path


@pytest.mark.exhaustive
def test_a_picture_of_every_page_can_be_made_and_all_are_small(browser: Browser, tour: Tour, tmp_path: Path) -> None:
    """Where neither everything is tried nor pictures are asked for, these are one of each kind."""
    into = Path(SCREENSHOTS or tmp_path)
    into.mkdir(parents=True, exist_ok=True)
    blank = browser.new_page()
    taken = 0
    for (scheme, size), names in TAKEN.items():
        context = tour.open(browser, color_scheme=scheme, viewport=NARROW if size == "small" else WIDE)
        page = context.new_page()
        for name in names if EXHAUSTIVE or SCREENSHOTS else names[-1:]:
            tour.enter(page, name)
            page.evaluate("document.activeElement?.blur()")
            shot = page.screenshot()
            picture = smaller(blank, shot)
            assert len(picture) < len(shot)
            (into / _file(name, scheme, size)).write_bytes(picture)
            taken += len(picture)
        context.close()
    blank.close()
    assert taken < MOST_BYTES


def test_the_docs_show_the_pictures_that_there_are_and_all_are_small() -> None:
    texts = "".join((ROOT / name).read_text() for name in ("docs/dashboard.md", "docs/index.md", "README.md"))
    shown = set(re.findall(r"assets/dashboard/([\w-]+\.png)", texts))
    files = list((ROOT / "docs" / "assets" / "dashboard").glob("*.png"))
    assert sum(one.stat().st_size for one in files) < MOST_BYTES
    there = {one.name for one in files}
    assert shown == there == {_file(name, *how) for how, names in TAKEN.items() for name in names}
