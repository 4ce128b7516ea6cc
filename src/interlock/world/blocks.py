"""PURE. Blocks of ours in texts of others: between two lines that are comments there, and with a version.

A block that is put at the end of a text and taken out again leaves the very text from before.
"""

from __future__ import annotations

import re
from enum import Enum

import msgspec

__all__ = ["BlockFault", "Fence", "FencedBlock", "find", "put", "take"]


class Fence(Enum):
    """The lines around a block, by the language of the text."""

    MARKDOWN = ("<!-- ", " -->")
    HASH = ("# ", "")
    SLASHES = ("// ", "")

    def begin(self, version: int) -> str:
        return f"{self.value[0]}ralph:begin v{version}{self.value[1]}"

    @property
    def end(self) -> str:
        return f"{self.value[0]}ralph:end{self.value[1]}"


class BlockFault(Exception):
    """The fences in the text are not one pair."""


class FencedBlock(msgspec.Struct, frozen=True):
    """Where a block is in a text, and what is in it."""

    start: int
    end: int
    """Behind the closing fence, before the end of its line."""
    version: int
    body: str
    newline: str


def find(text: str, fence: Fence) -> FencedBlock | None:
    """The block in a text. Half a block, or more than one, is a fault."""
    begins = list(re.finditer(_line(fence.begin(0)).replace("v0", r"v([0-9]{1,6})"), text))
    ends = list(re.finditer(_line(fence.end), text))
    if not begins and not ends:
        return None
    if len(begins) > 1 or len(ends) > 1:
        raise BlockFault("our block is there more than once")
    if not begins or not ends or ends[0].start() < begins[0].end():
        raise BlockFault("half of our block is gone")
    newline = "\r\n" if text.startswith("\r\n", begins[0].end()) else "\n"
    body = text[begins[0].end() + len(newline) : ends[0].start()]
    return FencedBlock(begins[0].start(), ends[0].end(), int(begins[0][1]), body.replace("\r\n", "\n"), newline)


def _line(words: str) -> str:
    return rf"(?:(?<=\n)|(?<=\A)|(?<=\A\ufeff)){re.escape(words)}[ \t]*(?=\r?\n|\Z)"


def put(text: str, fence: Fence, version: int, body: str) -> str:
    """The text with the block: in its place if it is there, else at the end, after an empty line."""
    found = find(text, fence)
    newline = found.newline if found else _newline(text)
    ours = newline.join([fence.begin(version), *body.removesuffix("\n").split("\n"), fence.end])
    if found:
        return text[: found.start] + ours + text[found.end :]
    if not text.removeprefix("\ufeff"):
        return text + ours + newline
    if text.endswith("\n"):
        return text + newline + ours + newline
    return text + newline * 2 + ours


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text and text.index("\r\n") == text.index("\n") - 1 else "\n"


def take(text: str, fence: Fence) -> str:
    """The text without the block, and without the lines' ends that came with it."""
    found = find(text, fence)
    if found is None:
        return text
    before, after = text[: found.start], text[found.end :]
    if after.startswith(found.newline):
        after = after[len(found.newline) :]
        return before.removesuffix(found.newline) + after
    return before.removesuffix(found.newline).removesuffix(found.newline) + after
