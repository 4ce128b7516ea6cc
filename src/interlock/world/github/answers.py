"""What an answer of GitHub means: data, an error, a limit, or that GitHub is unwell.

A limit and a time-out come as HTTP 200 too, so the body decides as much as the status does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from interlock.errors import TrackerError
from interlock.world.redaction import redacted

__all__ = ["InvalidResponse", "Limited", "ResponseObject", "Unwell", "meaning"]

_SCOPES = "Run `gh auth refresh -s project`, or use a token with the scopes repo and project."
_LONGEST = 300
_LIMITED = re.compile(r"(?i)secondary rate limit|abuse detection|rate limit exceeded|submitted too quickly")
_TIMED_OUT = re.compile(r"(?i)^something went wrong while executing your query")
"""GitHub's own time-out, with HTTP 200 and no type. A write may have got through before it."""
_LOOK = "Look at it on GitHub, and call again."

T = TypeVar("T")


class ResponseObject(msgspec.Struct, frozen=True):
    """An object of an answer. What is asked of it is there and has the type, or `tracker_failed` is raised."""

    members: Mapping[str, object]

    def text(self, name: str) -> str:
        return self._typed(name, str)

    def number(self, name: str) -> int:
        return self._typed(name, int)

    def flag(self, name: str) -> bool:
        return self._typed(name, bool)

    def node(self, name: str) -> ResponseObject:
        return ResponseObject(self._typed(name, dict))

    def maybe(self, name: str) -> ResponseObject | None:
        """The object of that name; None where it is null or was not given."""
        return None if self.members.get(name) is None else self.node(name)

    def each(self, name: str) -> list[ResponseObject]:
        """The objects of a list. GitHub puts null for one that the token may not see."""
        found: list[object] = self._typed(name, list)
        if not all(one is None or isinstance(one, dict) for one in found):
            raise _misshapen(name)
        return [ResponseObject(one) for one in found if isinstance(one, dict)]

    def _typed(self, name: str, kind: type[T]) -> T:
        value = self.members.get(name)
        if not isinstance(value, kind):
            raise _misshapen(name)
        return value


class Limited(msgspec.Struct, frozen=True):
    """GitHub takes no more for now; `seconds` where it says how long."""

    seconds: float | None


class Unwell(msgspec.Struct, frozen=True):
    """GitHub could not answer; what was asked of it may have been done all the same."""

    why: str


class InvalidResponse(msgspec.Struct, frozen=True):
    """Something answered, and it is no answer of GitHub's."""

    why: str


Meaning = ResponseObject | Limited | Unwell | InvalidResponse | TrackerError


def meaning(status: int, headers: Mapping[str, str], content: bytes, now: float) -> Meaning:
    """What a whole answer means; `headers` are found by their names in lower case."""
    body = _object(content)
    if status == 429 or (status == 403 and _is_limit(headers, body)):
        return Limited(_told(headers, now))
    if status >= 500:
        return Unwell(f"it answered HTTP {status}")
    if status == 401:
        return TrackerError("tracker_unauthorized", "GitHub does not know the token, or it has expired.", _SCOPES)
    if status == 403:
        return TrackerError("tracker_unauthorized", f"GitHub forbids it: {_said(body)}.", _SCOPES)
    if status != 200:
        return TrackerError("tracker_failed", f"GitHub answered HTTP {status}: {_said(body)}.", _LOOK)
    if body is None:
        return InvalidResponse("it answered what is no JSON object")
    return _of_graphql(body, headers, now)


def _of_graphql(body: Mapping[str, object], headers: Mapping[str, str], now: float) -> Meaning:
    errors, data = body.get("errors") or [], body.get("data")
    if not isinstance(errors, list) or not all(isinstance(one, dict) for one in errors):
        return InvalidResponse("its list of errors has another shape")
    if any(one.get("type") == "RATE_LIMITED" or _LIMITED.search(_message(one)) for one in errors):
        return Limited(_told(headers, now))
    if any(_TIMED_OUT.search(_message(one)) for one in errors):
        return Unwell("it says that something went wrong")
    if errors:
        return _refused(errors)
    return ResponseObject(data) if isinstance(data, dict) else InvalidResponse("it answered without data")


def _refused(errors: list[dict[str, object]]) -> TrackerError:
    """The error for those of an answer; half of the data with an error is an error too."""
    kinds = [str(one.get("type", "")) for one in errors]
    said = _clean(_message(errors[0]))
    if "INSUFFICIENT_SCOPES" in kinds or "FORBIDDEN" in kinds:
        return TrackerError("tracker_unauthorized", f"The token may not do this: {said}.", _SCOPES)
    hint = "See that the repository, the project and the issue are still there." if "NOT_FOUND" in kinds else _LOOK
    return TrackerError("tracker_failed", f"GitHub refused it: {said}.", hint, {"types": kinds})


def _object(content: bytes) -> dict[str, object] | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_limit(headers: Mapping[str, str], body: Mapping[str, object] | None) -> bool:
    is_told = "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
    return is_told or (body is not None and _LIMITED.search(_message(body)) is not None)


def _told(headers: Mapping[str, str], now: float) -> float | None:
    """How many seconds GitHub asks to wait: `retry-after` first, then until its count begins anew."""
    seconds = _seconds(headers.get("retry-after"))
    if seconds is None and headers.get("x-ratelimit-remaining") == "0":
        reset = _seconds(headers.get("x-ratelimit-reset"))
        # A second more: the moment is given in whole seconds, and clocks differ.
        seconds = None if reset is None else max(reset - now, 0.0) + 1.0
    return seconds


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"\d{1,10}", text) else None


def _message(one: Mapping[str, object]) -> str:
    message = one.get("message")
    return message if isinstance(message, str) else ""


def _said(body: Mapping[str, object] | None) -> str:
    return _clean(_message(body or {}))


def _clean(text: str) -> str:
    """What GitHub said, fit for a terminal: one line of printable characters, not too long, and no secret in it."""
    line = " ".join("".join(one if one.isprintable() else " " for one in text[: 4 * _LONGEST]).split())
    return redacted(line)[:_LONGEST].rstrip(". ") or "it does not say why"


def _misshapen(name: str) -> TrackerError:
    return TrackerError("tracker_failed", f"GitHub's answer has no `{name}`, or one of another kind.", _LOOK)
