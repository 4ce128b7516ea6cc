"""Promises: the word by which an agent says how its iteration ended."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["plain", "promise"]

_ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
_PROMISE = re.compile(
    r"^[ \t]*<promise>\s*([A-Za-z][A-Za-z0-9_-]*(?:[ \t]+[A-Za-z0-9_-]+){0,8})\s*</promise>[ \t\r]*$",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def plain(text: str) -> str:
    """A text without the colours and movements of a terminal."""
    return re.sub(_ESCAPES, "", text) if "\x1b" in text else text


def promise(message: str) -> str | None:
    """Return the name in the last `<promise>NAME</promise>` of a message, in capitals, or None.

    It must be a line of its own. One in a sentence, a quotation or a block of code is talk about a promise.
    """
    if "<promise>" not in message and "<promise>" not in message.lower():
        return None
    found = _PROMISE.findall("\n".join(_outside_code(plain(message).split("\n"))))
    return "_".join(found[-1].split()).upper() if found else None


def _outside_code(lines: list[str]) -> Iterator[str]:
    """The lines that are not in a fenced block of code; a fence that nothing closes begins none."""
    fence, held = "", list[str]()
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            held.append(line)
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence, held = "", []
        elif mark:
            fence, held = mark[1], [line]
        else:
            yield line
    yield from held
