"""The settings of a repository: what `ralph.toml` may say, read and checked against the one table of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from interlock.errors import InterlockError, UsageError
from interlock.work.settings.table import SAME_AS_AGENTS, SETTINGS, SettingSpec

__all__ = ["FILE", "FORMER_ISOLATIONS", "Settings", "isolation_of", "read", "read_file", "template"]

FILE = "ralph.toml"

_DEFAULTS = {setting.key: setting.default for setting in SETTINGS}


FORMER_ISOLATIONS = {"none": "checkout", "worktree": "own"}
"""What earlier versions called the values of `thread.isolation`."""


def isolation_of(value: str) -> str:
    """Return an isolation by its name of today."""
    return FORMER_ISOLATIONS.get(value, value)


class Settings(msgspec.Struct, frozen=True):
    """What is in force, by key."""

    values: Mapping[str, str | int | tuple[str, ...]] = msgspec.field(default_factory=lambda: _DEFAULTS)
    pending: InterlockError | None = None
    """Why no agent may be started with these settings: a change of them waits, or cannot be read."""

    @classmethod
    def of(cls, text: str) -> Settings:
        """What a text sets, and the defaults for the rest."""
        return cls(_DEFAULTS | read(text))

    def must_allow_agents(self) -> None:
        """Refuse while a change waits to be accepted: an agent would run without what the person has just written."""
        if self.pending is not None:
            raise self.pending

    def text(self, key: str) -> str:
        """A setting that is a word or a text."""
        return str(self.values[key])

    def number(self, key: str) -> int:
        """A setting that is a number."""
        value = self.values[key]
        assert isinstance(value, int)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A setting that is a list of texts."""
        value = self.values[key]
        assert isinstance(value, tuple)
        return value

    def text_or_texts(self, key: str) -> str | tuple[str, ...]:
        """A setting that is a word or a list of texts."""
        value = self.values[key]
        assert not isinstance(value, int)
        return value

    def sandbox(self, key: str) -> str:
        """A setting that names a sandbox; that of verifiers may be the same as that of agents."""
        value = self.text(key)
        return self.text("agent.sandbox") if value == SAME_AS_AGENTS else value

    def arguments_of(self, agent: str) -> tuple[str, ...]:
        """A person's own flags for an agent, `name` or `name:model`: one vendor's are nothing to another."""
        names = {one.partition(":")[0] for one in (agent, self.text("agent.name"))}
        return self.texts("agent.arguments") if len(names) == 1 else ()


def template() -> str:
    """The text of a new `ralph.toml`: every setting with its meaning and its default."""
    lines = ["# The settings of Interlock for this repository. An unknown key is an error."]
    section = ""
    for setting in SETTINGS:
        table, _, name = setting.key.rpartition(".")
        if table != section:
            lines += ["", f"[{table}]"]
            section = table
        value = _quoted(setting.default) if isinstance(setting.default, str) else str(setting.default)
        if isinstance(setting.default, tuple):
            value = f"[{', '.join(_quoted(one) for one in setting.default)}]"
        lines += [f"# {setting.meaning}", f"{name} = {value}"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return f'"{text}"'


def read(text: str) -> dict[str, str | int | tuple[str, ...]]:
    """The settings that a text sets, by key; what is not known is an error."""
    import tomllib

    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _invalid(f"{FILE} is no TOML: {error}", "Mend the line that it names.") from None
    by_key = {setting.key: setting for setting in SETTINGS}
    given = _flat(found, "", {key.rpartition(".")[0] for key in by_key})
    for key, value in given.items():
        if key not in by_key:
            raise _invalid(f"{FILE} has no setting {key[:80]!r}", _nearest(key, by_key))
        _check(by_key[key], value)
    return {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}


def _nearest(key: str, known: Iterable[str]) -> str:
    """The hint for an unknown key: those that look like it, or those of its table."""
    from difflib import get_close_matches

    keys = list(known)
    tables = {one.rpartition(".")[0] for one in keys}
    table = get_close_matches(key, tables, 1) or [key.rpartition(".")[0]]
    near = get_close_matches(key, keys, 3) or [one for one in keys if one.rpartition(".")[0] in table]
    return f"Did you mean {' or '.join(near)}?" if near else "`ralph config show` lists all settings."


def read_file(root: Path) -> str | None:
    """What `ralph.toml` says in a directory; None where there is none."""
    path = root / FILE
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        raise _invalid(f"{path} cannot be read: {error}", "Make it a text in UTF-8 that you may read.") from None


def _flat(table: dict[str, Any], prefix: str, tables: set[str]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key in tables:
            flat |= _flat(value, f"{key}.", tables)
        else:
            flat[key] = value
    return flat


def _check(setting: SettingSpec, value: object) -> None:
    if isinstance(setting.default, tuple):
        fits = isinstance(value, list) and all(isinstance(one, str) and 0 < len(one) <= 1000 for one in value)
        wanted = "a list of texts"
        if setting.values:
            fits = fits and set(value) <= set(setting.values)  # type: ignore[call-overload] # it is a list of texts
            wanted = f"a list of {', '.join(setting.values)}"
    elif setting.takes_hosts and isinstance(value, list):
        from interlock.world.sandbox.network import complaint

        said = complaint(value) if all(isinstance(one, str) for one in value) else "Hosts are texts."
        fits, wanted = said is None, f"{_values(setting)}. {said}".rstrip(".")
    elif setting.values:
        fits = value in setting.values
        wanted = _values(setting)
    elif setting.pattern:
        fits = isinstance(value, str) and re.fullmatch(setting.pattern, value) is not None
        wanted = "a text such as its meaning says"
    else:
        fits = type(value) is int and setting.least <= value <= setting.most
        wanted = f"a number from {setting.least} to {setting.most}"
    if not fits:
        raise _invalid(f"{setting.key} cannot be {str(value)[:80]!r}", f"It is {wanted}.")


def _values(setting: SettingSpec) -> str:
    hosts = " or a list of hosts" if setting.takes_hosts else ""
    return " or ".join(setting.values) + hosts


def _invalid(message: str, hint: str) -> UsageError:
    return UsageError("settings_invalid", f"{message}.", hint)
