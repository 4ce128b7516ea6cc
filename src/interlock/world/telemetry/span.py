"""PURE. A span, and spans as OTLP's JSON: https://opentelemetry.io/docs/specs/otlp/ (JSON Protobuf Encoding)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

__all__ = ["Span", "SpanEvent", "Value", "encoded", "span_id", "trace_id"]

_SCHEMA: Final = "https://opentelemetry.io/schemas/1.41.0"
"""The version of the semantic conventions that names are taken from."""
_INTERNAL: Final = 1
_ERROR: Final = 2

Value = str | int | float | bool
Attributes = Mapping[str, Value]


def trace_id(root: str) -> str:
    """The trace of everything below an instance: the same whenever it is asked for."""
    return hashlib.sha256(f"trace:{root}".encode()).hexdigest()[:32]


def span_id(of: str) -> str:
    """The span of an instance, or of a part of it: the same whenever it is asked for."""
    return hashlib.sha256(f"span:{of}".encode()).hexdigest()[:16]


class SpanEvent(msgspec.Struct, frozen=True):
    """Something that happened within a span. Times are nanoseconds since 1970."""

    name: str
    at: int
    attributes: Attributes = msgspec.field(default_factory=dict)


class Span(msgspec.Struct, frozen=True):
    """Something that took time."""

    trace: str
    id: str
    parent: str
    """Empty for the root of a trace."""
    name: str
    began: int
    ended: int
    attributes: Attributes
    moments: tuple[SpanEvent, ...] = ()
    left_out: int = 0
    """How many moments are not among them."""
    error: str | None = None
    """What went wrong; None where nothing did."""


def encoded(spans: Iterable[Span], resource: Attributes, version: str) -> bytes:
    """The body of one request."""
    scope = {"scope": {"name": "interlock", "version": version}, "spans": [_span(one) for one in spans]}
    known = {"resource": {"attributes": _pairs(resource)}, "scopeSpans": [{**scope, "schemaUrl": _SCHEMA}]}
    return msgspec.json.encode({"resourceSpans": [known]})


def _span(span: Span) -> dict[str, Any]:
    found: dict[str, Any] = {
        "traceId": span.trace,
        "spanId": span.id,
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(span.began),
        "endTimeUnixNano": str(max(span.began, span.ended)),
        "attributes": _pairs(span.attributes),
    }
    if span.parent:
        found["parentSpanId"] = span.parent
    if span.moments:
        found["events"] = [
            {"timeUnixNano": str(one.at), "name": one.name, "attributes": _pairs(one.attributes)}
            for one in span.moments
        ]
    if span.left_out:
        found["droppedEventsCount"] = span.left_out
    if span.error is not None:
        found["status"] = {"code": _ERROR, "message": span.error}
    return found


def _pairs(attributes: Attributes) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
    return {"stringValue": value}
