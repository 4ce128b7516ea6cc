"""The `when` of a transition: a small language of comparisons, compiled once into closures.

    iteration < iteration.limit
    planner == 'completed' and not task
    receipt.valid or mode == 'quick'

A name is a counter, its `.limit`, a fact, a setting, a proof's `.valid`, or one of `held` and `task`. Python's
own parser reads it; everything but boolean operators, comparisons, names, numbers and strings is refused, and
so is a comparison of things that cannot be compared: a condition that could be parsed never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import msgspec

from interlock.machine.values import Evidence, Snapshot

__all__ = ["Condition", "ConditionError", "ParsedCondition", "Reader", "Term"]

Reader: TypeAlias = Callable[[Snapshot, Evidence], Any]


class ConditionError(ValueError):
    """A condition that is not of the language, or names what the machine does not have."""


class Term(msgspec.Struct, frozen=True):
    """Something a condition can name: its type, how it is read, and its values where they are few."""

    kind: type
    read: Reader
    values: frozenset[str] | None = None


class ParsedCondition(msgspec.Struct, frozen=True):
    """The names in a condition, the largest number in it or 0, and the test."""

    names: frozenset[str]
    largest: int
    holds: Reader


class Condition(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A condition, parsed when it is first asked for anything but its text; that raises `ConditionError`."""

    text: str
    terms: Mapping[str, Term]
    """The names that may stand in it."""

    @cached_property
    def parsed(self) -> ParsedCondition:
        from interlock.machine.condition_parser import parse_condition

        return parse_condition(self.text, self.terms)

    @cached_property
    def names(self) -> frozenset[str]:
        return self.parsed.names

    @cached_property
    def largest(self) -> int:
        return self.parsed.largest

    @cached_property
    def holds(self) -> Reader:
        return self.parsed.holds
