"""PURE. An answer, found in what an agent said; or what is wrong with it, in words that the agent can act on.

The JSON may be all that was said, stand in a fenced block, or somewhere in prose. What counts is the last object that
could be the answer, which is one with at least two of its fields. If that one has faults, an earlier one without does
not take its place: an agent that corrected "Qualified" to "failed" must not be held to the first word. For the same
reason nothing inside an object that breaks off is looked at, nor anything before an answer that does.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from enum import StrEnum
from itertools import islice
from typing import Any, Final

import msgspec

from interlock.decoding import convert
from interlock.work.orchestration.contracts import ANSWERS, Answer, Role, example_of
from interlock.work.orchestration.rules import Context, faults_of
from interlock.work.orchestration.shapes import Fault, fit

__all__ = ["MAX_SAID", "Complaint", "ComplaintKind", "read_answer"]

MAX_SAID: Final = 4 * 1024 * 1024
"""The characters of a text that are read, from its end: 2,000 tasks of two thousand characters."""
_MAX_FAULTS: Final = 10
_MAX_BROKEN: Final = 1000
"""The objects that break off before the search ends: finding where each does takes its time."""
_START: Final = re.compile(r'\{\s*"(?P<key>[^"\\]{1,100})"\s*:\s*(?:["\[{0-9-]|true|false|null)')
"""The beginning of an object, and not of a piece of code with braces."""
_LONGEST_INTEGER: Final = 18


class ComplaintKind(StrEnum):
    """The kind of a complaint."""

    EMPTY = "empty"
    NO_JSON = "no_json"
    HALF_JSON = "half_json"
    TOO_LONG = "too_long"
    SHAPE = "shape"
    CONTENT = "content"
    EXAMPLE = "example"


class Complaint(msgspec.Struct, frozen=True):
    """The reasons why a text is not an answer."""

    trouble: ComplaintKind
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        return "\n".join(f"- {one}" for one in self.faults)


def read_answer(role: Role, said: str, context: Context | None = None) -> Answer | Complaint:
    """Return the answer of a role, or why there is none. It never raises."""
    if not said.strip():
        return _complaint(ComplaintKind.EMPTY, "$", "is missing: you said nothing", "Answer with one JSON object")
    text = said[-MAX_SAID:]
    kind = ANSWERS[role]
    search = _Search(text, tuple(example_of(role)))
    search.run()
    if search.is_too_deep:
        return _complaint(
            ComplaintKind.SHAPE, "$", "is nested too deep to be read", "Give the fields of the schema, flat"
        )
    if search.best is None or search.breaks_off:
        return _missing(search, len(said))
    if search.twice:
        wrong = "stands twice in the same object"
        return _complaint(ComplaintKind.SHAPE, f"$…{search.twice[:80]}", wrong, "Give each field once")
    if search.best == example_of(role):
        wrong = "is the example, word for word"
        return _complaint(ComplaintKind.EXAMPLE, "$", wrong, "Answer with what you yourself did and found")
    return _checked(kind, search.best, context or Context())


def _checked(kind: type[Answer], given: dict[str, Any], context: Context) -> Answer | Complaint:
    fitted = fit(kind, given)
    if fitted.faults:
        return Complaint(ComplaintKind.SHAPE, tuple(fitted.faults))
    answer = convert(fitted.value, kind)
    faults = tuple(islice(faults_of(answer, context), _MAX_FAULTS))
    return Complaint(ComplaintKind.CONTENT, faults) if faults else answer


def _missing(search: _Search, length: int) -> Complaint:
    whole = "Answer with one JSON object, whole and last, and with nothing after it"
    if search.error:
        if length > MAX_SAID:
            wrong = f"is longer than the {MAX_SAID} characters that are read, and no object in them is whole"
            return _complaint(ComplaintKind.TOO_LONG, "$", wrong, "Answer with the object alone, in fewer words")
        return _complaint(ComplaintKind.HALF_JSON, "$", f"is no whole JSON: {search.error}", whole)
    if length > MAX_SAID:
        wrong = f"is not in the last {MAX_SAID} characters, and no more are read"
        return _complaint(ComplaintKind.TOO_LONG, "$", wrong, "Answer with the object alone, in fewer words")
    fields = ", ".join(f"`{name}`" for name in search.names)
    return _complaint(
        ComplaintKind.NO_JSON, "$", "is missing: there is no JSON object with its fields", f"{whole}: {fields}"
    )


def _complaint(trouble: ComplaintKind, path: str, wrong: str, expected: str) -> Complaint:
    return Complaint(trouble, (Fault(path, wrong, expected),))


class _Search(msgspec.Struct):
    """One pass over a text: what was read, or broke off, is never read again."""

    text: str
    names: tuple[str, ...]
    best: dict[str, Any] | None = None
    error: str = ""
    """The place at which the last object breaks off that could have been the answer."""
    breaks_off: bool = False
    """True if that is after the best."""
    twice: str = ""
    is_too_deep: bool = False
    _doubles: list[str] = msgspec.field(default_factory=list)

    def run(self) -> None:
        decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_int=_integer, strict=False)
        at, broken = 0, 0
        while broken < _MAX_BROKEN and (start := _START.search(self.text, at)):
            self._doubles.clear()
            try:
                value, at = decoder.raw_decode(self.text, start.start())
            except json.JSONDecodeError as error:
                at, broken = max(error.pos, start.start() + 1), broken + 1
                self._note(start, error)
            except RecursionError:
                self.is_too_deep = True
                return
            else:
                self._take(value)

    def _take(self, value: dict[str, Any]) -> None:
        known = sum(name in value for name in self.names)
        if known >= 2 or (known and self.best is None and not self.error):
            self.best, self.breaks_off = value, False
            self.twice = self._doubles[0] if self._doubles else ""

    def _note(self, start: re.Match[str], error: json.JSONDecodeError) -> None:
        if start["key"] in self.names or not self.error:
            self.error = f"{error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}"
            self.breaks_off = start["key"] in self.names

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs) and not self._doubles:
            times = Counter(key for key, _ in pairs)
            self._doubles.append(times.most_common(1)[0][0])
        return made


def _integer(digits: str) -> int | str:
    """The number; an absurdly long one stays a text, which no number of an answer is."""
    return int(digits) if len(digits) <= _LONGEST_INTEGER else digits
