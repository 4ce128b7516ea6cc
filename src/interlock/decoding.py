"""Read JSON and plain values into typed ones, from any thread.

msgspec compiles the field types of a struct on first use, and publishes them before all are there. Two threads that use
a type for the first time at the same moment therefore crash the interpreter. Here a type is compiled under a lock
before anything is read into it; `tests/test_layers.py` holds that nothing else in the package reads into types.
"""

from __future__ import annotations

from threading import RLock
from typing import Any, TypeVar

import msgspec

__all__ = ["convert", "decode", "decoder"]

Value = TypeVar("Value")
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_compiling = RLock()


def decoder(type_: type[Value]) -> msgspec.json.Decoder[Value]:
    """Return the decoder of a type, for JSON that is read again and again."""
    found = _decoders.get(type_)
    if found is None:
        with _compiling:
            found = _decoders[type_] = msgspec.json.Decoder(type_)
    return found


def decode(content: bytes | str, type_: type[Value]) -> Value:
    """Return the value of a JSON text; raises `msgspec.DecodeError` if it is invalid."""
    return decoder(type_).decode(content)


def convert(value: object, type_: type[Value]) -> Value:
    """Return a plain value as a typed one; raises `msgspec.ValidationError` if it is invalid."""
    decoder(type_)  # compiles it
    return msgspec.convert(value, type_)
