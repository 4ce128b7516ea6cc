"""Ids and times: opaque, sortable, made from a clock and randomness that are passed in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

__all__ = ["Source", "is_suffix", "make_id", "milliseconds_of", "time_text"]

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 26
_SHORTEST = 4


class Source(msgspec.Struct, frozen=True):
    """Where times and ids come from."""

    now: Callable[[], int]
    """Nanoseconds since 1970."""
    randomness: Callable[[int], bytes]


def make_id(milliseconds: int, randomness: bytes) -> str:
    """A lower-case ULID: 48 bits of time and 80 bits of randomness in 26 characters."""
    number = (milliseconds & (1 << 48) - 1) << 80 | int.from_bytes(randomness[:10])
    return "".join(_DIGITS[number >> shift & 31] for shift in range(125, -5, -5))


def milliseconds_of(id_: str) -> int:
    """The time in an id, in milliseconds since 1970."""
    number = 0
    for digit in id_:
        number = number << 5 | _DIGITS.index(digit)
    return number >> 80


def is_suffix(text: str) -> bool:
    """Whether a text can be the end of an id: 4 characters or more."""
    return _SHORTEST <= len(text) <= _LENGTH and set(text) <= set(_DIGITS)


def time_text(nanoseconds: int) -> str:
    """A time as people and databases read it: UTC, RFC 3339, with milliseconds and Z."""
    return f"{_second_text(nanoseconds // 1_000_000_000)}.{nanoseconds // 1_000_000 % 1000:03d}Z"


@lru_cache(maxsize=2)
def _second_text(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
