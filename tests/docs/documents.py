"""The documents under test: their fenced blocks, their headings, and the program that generates a part of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from docs.generators import columns, commands, findings, keys, markdown, meanings

from docs import generate

ROOT = Path(__file__).parents[2]

__all__ = [
    "DOCS",
    "PAGES",
    "README",
    "ROOT",
    "Block",
    "anchors",
    "blocks",
    "columns",
    "commands",
    "findings",
    "generate",
    "keys",
    "markdown",
    "meanings",
    "name_of",
    "text_of",
]

DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
_PAIR = re.compile(r'(\w+)="?([\w./-]+)"?')
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


class Block(msgspec.Struct, frozen=True):
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    body: str
    file: str | None
    """The name that the page's commands know it by."""
    settings: str | None
    """Whether it is of `ralph.toml`: a part of it, unless it is the file itself."""
    broken: str | None
    """The one finding that the checker must have, if it is an example of a fault."""


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str | None = None) -> list[Block]:
    """The fenced blocks of a page in order, all of them or those in one language."""
    return [block for block in _blocks(page) if language in (None, block.language)]


def _blocks(page: Path) -> Iterator[Block]:
    text = text_of(page)
    for found in _FENCE.finditer(text):
        info = found["info"]
        pairs = dict(_PAIR.findall(info))
        line = text.count("\n", 0, found.start()) + 1
        language = re.split(r"[\s}]", info.strip("{ ").lstrip("."))[0]
        file = pairs.get("file")
        settings = "whole" if file == "ralph.toml" else pairs.get("settings")
        yield Block(page, line, language, found["body"], file, settings, pairs.get("broken"))


def anchors(page: Path) -> set[str]:
    """The ids that a page's headings get, as MkDocs makes them."""
    text = _FENCE.sub("", text_of(page))
    return {_slug(heading) for heading in _HEADING.findall(text)}


def _slug(heading: str) -> str:
    plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)
