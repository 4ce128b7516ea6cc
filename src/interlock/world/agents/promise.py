"""Promises: the word by which an agent says how its iteration ended."""

from __future__ import annotations

import re

__all__ = ["plain", "promise"]

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_PROMISE = re.compile(
    r"(?:\A|\n)[ \t]*<promise>\s*([A-Za-z][A-Za-z0-9_-]*(?:[ \t]+[A-Za-z0-9_-]+){0,8})\s*</promise>\s*\Z", re.IGNORECASE
)
_END = 1000
"""How much of a text's end is looked at; a promise is short."""


def plain(text: str) -> str:
    """A text without the colours and movements of a terminal."""
    return _ESCAPES.sub("", text)


def promise(text: str) -> str | None:
    """The name in `<promise>NAME</promise>`, in capitals, where that is all of the last line that is not empty."""
    found = _PROMISE.search(plain(text).rstrip()[-_END:])
    return "_".join(found[1].split()).upper() if found else None
