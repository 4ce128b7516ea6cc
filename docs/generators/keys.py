"""The keys of a machine file, from the types in `interlock.machine.form` and their docstrings."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import msgspec

from docs.generators.markdown import code, table
from docs.generators.meanings import MEANINGS, TABLES
from interlock.machine import form

__all__ = ["keys", "meanings", "structs"]

_WORDS = {
    "str": "text",
    "int": "number",
    "bool": "`true` or `false`",
    "Kind": '`"human"`, `"agent"`, `"system"`',
    "None": "",
}


def structs() -> list[type[msgspec.Struct]]:
    """Every struct of the form, the machine itself first."""
    found = [getattr(form, name) for name in form.__all__]
    types = [one for one in found if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    return sorted(types, key=lambda one: list(TABLES).index(one.__name__))


def keys() -> str:
    """A heading, a sentence and a table for each struct."""
    parts: list[str] = []
    for one in structs():
        doc = " ".join((one.__doc__ or "").split())
        parts += [f"### {TABLES[one.__name__]}", doc, table(list(_rows(one)))]
    return "\n\n".join(parts)


def _rows(struct: type[msgspec.Struct]) -> Iterator[dict[str, str]]:
    types, said = _types(struct), meanings(struct)
    for field in msgspec.structs.fields(struct):
        yield {
            "key": code(field.encode_name),
            "value": _type(types[field.name]),
            "default": "required" if field.required else _default(field),
            "meaning": said[field.name],
        }


def meanings(struct: type[msgspec.Struct]) -> dict[str, str]:
    """What each field means: its docstring in `form`, else our own words for it."""
    documented = _docstrings(struct)
    own = {field.name: MEANINGS.get(f"{struct.__name__}.{field.name}", "") for field in msgspec.structs.fields(struct)}
    return {name: documented.get(name) or text for name, text in own.items()}


@cache
def _body(struct: type[msgspec.Struct]) -> list[ast.stmt]:
    [definition] = ast.parse(inspect.getsource(struct)).body
    assert isinstance(definition, ast.ClassDef)
    return definition.body


def _types(struct: type[msgspec.Struct]) -> dict[str, ast.expr]:
    named = [one for one in _body(struct) if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    return {one.target.id: one.annotation for one in named if isinstance(one.target, ast.Name)}


def _docstrings(struct: type[msgspec.Struct]) -> dict[str, str]:
    """The text below a field, as Python itself does not keep it."""
    found: dict[str, str] = {}
    for field, below in pairwise(_body(struct)):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                found[name] = " ".join(text.split())
    return found


def _type(node: ast.expr) -> str:
    match node:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return " or ".join(text for text in (_type(left), _type(right)) if text)
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return f"list of {_type(inner)}"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=parts)):
            return f"list of {len(parts)}: {', '.join(map(_type, parts))}"
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, inner])):
            return f"table of {_type(inner)} by name"
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            values = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return ", ".join(code(json.dumps(ast.literal_eval(value))) for value in values)
    word = ast.unparse(node)
    if word in TABLES:
        return f"[{TABLES[word].lower()}](#{_anchor(word)})"
    return _WORDS[word]


def _anchor(struct: str) -> str:
    return TABLES[struct].lower().replace(" ", "-")


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if value in (None, "") or value == [] or value == {}:
        return "none"
    return code(json.dumps(value))
