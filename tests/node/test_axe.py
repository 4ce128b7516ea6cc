"""axe-core over every page of the dashboard, in Chromium: in light and dark, wide and as wide as a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from faces.web.browsers import chromium
from faces.web.tour import NARROW, WIDE, Tour, touring
from node.tools import packages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.node

_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_JUDGE = "rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']}).then(found => found.violations)"
_GRAVE = ("serious", "critical")


@pytest.fixture(scope="module")
def axe() -> str:
    """The judge, as a script."""
    programs = packages(Path(__file__).parent / "axe")
    return (programs.parent / "axe-core" / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def tour(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    with touring(tmp_path_factory.mktemp("tour"), browser) as found:
        yield found


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_finding_or_too_little_contrast(
    browser: Browser, tour: Tour, axe: str, scheme: str, size: dict[str, int]
) -> None:
    context = tour.open(browser, color_scheme=scheme, viewport=size, bypass_csp=True)
    page = context.new_page()
    wrong: dict[str, list[str]] = {}
    for name in tour.pages:
        tour.enter(page, name)
        _unfold(page)
        page.evaluate(axe)
        found = [_said(one) for one in page.evaluate(_JUDGE, _RULES) if _counts(one)]
        wrong |= {name: found} if found else {}
    context.close()
    assert not wrong


def test_the_judge_finds_what_is_wrong(browser: Browser, axe: str) -> None:
    page = browser.new_page()
    page.set_content("<html lang='en'><title>x</title><main><h1>x</h1><p style='color: #999'>pale</p><input></main>")
    page.evaluate(axe)
    found = {one["id"] for one in page.evaluate(_JUDGE, _RULES) if _counts(one)}
    page.close()
    assert found == {"color-contrast", "label"}


def _unfold(page: Page) -> None:
    """What is folded away is judged, too."""
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")


def _counts(finding: dict[str, Any]) -> bool:
    return finding["impact"] in _GRAVE or "contrast" in finding["id"]


def _said(finding: dict[str, Any]) -> str:
    where = [" ".join(str(part) for part in one["target"]) for one in finding["nodes"][:5]]
    return f"{finding['impact']} {finding['id']}: {finding['help']}: {'; '.join(where)}"
