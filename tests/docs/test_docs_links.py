"""Every link of the documents leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import DOCS, PAGES, README, ROOT, anchors, name_of, text_of

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_OUTSIDE = ("https://", "http://", "mailto:")


@pytest.mark.parametrize("page", [README, *PAGES], ids=name_of)
def test_every_relative_link_resolves(page: Path) -> None:
    for link in _LINK.findall(text_of(page)):
        if link.startswith(_OUTSIDE):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)}: {link}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = text_of(ROOT / "mkdocs.yml").partition("\nnav:")[2]
    listed = re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


def test_nothing_comes_from_outside() -> None:
    for page in [*PAGES, *DOCS.rglob("*.css")]:
        assert not re.search(r"(src=|url\(|@import)", text_of(page)), name_of(page)
    assert "highlightjs: false" in text_of(ROOT / "mkdocs.yml")
