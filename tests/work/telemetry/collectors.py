"""What a collector reads of what it is sent: OTLP's own messages, which know every field that there is."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

import msgspec
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from work.notifying.receivers import Got

__all__ = ["Read", "read"]

_IDS = ("traceId", "spanId", "parentSpanId")


class Read(msgspec.Struct, frozen=True):
    """A span as it arrived."""

    name: str
    trace: str
    id: str
    parent: str
    began: int
    ended: int
    attributes: dict[str, Any]
    events: tuple[str, ...]
    error: str | None


def read(got: Iterable[Got]) -> list[Read]:
    """The spans of some requests; a field that OTLP does not have, or an id of another length, is an error."""
    return [span for one in got for span in _spans(one)]


def _spans(got: Got) -> list[Read]:
    assert got.headers["Content-Type"] == "application/json"
    request = ParseDict(_with_bytes(json.loads(got.body)), ExportTraceServiceRequest())
    found = []
    for resource in request.resource_spans:
        named = {one.key: one.value.string_value for one in resource.resource.attributes}
        assert named["service.name"]
        for scope in resource.scope_spans:
            assert (scope.scope.name, scope.schema_url[:34]) == ("interlock", "https://opentelemetry.io/schemas/1")
            found += [_read(one) for one in scope.spans]
    return found


def _with_bytes(value: Any) -> Any:
    """OTLP's JSON has ids in hexadecimal digits, where protobuf's own has base64."""
    if isinstance(value, list):
        return [_with_bytes(one) for one in value]
    if not isinstance(value, dict):
        return value
    ids = {key: base64.b64encode(bytes.fromhex(value[key])).decode() for key in _IDS if key in value}
    return {key: _with_bytes(inner) for key, inner in value.items()} | ids


def _read(span: Any) -> Read:
    assert (len(span.trace_id), len(span.span_id), len(span.parent_span_id) in (0, 8)) == (16, 8, True)
    assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
    return Read(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes},
        tuple(one.name for one in span.events),
        span.status.message if span.status.code == 2 else None,
    )
