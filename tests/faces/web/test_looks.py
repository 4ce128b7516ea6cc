"""Every page reads well: on a telephone, in the dark, with relative times, and where nothing is there yet.

`make screenshots` has the pictures of the docs made here; otherwise they are thrown away.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .looking import Seen
from .pictures import smaller
from .sites import Site
from .tour import FRESH, NARROW, WIDE, Tour, touring

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
NEVER = {"machines", "machine", "login", "acting", "refused", "missing", "token", "stats", "gate", "changes"}
"""The pages that tell of no time."""

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


def _file(name: str, scheme: str, size: str) -> str:
    return f"{name}{'-dark' if scheme == 'dark' else ''}{'-small' if size == 'small' else ''}.png"


@pytest.fixture(scope="module")
def tour(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    with touring(tmp_path_factory.mktemp("tour"), browser) as found:
        yield found


def _sideways(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_on_a_telephone_no_page_scrolls_sideways_and_nothing_is_cut_off(browser: Browser, tour: Tour) -> None:
    context = tour.open(browser, viewport=NARROW)
    page = context.new_page()
    wrong: dict[str, list[str]] = {}
    for name in tour.pages:
        tour.enter(page, name)
        found = [f"scrolls by {over} px" for over in [_sideways(page)] if over > 0] + page.evaluate(CUT)
        wrong |= {name: found} if found else {}
    context.close()
    assert not wrong


def test_times_are_relative_and_the_exact_one_is_behind_them(browser: Browser, tour: Tour) -> None:
    context = tour.open(browser)
    page = context.new_page()
    for name in tour.pages:
        tour.enter(page, name)
        times = page.locator("time").evaluate_all("all => all.map(one => [one.textContent, one.title, one.dateTime])")
        assert times or name in NEVER, name
        for said, exact, machine in times:
            assert re.fullmatch(r"\d+ (s|min|h|d)", said), name
            assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", exact), name
            assert machine.startswith(exact[:10]), name
    context.close()


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


@pytest.mark.parametrize("path", FRESH)
def test_where_nothing_is_there_yet_a_page_says_what_to_do_next(site: Site, path: str) -> None:
    seen = Seen(site.page(path))
    if path.startswith("/machine"):
        assert "instance" in seen.text
        return
    assert seen.with_class("empty"), path
    assert re.search(r"ralph (ticket create|thread new|story run|orchestrate|init|session create)", seen.text), path


def test_a_picture_of_every_page_can_be_made_and_all_are_small(browser: Browser, tour: Tour, tmp_path: Path) -> None:
    into = Path(os.environ.get("RALPH_TEST_SCREENSHOTS") or tmp_path)
    into.mkdir(parents=True, exist_ok=True)
    blank = browser.new_page()
    taken = 0
    for (scheme, size), names in TAKEN.items():
        context = tour.open(browser, color_scheme=scheme, viewport=NARROW if size == "small" else WIDE)
        page = context.new_page()
        for name in names:
            tour.enter(page, name)
            page.evaluate("document.activeElement?.blur()")
            picture = smaller(blank, page.screenshot())
            (into / _file(name, scheme, size)).write_bytes(picture)
            taken += len(picture)
        context.close()
    blank.close()
    assert taken < MOST_BYTES


def test_the_docs_show_the_pictures_that_there_are() -> None:
    texts = "".join((ROOT / name).read_text() for name in ("docs/dashboard.md", "docs/index.md", "README.md"))
    shown = set(re.findall(r"assets/dashboard/([\w-]+\.png)", texts))
    there = {one.name for one in (ROOT / "docs" / "assets" / "dashboard").glob("*.png")}
    assert shown == there == {_file(name, *how) for how, names in TAKEN.items() for name in names}
