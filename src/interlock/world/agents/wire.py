"""JSON of programs that promise nothing: what is missing, of another type or garbled is nothing, and never an error."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

__all__ = ["about", "amount", "count", "decoded", "encoded", "inner", "items", "words"]

_TELLING = "command cmd file_path filePath path absolute_path pattern query url description prompt".split()
_WIDTH = 200


def decoded(line: bytes) -> Mapping[str, Any]:
    """The object that a line is; an empty one where it is none."""
    if not line.startswith(b"{"):  # most lines of a program that prints text; an exception would take ten times as long
        return {}
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def encoded(value: object) -> bytes:
    """A value as one line of JSON."""
    return msgspec.json.encode(value) + b"\n"


def inner(value: Any, *keys: str) -> Any:
    """What lies at a path of keys; None where there is nothing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def words(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """A number of things: whole, and never below nothing."""
    return max(0, value) if type(value) is int else 0


def amount(value: Any) -> float | None:
    """A number that can be reckoned with."""
    if type(value) not in (int, float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def about(arguments: Any) -> str:
    """The most telling argument of a tool call, of any agent: a command, a path, a pattern; else the first text."""
    if not isinstance(arguments, dict):
        return ""
    told = [words(arguments.get(name)) for name in _TELLING] + [words(value) for value in arguments.values()]
    return " ".join(next((text for text in told if text), "").split())[:_WIDTH]
