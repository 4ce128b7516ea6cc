"""PURE. The check that a value has the shape of an answer: every fault with its place, not only the first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from enum import StrEnum
from types import NoneType
from typing import Any, Final, get_args, get_origin

import msgspec

from interlock.journal import CONTROL

__all__ = ["MAX_ITEMS", "Fault", "Fitted", "fit"]

MAX_ITEMS: Final = 2000
"""The maximum length of a list. The longest is that of the tasks: at two runs of an agent each, 2,000 are weeks of
work, more than a person has read, and more than a plan that every prompt repeats can hold."""
_MAX_FAULTS: Final = 10
"""More at once help nobody, and the answer to an answer must not be longer than it."""
_MAX_KEYS: Final = 100
_SHOWN: Final = 60
_NAMES: Final = {str: "a text", bool: "true or false", int: "a whole number", dict: "an object", list: "a list"}


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong: where, what, and what is expected there."""

    path: str
    wrong: str
    expected: str

    def __str__(self) -> str:
        return f"`{self.path}` {self.wrong}. {self.expected}."


class Fitted(msgspec.Struct):
    """A value as its type takes it, valid only if there are no faults."""

    value: Any = None
    faults: list[Fault] = msgspec.field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return len(self.faults) >= _MAX_FAULTS

    def blame(self, path: str, wrong: str, expected: str) -> None:
        if not self.is_full:
            self.faults.append(Fault(path, wrong, expected))


def fit(kind: type, given: object, path: str = "$") -> Fitted:
    """The value as `msgspec.convert` takes it for a type: cleaned, without null and unknown fields."""
    fitted = Fitted()
    fitted.value = _fit(kind, given, path, fitted)
    return fitted


def _fit(kind: Any, given: object, path: str, fitted: Fitted) -> Any:
    if fitted.is_full:
        return None
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _fit_struct(kind, given, path, fitted)
    if get_origin(kind) is tuple:
        return _fit_list(get_args(kind)[0], given, path, fitted)
    if NoneType in get_args(kind):
        return None if given is None else _fit(get_args(kind)[0], given, path, fitted)
    if issubclass(kind, StrEnum):
        return _fit_word(kind, given, path, fitted)
    if type(given) is not kind:
        fitted.blame(path, f"is {_named(given)}", f"It must be {_NAMES[kind]}")
        return None
    return _clean(given) if isinstance(given, str) else given


def _fit_struct(kind: type[msgspec.Struct], given: object, path: str, fitted: Fitted) -> dict[str, Any] | None:
    if not isinstance(given, dict):
        fitted.blame(path, f"is {_named(given)}", f"It must be {_NAMES[dict]}")
        return None
    found: dict[str, Any] = {}
    fields = msgspec.structs.fields(kind)
    for key, meant in _near(given, [one.name for one in fields]):
        fitted.blame(f"{path}.{_shown(key)}", "is not a field of the answer", f"Did you mean `{meant}`? Rename it")
    for one in fields:
        value = given.get(one.name)
        if value is not None:
            found[one.name] = _fit(one.type, value, f"{path}.{one.name}", fitted)
        elif one.required:
            wrong = "is null" if one.name in given else "is missing"
            fitted.blame(f"{path}.{one.name}", wrong, f"It must be {_wanted(one.type)}")
    return found


def _near(given: dict[str, object], names: list[str]) -> Iterator[tuple[str, str]]:
    """The keys that are not known and look like a name that is missing."""
    missing = {_letters(name): name for name in names if name not in given}
    for key in [one for one in given if one not in names][:_MAX_KEYS]:
        close = get_close_matches(_letters(key[:_SHOWN]), missing, 1, 0.8)
        if close:
            yield key, missing[close[0]]


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _fit_list(kind: Any, given: object, path: str, fitted: Fitted) -> list[Any] | None:
    if not isinstance(given, list):
        fitted.blame(path, f"is {_named(given)}", f"It must be {_NAMES[list]}, also where it holds one thing")
        return None
    if len(given) > MAX_ITEMS:
        fitted.blame(path, f"has {len(given)} items", f"It may have {MAX_ITEMS}")
        return None
    return [_fit(kind, one, f"{path}[{place}]", fitted) for place, one in enumerate(given)]


def _fit_word(kind: type[StrEnum], given: object, path: str, fitted: Fitted) -> str | None:
    if isinstance(given, str) and given in list(kind):
        return given
    fitted.blame(path, f"is {_named(given)}", f"It must be {_wanted(kind)}")
    return None


def _wanted(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        words = [f'"{one}"' for one in kind]
        return f"{', '.join(words[:-1])} or {words[-1]}"
    return _NAMES.get(kind) or (_NAMES[list] if get_origin(kind) is tuple else _NAMES[dict])


def _named(given: object) -> str:
    """The value in a few words."""
    if given is None:
        return "null"
    if isinstance(given, str):
        return f'"{_shown(given)}"'
    if isinstance(given, bool):
        return "true" if given else "false"
    return _NAMES.get(type(given)) or "a number with a fraction"


def _shown(text: str) -> str:
    clean = " ".join(_clean(text[: 2 * _SHOWN]).split())
    return clean if len(clean) <= _SHOWN else f"{clean[:_SHOWN]}…"


def _clean(text: str) -> str:
    """A text as the journal and the files can keep it."""
    return CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
