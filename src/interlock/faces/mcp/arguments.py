"""What a tool may be given: its JSON Schema, and the checks that come before anything else.

The SDK passes on whatever a client sends. Here an unknown argument is an error, and so are texts that are too
long, control characters and deep nesting; the message says where.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from interlock.decoding import convert
from interlock.errors import UsageError
from interlock.journal import CONTROL

__all__ = ["Arguments", "checked", "schema_of"]

_MAX_BYTES = 64 * 1024
_MAX_TEXT = 10_000
_MAX_DEPTH = 16
_MAX_ITEMS = 1000
_MAX_WHERE = 100
_MAX_COMPLAINT = 300

Given = TypeVar("Given", bound="Arguments")


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What a tool is given. A text beside a field's type is its description."""


def checked(given: Any, shape: type[Given]) -> Given:
    """The arguments as a value, or an error that names the one that is wrong."""
    if not isinstance(given, dict):
        raise _wrong("The arguments must be one JSON object")
    _examine(given, "", 0)
    size = len(msgspec.json.encode(given))
    if size > _MAX_BYTES:
        raise _wrong(f"The arguments have {size} bytes, and {_MAX_BYTES} are taken at the most")
    try:
        return convert(given, shape)
    except msgspec.ValidationError as error:
        known = ", ".join(field.encode_name for field in msgspec.structs.fields(shape))
        raise _wrong(str(error)[:_MAX_COMPLAINT], f"The arguments are: {known}.") from None


def _examine(value: Any, where: str, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise _wrong(f"{where} is nested more than {_MAX_DEPTH} deep")
    if isinstance(value, str):
        _examine_text(value, where)
    elif isinstance(value, int | float):
        _examine_number(value, where)
    elif isinstance(value, dict | list):
        if len(value) > _MAX_ITEMS:
            raise _wrong(f"{where or 'The arguments'} has {len(value)} items, and {_MAX_ITEMS} are taken at the most")
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(name, str):
                _examine_text(name, "A name of an argument")
            _examine(inner, (f"{where}.{name}" if where else f"`{name}`")[:_MAX_WHERE], depth + 1)


def _examine_text(text: str, where: str) -> None:
    if len(text) > _MAX_TEXT:
        raise _wrong(f"{where} has {len(text)} characters, and {_MAX_TEXT} are taken at the most")
    if CONTROL.search(text) is not None:
        raise _wrong(f"{where} holds a control character")


def _examine_number(number: float, where: str) -> None:
    fits = math.isfinite(number) if isinstance(number, float) else -(1 << 63) <= number < 1 << 63
    if not fits:
        raise _wrong(f"{where} is a number that is out of range", "Whole numbers have 64 bits at the most.")


def _wrong(what: str, hint: str = "Give plain text and keep it short; what is long belongs into a file.") -> UsageError:
    return UsageError("invalid_argument", f"{what}.", hint)


# Schemas


def schema_of(shape: type[msgspec.Struct], fixed: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
    """The JSON Schema of a struct: one flat object; `fixed` replaces what is known better of a field."""
    schema = msgspec.json.schema(shape)
    parts = schema.get("$defs", {})
    root = dict(parts.pop(schema["$ref"].rpartition("/")[2]))
    root.pop("title", None)
    root.pop("description", None)
    hints = get_type_hints(shape, include_extras=True)
    properties = {}
    for field in msgspec.structs.fields(shape):
        plain = _without_null(root["properties"][field.encode_name])
        described = _description(hints[field.name])
        properties[field.encode_name] = plain | described | (fixed or {}).get(field.encode_name, {})
    root["properties"] = properties
    if issubclass(shape, Arguments):
        root["additionalProperties"] = False
    return root | ({"$defs": parts} if parts else {})


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """An argument that may be left out need not be offered as null as well."""
    plain = {key: value for key, value in schema.items() if not (key == "default" and value is None)}
    choices = [one for one in plain.get("anyOf", []) if one != {"type": "null"}]
    if len(choices) == 1 and "default" in schema and schema["default"] is None:
        rest = {key: value for key, value in plain.items() if key != "anyOf"}
        return {**rest, **choices[0]}
    return plain


def _description(hint: Any) -> dict[str, str]:
    said = [one for one in get_args(hint)[1:] if isinstance(one, str)] if get_origin(hint) is Annotated else []
    return {"description": said[0]} if said else {}
