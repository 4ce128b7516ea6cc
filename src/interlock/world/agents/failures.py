"""Failures of agents: of which kind each is, until when it lasts, and what a person does about it.

A structured signal is read by the agent's own adapter, which hands its status and code to `failure_of`. A banner is
the last resort, and counts only where an agent says what stopped it: in an error, on stderr, or as the last line of a
failed run. The kinds, the banners and a corpus of samples are in `failures.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from interlock.world.agents.happenings import Cure, Failure, FailureKind
from interlock.world.agents.result import Ending, Result
from interlock.world.agents.wire import count, decoded, words

__all__ = ["banner", "corpus", "cure_of", "failure_of", "refuses_schema", "told", "until"]

_SCHEMA_WORDS: Final = (
    "json-schema",
    "json_schema",
    "output-schema",
    "output_schema",
    "response_format",
    "text.format",
)
_REFUSALS: Final = ("unknown", "unexpected", "unrecognized", "unsupported", "not support", "invalid", "not a valid")
_IN_TEXT = (
    r"(?i)(?:API Error: |unexpected status |exceeded retry limit, last status: |failed with HTTP )"
    r"(?P<status>[45]\d\d)\b"
)
"""The HTTP status in an agent's error text."""
_DEEPEST = 4
"""Maximum number of answers that quote each other."""

_LONGEST = 500
"""No banner is longer."""
_PAST = timedelta(hours=1)
"""A time of day that was less than this ago is meant as it is, and not as tomorrow's."""
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_EPOCH = r"\|(\d{10})\b"
_CLOCK = (
    r"(?i)(?:resets?|again)[ ]+(?:at[ ]+|on[ ]+)?"
    r"(?:(?P<month>[A-Z][a-z]{2})[a-z]*\.?[ ]+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?[ ]+"
    r"(?:(?P<year>\d{4}),?[ ]+)?(?:at[ ]+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?[ ]?(?P<half>[ap]m)?(?:[ ]\((?P<zone>[A-Za-z0-9_+/-]{1,40})\))?"
)
_WAIT = r"(?i)(?:resets?|again|retry)[ ]+in[ ]+((?:[\d.]+[ ]?[a-z]+[, ]*(?:and )?){1,5})"
_PIECE = r"(?i)([\d.]+) ?(ms|[smhd])[a-z]*"
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def failure_of(
    said: str, now: datetime, *, status: int | None = None, code: str = "", ends: float | None = None
) -> Failure | None:
    """Return the failure that an error is about, by its banner, its code or its status; None where no kind is known.

    An answer of the provider that the error quotes is read, too.
    """
    texts, codes, statuses = [said], [code], [status or 0]
    for quoted in _quoted(said):
        texts += [words(quoted.get(name)) for name in ("message", "detail")]
        codes += [words(quoted.get(name)) for name in ("code", "type", "status", "reason")]
        statuses += [count(quoted.get("status")), count(quoted.get("code"))]
    statuses += [int(one["status"]) for one in re.finditer(_IN_TEXT, said)]
    table = corpus()
    found = next((one for text in reversed(texts) for line in text.splitlines() if (one := banner(line, now))), None)
    kind: str | None = found.kind if found else None
    kind = kind or next((known for name in codes if (known := table["codes"].get(name))), None)
    kind = kind or next((known for number in statuses if (known := table["statuses"].get(str(number)))), None)
    if kind is None:
        return None
    return Failure(FailureKind(kind), ends if ends is not None else until(said, now), said)


def _quoted(said: str) -> Iterator[Mapping[str, Any]]:
    """The objects of an answer that a text quotes, from the outermost on: its error, and what that quotes."""
    for _ in range(_DEEPEST):
        start = said.find("{")
        found = decoded(said[start : said.rfind("}") + 1].encode("utf-8", "replace")) if start >= 0 else {}
        error = found.get("error")
        objects = [one for one in (found, error) if isinstance(one, dict)]
        yield from objects
        said = words(objects[-1].get("message"))


def cure_of(kind: FailureKind) -> Cure:
    """Return what ends a failure of that kind."""
    return Cure(corpus()["kinds"][kind]["cure"])


def told(agent: str, kind: FailureKind) -> tuple[str, str]:
    """Return a failure in words for people: what is wrong with an agent, and what to do about it."""
    known = corpus()["kinds"][kind]
    return f"{agent} {known['says']}", corpus()["agents"].get(agent, {}).get(kind) or known["do"]


def banner(line: str, now: datetime) -> Failure | None:
    """Return the failure that a line announces, if it is one of the banners that are known."""
    text = " ".join(line.replace("\u2019", "'").split())
    if 0 < len(text) <= _LONGEST:
        for kind, pattern in _banners():
            if pattern.fullmatch(text):
                return Failure(kind, until(text, now), line.strip())
    return None


def until(text: str, now: datetime) -> float | None:
    """When a limit ends, from what is said of it, in seconds since 1970; None where nothing is."""
    if found := re.search(_EPOCH, text):
        return float(found[1])
    if found := re.search(_WAIT, text):
        seconds = sum(_SECONDS[unit.lower()] * _number(amount) for amount, unit in re.findall(_PIECE, found[1]))
        return now.timestamp() + seconds if seconds else None
    for found in re.finditer(_CLOCK, text):
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
    from zoneinfo import ZoneInfo

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
    """What is in `failures.toml`."""
    import tomllib

    return tomllib.loads(Path(__file__).with_name("failures.toml").read_text(encoding="utf-8"))


@cache
def _banners() -> tuple[tuple[FailureKind, re.Pattern[str]], ...]:
    return tuple((FailureKind(one["kind"]), re.compile(one["line"], re.IGNORECASE)) for one in corpus()["banners"])


def refuses_schema(result: Result) -> bool:
    """Return True if a run that did nothing failed because its agent, or the service behind it, takes no such schema.

    An older version does not know the option, a newer one may read schemas more strictly, and not every service has
    what the option needs. Whoever asks in the prompt as well can do without.
    """
    if result.ending not in (Ending.FAILED, Ending.NEEDS_PERSON):
        return False
    lines = [line.casefold() for line in result.last_lines]
    return any(
        any(name in line for name in _SCHEMA_WORDS) and any(word in line for word in _REFUSALS) for line in lines
    )
