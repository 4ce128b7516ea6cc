"""PURE. Reduce an index to its entries: paths, modes, blobs and flags, without the caches that git trusts.

Git skips a file whose times and size match the stat data in the index, reuses the trees cached in it, and skips
directories that its untracked cache calls unchanged. A program that writes the index can forge all three. Without them,
git reads every file and compares its content.
"""

from __future__ import annotations

import hashlib
import struct
from functools import lru_cache

__all__ = ["NEEDS_GIT", "entries_only", "has_unseen_entries", "without_stat_data"]

NEEDS_GIT = frozenset({b"link", b"sdir"})
"""Extensions of a split index and of a sparse index: git has to expand them first."""
_BEFORE_MODE, _AFTER_MODE, _STAT = 24, 28, 40
_ASSUMED, _EXTENDED, _NAME = 0x8000, 0x4000, 0x0FFF
_SKIPPED = 0x40
"""In the first byte of the extended flags."""


@lru_cache(maxsize=2)  # a driver reads the user's index and its own again and again, and they seldom change
def entries_only(content: bytes, algorithm: str) -> tuple[bytes, frozenset[bytes]]:
    """Return the index without stat data and extensions, and the names of the extensions.

    Raises ValueError, IndexError or struct.error if the index is malformed.
    """
    size = hashlib.new(algorithm).digest_size
    places, end = _entries(content, size)
    entries = bytes(_blanked(content, places)[:end])
    return entries + hashlib.new(algorithm, entries).digest(), _extensions(content[end:-size])


def without_stat_data(content: bytes, algorithm: str) -> bytes:
    """Return an index that only we wrote without its stat data; its cached trees stay. Raises as above."""
    size, blank = hashlib.new(algorithm).digest_size, bytes(_BEFORE_MODE)
    places = [one for one in _entries(content, size)[0] if not content.startswith(blank, one[0])]
    made = bytes(_blanked(content, places)[:-size])
    return made + hashlib.new(algorithm, made).digest()


def _blanked(content: bytes, places: list[tuple[int, int]]) -> bytearray:
    made = bytearray(content)
    blank = bytes(_BEFORE_MODE), bytes(_STAT - _AFTER_MODE)
    for place, _ in places:
        made[place : place + _BEFORE_MODE] = blank[0]
        made[place + _AFTER_MODE : place + _STAT] = blank[1]
    return made


def has_unseen_entries(content: bytes, algorithm: str) -> bool:
    """True if git was told not to look at a file (`--assume-unchanged`, `--skip-worktree`); raises as above."""
    size = hashlib.new(algorithm).digest_size
    return any(
        flags & _ASSUMED or (flags & _EXTENDED and content[place + _STAT + size + 2] & _SKIPPED)
        for place, flags in _entries(content, size)[0]
    )


@lru_cache(maxsize=2)  # the same index is asked for its entries and for those that git does not look at
def _entries(content: bytes, size: int) -> tuple[list[tuple[int, int]], int]:
    """Return where each entry begins, with its flags, and where the last one ends."""
    signature, version, count = struct.unpack_from(">4sII", content)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("unknown format or version")
    found, place, flags_at = [], 12, _STAT + size
    for _ in range(count):
        (flags,) = struct.unpack_from(">H", content, place + flags_at)
        found.append((place, flags))
        name = place + flags_at + (4 if flags & _EXTENDED else 2)
        if version == 4:  # a varint, the number of bytes to drop from the previous name; then the suffix, not padded
            while content[name] & 0x80:
                name += 1
            place = content.index(b"\0", name + 1) + 1
        else:
            length = flags & _NAME
            end = name + length if length < _NAME else content.index(b"\0", name)
            place += (end - place + 8) // 8 * 8
    if place + size > len(content):
        raise ValueError("it is truncated")
    return found, place


def _extensions(rest: bytes) -> frozenset[bytes]:
    found, place = set(), 0
    while place + 8 <= len(rest):
        name, length = struct.unpack_from(">4sI", rest, place)
        found.add(name)
        place += 8 + length
    return frozenset(found)
