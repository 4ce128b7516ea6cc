"""Usage limits: what kind, and until when, from what agents say when one stops them.

A structured signal is read by the agent's own adapter, which hands its status and code to `reached`. A banner is the
last resort, and counts only where an agent says what stopped it: in an error, on stderr, or as the last line of a
failed run. The banners and a corpus of samples are in `limits.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

from interlock.world.agents.happenings import Limit, LimitReached

__all__ = ["banner", "corpus", "reached", "until"]

_CODES = {
    "rate_limit": Limit.RATE,
    "rate_limit_error": Limit.RATE,
    "rate_limit_exceeded": Limit.RATE,
    "RESOURCE_EXHAUSTED": Limit.RATE,
    "usage_limit_reached": Limit.SESSION,
    "overloaded": Limit.OVERLOADED,
    "overloaded_error": Limit.OVERLOADED,
    "server_overloaded": Limit.OVERLOADED,
    "billing_error": Limit.CREDIT,
    "insufficient_quota": Limit.CREDIT,
    "usage_not_included": Limit.CREDIT,
}
_STATUSES = {402: Limit.CREDIT, 429: Limit.RATE, 503: Limit.OVERLOADED, 529: Limit.OVERLOADED}
"""What a provider's error codes and HTTP statuses mean."""

_LONGEST = 500
"""No banner is longer."""
_PAST = timedelta(hours=1)
"""A time of day that was less than this ago is meant as it is, and not as tomorrow's."""
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_EPOCH = re.compile(r"\|(\d{10})\b")
_CLOCK = re.compile(
    r"(?:resets?|again)[ ]+(?:at[ ]+|on[ ]+)?"
    r"(?:(?P<month>[A-Z][a-z]{2})[a-z]*\.?[ ]+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?[ ]+"
    r"(?:(?P<year>\d{4}),?[ ]+)?(?:at[ ]+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?[ ]?(?P<half>[ap]m)?(?:[ ]\((?P<zone>[A-Za-z0-9_+/-]{1,40})\))?",
    re.IGNORECASE,
)
_WAIT = re.compile(r"(?:resets?|again|retry)[ ]+in[ ]+((?:[\d.]+[ ]?[a-z]+[, ]*(?:and )?){1,5})", re.IGNORECASE)
_PIECE = re.compile(r"([\d.]+) ?(ms|[smhd])[a-z]*", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def reached(
    said: str, now: datetime, *, status: int | None = None, code: str = "", ends: float | None = None
) -> LimitReached | None:
    """The limit that an error is about, by its banner, its code or its status; None where it is about none."""
    found = next((one for line in said.splitlines() if (one := banner(line, now))), None)
    kind = found.kind if found else _CODES.get(code) or _STATUSES.get(status or 0)
    if kind is None:
        return None
    return LimitReached(kind, ends if ends is not None else until(said, now), said)


def banner(line: str, now: datetime) -> LimitReached | None:
    """The limit that a line announces, if it is one of the banners that are known."""
    text = " ".join(line.replace("\u2019", "'").split())
    if 0 < len(text) <= _LONGEST:
        for kind, pattern in _banners():
            if pattern.fullmatch(text):
                return LimitReached(kind, until(text, now), line.strip())
    return None


def until(text: str, now: datetime) -> float | None:
    """When a limit ends, from what is said of it, in seconds since 1970; None where nothing is."""
    if found := _EPOCH.search(text):
        return float(found[1])
    if found := _WAIT.search(text):
        seconds = sum(_SECONDS[unit.lower()] * _number(amount) for amount, unit in _PIECE.findall(found[1]))
        return now.timestamp() + seconds if seconds else None
    for found in _CLOCK.finditer(text):
        if (moment := _moment(found, now)) is not None:
            return moment.timestamp()
    return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _moment(found: re.Match[str], now: datetime) -> datetime | None:
    """The moment that a time of day means, with or without its date; None where there is no such time."""
    if not (found["half"] or found["minute"]):
        return None  # a bare number is no time of day
    try:
        here = now.astimezone(ZoneInfo(found["zone"])) if found["zone"] else now
        hour = int(found["hour"]) % 12 + 12 * (found["half"].lower() == "pm") if found["half"] else int(found["hour"])
        moment = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
        if not found["month"]:
            return moment if moment > here - _PAST else moment + timedelta(days=1)
        month = _MONTHS.index(found["month"].lower()) + 1
        moment = moment.replace(year=int(found["year"] or here.year), month=month, day=int(found["day"]))
        is_next_year = not found["year"] and moment < here - timedelta(days=180)
        return moment.replace(year=moment.year + 1) if is_next_year else moment
    except (ValueError, KeyError, OSError, OverflowError):  # no such zone, month or day
        return None


@cache
def corpus() -> Mapping[str, Any]:
    """What is in `limits.toml`."""
    return tomllib.loads(files("interlock.world.agents").joinpath("limits.toml").read_text(encoding="utf-8"))


@cache
def _banners() -> tuple[tuple[Limit, re.Pattern[str]], ...]:
    return tuple((Limit(one["kind"]), re.compile(one["line"], re.IGNORECASE)) for one in corpus()["banners"])
