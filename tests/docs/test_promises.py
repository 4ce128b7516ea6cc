"""Every test that stands behind a promise is there, and every promise has some."""

from __future__ import annotations

import ast
import re

from documents import DOCS, README, ROOT, anchors, text_of

_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_SECTION = re.compile(r"^## ", re.MULTILINE)
_PAGE = DOCS / "promises.md"
_NO_PROMISES = ("With the sandbox, without it, and with a key", "Not promised at all")


def test_every_test_that_is_named_exists() -> None:
    named = _NAMED.findall(text_of(_PAGE))
    assert named
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        known = {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert name in known, f"{file}::{name}"


def test_every_promise_says_what_it_does_not_mean_and_has_tests() -> None:
    sections = [one for one in _SECTION.split(text_of(_PAGE))[1:] if not one.startswith(_NO_PROMISES)]
    assert len(sections) == 6
    for section in sections:
        assert "\nNot promised:\n" in section
        assert len(_NAMED.findall(section)) >= 2, section


def test_the_readme_gives_each_promise_with_a_link_to_it() -> None:
    linked = set(re.findall(r"docs/promises\.md#([\w-]+)", text_of(README)))
    promised = anchors(_PAGE) - {"what-is-promised-and-what-is-not", "not-promised-at-all"}
    assert linked == promised
