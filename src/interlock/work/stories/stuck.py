"""PURE. Whether attempts get anywhere, told by facts: the tree, the tests that fail, the criteria that are met.

What an agent says of itself is no fact. Where the tests that fail cannot be read out of an output, the output itself
is one, without what is never the same twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import msgspec

__all__ = ["Facts", "NoProgress", "failing_tests", "fingerprint", "first_line", "is_transient_error", "standstill"]

_TRANSIENT: Final = (
    *("timed out", "timeout", "connection refused", "connection reset"),
    *("temporarily unavailable", "503 ", "econn"),
)
_MOST: Final = 200
_WIDTH: Final = 200
_SHOWN: Final = 3
_FAILING: Final = r"""(?mx)^[ \t]*(?:
        (?:FAILED|ERROR)\ (?P<pytest>[^\s:]+\.(?:py|pyx|txt|md|rst)(?:::.+?)?)(?:\ -\ .*)?
      | (?:FAIL|ERROR):\ (?P<unittest>\w+\ \([\w.]+\).*)
      | ---\ FAIL:\ (?P<go>\S+).*
      | test\ (?P<cargo>\S+)\ \.\.\.\ FAILED
      | not\ ok\ \d+\ (?:-\ )?(?P<tap>[^#]+?)(?:\ \#\ (?!SKIP|TODO).*)?
      | [✕✖×●]\ (?P<javascript>.+?)(?:\ \(?\d+(?:\.\d+)?\ ?m?s\)?)?
    )[ \t]*$"""
_PASSING_BY: Final = (
    r"(?i)\x1b\[[0-9;]*[A-Za-z]"  # colours
    r"|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?|\d\d:\d\d:\d\d(?:[.,]\d+)?"  # times
    r"|\b\d+(?:\.\d+)?\s?(?:ms|s|secs?|seconds?)\b"  # how long it took
    r"|0x[0-9a-fA-F]+"  # where an object lies
    r"|\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\b"
    r"|/tmp/[^\s:'\")]+"
    r"|\bpid[ =:]+\d+"
)


class Facts(msgspec.Struct, frozen=True):
    """What was seen after an attempt that failed."""

    tree: str
    """The work, by hash."""
    output: str
    """What failed, by hash."""
    failing: tuple[str, ...] = ()
    """The tests that fail, in order; none where they cannot be read."""
    met: tuple[int, ...] | None = None
    """The criteria that were met; None where they were not judged."""
    wanted: int = 0
    """How many there are."""

    @property
    def way(self) -> str:
        """In what way it failed, whatever the tree was."""
        return sha256("\n".join(self.failing).encode()).hexdigest() if self.failing else self.output

    def __str__(self) -> str:
        tests = f"failing: {_named(self.failing)}" if self.failing else f"output {self.output[:12]}"
        judged = "" if self.met is None else f", {len(self.met)} of {self.wanted} criteria met"
        return f"tree {self.tree[:12]}, {tests}{judged}"


class NoProgress(msgspec.Struct, frozen=True):
    """Told when an attempt has failed: which facts are as they were."""

    attempt: int
    facts: tuple[str, ...]


def standstill(base: str, attempts: Sequence[Facts]) -> tuple[str, ...]:
    """Which facts the last attempt at a task has not changed, a sentence each; `base` is the tree before the first.

    A fact that is as it was is worth telling, even where another one has changed. What has changed is not told of.
    """
    if not attempts:
        return ()
    *before, last = attempts
    said = [_tree(base, before, last), _failure(before, last), _criteria(before, last)]
    return tuple(one for one in said if one)


def _tree(base: str, before: Sequence[Facts], last: Facts) -> str | None:
    if last.tree == base:
        return "the tree is as it was before the task"
    same = _last_place([one.tree == last.tree for one in before])
    return f"the tree is the same as after attempt {same}" if same else None


def _failure(before: Sequence[Facts], last: Facts) -> str | None:
    same = _last_place([one.way == last.way for one in before])
    if not same:
        return None
    if not last.failing:
        return f"it failed in the same words as attempt {same}"
    many = f"the same {len(last.failing)} tests fail" if len(last.failing) > 1 else "the same test fails"
    return f"{many} as after attempt {same}: {_named(last.failing)}"


def _criteria(before: Sequence[Facts], last: Facts) -> str | None:
    """Whether a criterion was gained that no attempt before had met."""
    known = [one.met for one in before if one.met is not None]
    if last.met is None or not known or set(last.met).difference(*known):
        return None
    return f"no criterion gained: {len(last.met)} of {last.wanted}, and {len(known[-1])} before"


def _last_place(same: Sequence[bool]) -> int:
    """The number of the last attempt of which something holds; 0 is none."""
    return max((place for place, one in enumerate(same, 1) if one), default=0)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def first_line(failure: str) -> str:
    """A failure in one line."""
    return (failure.strip().splitlines() or ["unknown"])[0][:300]


def failing_tests(output: str) -> tuple[str, ...]:
    """The tests that failed, as pytest, unittest, Go, Cargo, TAP, Jest and Vitest tell it."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", output)
    found = (next(filter(None, match.groups())).strip()[:_WIDTH] for match in re.finditer(_FAILING, plain))
    return tuple(sorted(set(found))[:_MOST])


def fingerprint(output: str) -> str:
    """An output by hash, without what is never the same twice: times, durations, addresses, temporary files."""
    plain = " ".join(re.sub(_PASSING_BY, "", output).split())
    return sha256(plain.encode("utf-8", "replace")).hexdigest()


def is_transient_error(failure: str) -> bool:
    """Whether a failure may pass by itself: a network, a database or a service that did not answer."""
    said = failure.casefold()
    return any(word in said for word in _TRANSIENT)
