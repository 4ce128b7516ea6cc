"""PURE. Values of JSON and items of Markdown lists, each read as what it must be, or told with its place."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

from interlock.work.importing.imported import MAX_ID, invalid, one_line, plain

__all__ = ["JsonRecord", "listed", "read_json"]

_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,6}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?:#\d+[ \t]+)?(.*)")


def listed(text: str) -> tuple[str, ...]:
    """The items of a list, one line each; where there is no list, the lines."""
    items: list[str] = []
    lines = [line for line in text.split("\n") if line.strip()]
    has_items = any(_ITEM.fullmatch(line) for line in lines)
    for line in lines:
        found = _ITEM.fullmatch(line)
        said = (found[1] if found else line).strip()
        if found or not has_items:
            items.append(said)
        elif items and line[0] in " \t":
            items[-1] = f"{items[-1]} {said}".strip()
    return tuple(item for item in items if item)


def read_json(text: str, where: str, line: int | None = None) -> Any:
    """A value of JSON; `line` is where a text of one line stands in its file."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise invalid(f"{where}, line {line or error.lineno}", f"this is no JSON: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise invalid(f"{where}, line {line or 1}", f"this is no JSON: {str(error)[:100]}") from None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


class JsonRecord(msgspec.Struct, frozen=True):
    """An object of JSON or YAML, each value of which is asked for as what it must be."""

    values: dict[str, Any]
    where: str

    @classmethod
    def of(cls, value: Any, where: str) -> JsonRecord:
        if not isinstance(value, dict):
            raise invalid(where, "an object with fields should be here")
        return cls(value, where)

    def text(self, name: str) -> str:
        """A text of several lines; empty where there is none."""
        found = self.values.get(name)
        if found is not None and not isinstance(found, str):
            raise invalid(self.where, f"`{name}` must be a text")
        return plain(found or "", f"{self.where}, `{name}`")

    def line(self, name: str) -> str:
        """A text as one line."""
        return one_line(self.text(name), self.where)

    def id(self, name: str) -> str:
        """What it is called: a word or a number."""
        found = self.values.get(name)
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)[:MAX_ID]
        said = self.line(name)
        if not said or len(said) > MAX_ID:
            raise invalid(self.where, f"it needs `{name}`, a text of 1 to {MAX_ID} characters")
        return said

    def flag(self, name: str) -> bool:
        found = self.values.get(name)
        if found is not None and not isinstance(found, bool):
            raise invalid(self.where, f"`{name}` must be true or false")
        return bool(found)

    def lines(self, name: str) -> tuple[str, ...]:
        """A list of texts, one line each; those that say nothing are left out."""
        found = [one_line(text, f"{self.where}, `{name}`") for text in self._list(name, str)]
        return tuple(line for line in found if line)

    def records(self, name: str) -> list[JsonRecord]:
        """A list of objects."""
        return [JsonRecord(one, f"{self.where}, `{name}`") for one in self._list(name, dict)]

    def _list(self, name: str, kind: type) -> list[Any]:
        found = self.values.get(name)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(one, kind) for one in found):
            what = "texts" if kind is str else "objects"
            raise invalid(self.where, f"`{name}` must be a list of {what}")
        return found
