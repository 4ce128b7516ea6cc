"""The language of conditions: Python's own parser reads one, and it is compiled into closures.

Only conditions that are tested are parsed, because importing `ast` takes half as long as starting Python.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from interlock.machine.condition import ConditionError, ParsedCondition, Reader, Term

__all__ = ["parse_condition"]

_MAX_LENGTH = 500
_EQUALITY: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {ast.Eq: operator.eq, ast.NotEq: operator.ne}
_ORDER: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def parse_condition(text: str, terms: Mapping[str, Term]) -> ParsedCondition:
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
    return ParsedCondition(frozenset(names), _largest(tree), term.read)


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
