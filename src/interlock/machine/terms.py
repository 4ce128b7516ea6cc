"""What the conditions of a machine may name, and how each is read."""

from __future__ import annotations

import math
from collections.abc import Iterator

from interlock.machine.condition import Condition, ConditionError, Term
from interlock.machine.form import MachineForm

__all__ = ["Conditions"]


class Conditions:
    """The conditions of one machine."""

    def __init__(self, form: MachineForm) -> None:
        named = list(_terms(form))
        self._terms = dict(named)
        self._conditions: dict[str, Condition] = {}
        names = [name for name, _ in named]
        self.doubled = sorted({name for name in names if names.count(name) > 1})
        """Names that stand for two things."""

    def fault(self, text: str | None) -> str | None:
        """What is wrong with a condition, if anything."""
        if text is None:
            return None
        from interlock.machine.condition_parser import parse_condition

        try:
            parse_condition(text, self._terms)
        except ConditionError as error:
            return str(error)
        return None

    def of(self, text: str | None) -> Condition | None:
        """Return the condition with this text, always the same; None without one."""
        return None if text is None else self._conditions.setdefault(text, Condition(text, self._terms))


def _terms(form: MachineForm) -> Iterator[tuple[str, Term]]:
    yield "held", Term(bool, lambda snapshot, evidence: snapshot.holder is not None)
    yield "task", Term(bool, lambda snapshot, evidence: snapshot.task is not None)
    for name, counter in form.counters.items():
        yield name, _count(name, counter.start, counter.per)
        yield f"{name}.limit", _limit(name, counter.limit)
    for name, fact in form.facts.items():
        yield name, _fact(name, fact.default, fact.values)
    for name, setting in form.settings.items():
        yield name, _setting(name, setting.default, setting.values)
    for name in [*form.gates, *form.receipts]:
        yield f"{name}.valid", _validity(name)


def _count(name: str, start: int, per: str | None) -> Term:
    if per is None:
        return Term(int, lambda snapshot, evidence: snapshot.counters.get(name, start))
    return Term(
        int, lambda snapshot, evidence: snapshot.counters.get(f"{name}:{evidence.task or snapshot.task}", start)
    )


def _limit(name: str, limit: int) -> Term:
    key = f"{name}.limit"
    return Term(int, lambda snapshot, evidence: snapshot.settings.get(key, limit) or math.inf)


def _fact(name: str, default: str | None, values: list[str]) -> Term:
    return Term(str, lambda snapshot, evidence: evidence.facts.get(name, default), frozenset(values))


def _setting(name: str, default: str, values: list[str]) -> Term:
    return Term(str, lambda snapshot, evidence: snapshot.settings.get(name, default), frozenset(values))


def _validity(name: str) -> Term:
    return Term(bool, lambda snapshot, evidence: name in snapshot.proofs)
