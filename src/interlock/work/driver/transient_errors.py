"""PURE. Whether what went wrong may pass by itself: a network, a database or a service that did not answer."""

from __future__ import annotations

from typing import Final

__all__ = ["is_transient_error"]

_PASSING: Final = (
    "timed out",
    "timeout",
    "connection refused",
    "connection reset",
    "temporarily unavailable",
    "503 ",
    "econn",
)


def is_transient_error(failure: str) -> bool:
    """Whether trying again later may help."""
    said = failure.casefold()
    return any(word in said for word in _PASSING)
