"""One collector: spans over HTTP as OTLP's JSON, to an address that nobody else can read from on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from interlock import __version__
from interlock.world.notices.notice import DeliveryFailure
from interlock.world.notices.posting import SECONDS, exchange
from interlock.world.telemetry.span import Span, Value, encoded

__all__ = ["SendResult", "SpanCollector", "collector_of"]

_DEFAULT: Final = "http://localhost:4318"
_PATH: Final = "/v1/traces"
_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,100}")
_OURS: Final = frozenset({"content-type", "content-length", "host", "transfer-encoding", "connection"})
_ANSWER: Final = 64 * 1024
"""So much of an answer is read."""


class SendResult(msgspec.Struct, frozen=True):
    """Spans that arrived, and how many of them the collector would not have."""

    rejected: int = 0
    said: str = ""


@dataclass(frozen=True, slots=True)
class SpanCollector:
    """Where spans go."""

    address: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    resource: Mapping[str, Value]
    now: Callable[[], float]
    seconds: float = SECONDS

    def send(self, spans: Sequence[Span]) -> SendResult | DeliveryFailure:
        """Send some spans once; it takes a bounded time."""
        body = encoded(spans, self.resource, __version__)
        answer = exchange(self.address, body, self.headers, self.now(), seconds=self.seconds, reads=_ANSWER)
        return answer if isinstance(answer, DeliveryFailure) else _taken(answer, len(spans))


def collector_of(endpoint: str, environment: Mapping[str, str], now: Callable[[], float]) -> SpanCollector:
    """The collector that the settings name, else the one that OpenTelemetry's own variables do."""
    named = environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "") if not endpoint else ""
    base = (endpoint or environment.get("OTEL_EXPORTER_OTLP_ENDPOINT") or _DEFAULT).rstrip("/")
    headers = environment.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS") or environment.get("OTEL_EXPORTER_OTLP_HEADERS", "")
    known = {name: value for name, value in _pairs(headers).items() if _is_header(name, value)}
    resource: dict[str, Value] = {
        **_pairs(environment.get("OTEL_RESOURCE_ATTRIBUTES", "")),
        "service.name": environment.get("OTEL_SERVICE_NAME") or "ralph",
        "service.version": __version__,
    }
    return SpanCollector(named or (base if base.endswith(_PATH) else base + _PATH), known, resource, now)


def _pairs(text: str) -> dict[str, str]:
    """What `a=b,c=d` says, in the manner of OpenTelemetry's variables."""
    found = (one.partition("=") for one in text.split(","))
    return {name.strip(): unquote(value.strip()) for name, equals, value in found if name.strip() and equals}


def _is_header(name: str, value: str) -> bool:
    return bool(_NAME.fullmatch(name)) and name.lower() not in _OURS and value.isascii() and value.isprintable()


def _taken(answer: bytes, most: int) -> SendResult:
    """What a collector says of spans that it took in part; one that says nothing took them all."""
    try:
        found: Any = msgspec.json.decode(answer)["partialSuccess"]
        rejected = int(found.get("rejectedSpans") or 0)
        return SendResult(min(max(rejected, 0), most), str(found.get("errorMessage") or ""))
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError, ValueError, AttributeError):
        return SendResult()
