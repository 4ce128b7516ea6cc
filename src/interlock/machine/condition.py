"""The `when` of a transition: a small language of comparisons, compiled once into closures.

    iteration < iteration.limit
    planner == 'completed' and not task
    receipt.valid or mode == 'quick'

A name is a counter, its `.limit`, a fact, a setting, a proof's `.valid`, or one of `held` and `task`. Python's
own parser reads it; everything but boolean operators, comparisons, names, numbers and strings is refused, and
so is a comparison of things that cannot be compared: a compiled condition never raises.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from interlock.machine.values import Evidence, Snapshot

__all__ = ["Condition", "ConditionError", "Reader", "Term", "compile_condition"]

Reader: TypeAlias = Callable[[Snapshot, Evidence], Any]

_MAX_LENGTH = 500
_EQUALITY: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {ast.Eq: operator.eq, ast.NotEq: operator.ne}
_ORDER: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class ConditionError(ValueError):
    """A condition that is not of the language, or names what the machine does not have."""


class Term(msgspec.Struct, frozen=True):
    """Something a condition can name: its type, how it is read, and its values where they are few."""

    kind: type
    read: Reader
    values: frozenset[str] | None = None


class Condition(msgspec.Struct, frozen=True):
    """A compiled condition: its text, the names in it, the largest number in it, and the test."""

    text: str
    names: frozenset[str]
    largest: int
    holds: Reader


def compile_condition(text: str, terms: Mapping[str, Term]) -> Condition:
    """Compile `text`, in which only the names of `terms` may stand."""
    if len(text) > _MAX_LENGTH:
        raise ConditionError(f"a condition of {len(text)} characters is longer than {_MAX_LENGTH}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ConditionError(f"{text!r} is no condition: {error}") from None
    names: set[str] = set()
    term = _compile(tree, terms, names)
    if term.kind is not bool:
        raise ConditionError(f"{text!r} is neither true nor false")
    return Condition(text, frozenset(names), _largest(tree), term.read)


def _largest(tree: ast.expr) -> int:
    """The largest number in a condition, or 0."""
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return max((value for value in constants if isinstance(value, int)), default=0)


def _compile(node: ast.expr, terms: Mapping[str, Term], names: set[str]) -> Term:
    match node:
        case ast.BoolOp(op=op, values=values):
            return _joined(op, [_truth(value, terms, names) for value in values])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _truth(operand, terms, names)
            return Term(bool, lambda snapshot, evidence: not inner(snapshot, evidence))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(op, _compile(left, terms, names), _compile(right, terms, names))
        case ast.Name() | ast.Attribute(value=ast.Name()):
            return _named(ast.unparse(node), terms, names)
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() as number):
            return Term(int, lambda snapshot, evidence: number)
        case ast.Constant(value=str() as text):
            return Term(str, lambda snapshot, evidence: text, frozenset({text}))
    raise ConditionError(f"{ast.unparse(node)!r} is not of the language of conditions")


def _joined(op: ast.boolop, parts: list[Reader]) -> Term:
    if isinstance(op, ast.And):
        return Term(bool, lambda snapshot, evidence: all(part(snapshot, evidence) for part in parts))
    return Term(bool, lambda snapshot, evidence: any(part(snapshot, evidence) for part in parts))


def _truth(node: ast.expr, terms: Mapping[str, Term], names: set[str]) -> Reader:
    term = _compile(node, terms, names)
    if term.kind is not bool:
        raise ConditionError(f"{ast.unparse(node)!r} is neither true nor false")
    return term.read


def _compared(op: ast.cmpop, left: Term, right: Term) -> Term:
    compare = _EQUALITY.get(type(op)) or (_ORDER.get(type(op)) if left.kind is int else None)
    if compare is None or left.kind is not right.kind or left.kind is bool:
        raise ConditionError("numbers compare by <, <=, >, >=, == and !=, words by == and !=")
    if left.values is not None and right.values is not None and not left.values & right.values:
        raise ConditionError(f"{sorted(right.values)} is none of {sorted(left.values)}")
    read_left, read_right = left.read, right.read
    return Term(bool, lambda snapshot, evidence: compare(read_left(snapshot, evidence), read_right(snapshot, evidence)))


def _named(name: str, terms: Mapping[str, Term], names: set[str]) -> Term:
    if name not in terms:
        raise ConditionError(f"{name!r} is no counter, fact, setting or proof of this machine")
    names.add(name)
    return terms[name]
