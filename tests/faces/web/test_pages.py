"""What holds for all pages together."""

from __future__ import annotations

from interlock.faces.web.pages import PAGES


def test_each_page_of_the_navigation_has_a_key_of_its_own() -> None:
    keys = [page.key for page in PAGES if page.heading]
    assert all(keys)
    assert len(keys) == len(set(keys)), keys
