"""PURE. A value as the plain data that `--json` prints: every struct by the names of its fields.

A struct that MCP gives as well has other names there (`rename`); what is left out because it is the default is left
out in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["as_data"]

_EMPTY = (list, dict, set)


def as_data(value: object) -> Any:
    """A struct, or anything made of structs, as dicts, lists and plain values."""
    if isinstance(value, msgspec.Struct):
        return {name: as_data(one) for name, one in _fields(value)}
    if isinstance(value, Mapping):
        return {str(name): as_data(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_data(one) for one in value]
    if isinstance(value, Enum):  # a number of ours says nothing to others
        return value.name.lower() if isinstance(value, IntEnum) else value.value
    return str(value) if isinstance(value, Path) else value


def _fields(value: msgspec.Struct) -> list[tuple[str, object]]:
    names = value.__struct_fields__
    found = [(name, getattr(value, name)) for name in names]
    if not value.__struct_config__.omit_defaults:
        return found
    defaults = value.__struct_defaults__
    without = len(names) - len(defaults)
    return found[:without] + [
        (name, one) for (name, one), default in zip(found[without:], defaults, strict=True) if not _is(one, default)
    ]


def _is(one: object, default: object) -> bool:
    """True if msgspec would leave the value out as its field's default."""
    factory = getattr(default, "factory", None)
    if factory in _EMPTY:
        return isinstance(one, factory) and not one
    return one is default
