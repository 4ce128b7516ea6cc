"""The source of Interlock, parsed once for all tests of a worker that look at it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import interlock

__all__ = ["SOURCE", "nodes_of", "tree_of"]

SOURCE = Path(interlock.__file__).parent


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a module."""
    return tuple(ast.walk(tree_of(path)))
