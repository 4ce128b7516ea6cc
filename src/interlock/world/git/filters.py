"""Filter programs that a person accepted: their commands are the user's own, whatever a repository or an agent says.

A filter named in `git.filters` runs as the user's configuration outside of any repository defines it, whenever git
stores a file or writes one. Every other one never runs, and `refuse_filters` refuses what only it could make.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from interlock.errors import InterlockError
from interlock.world.git.settings import GitSetting, find

__all__ = ["accept_filters", "accepted_filters", "kept_by_filters"]

_KEEPING = ("lfs", "git-crypt")
"""Filters that keep contents or keys in a directory of their name in the git directory."""
_COMMANDS = ("clean", "smudge", "process", "required")
_accepted: dict[str, frozenset[str]] = {}
"""The names of the accepted filters, by the git directory of the repository."""


def accept_filters(root: Path, names: Collection[str]) -> None:
    """Let the filters of these names run in a repository from now on, in this process, and no others."""
    if not names and not _accepted:
        return
    try:
        _accepted[str(find(root)[2].resolve())] = frozenset(names)
    except InterlockError:
        if names:
            raise


def accepted_filters(common: Path, known: Iterable[GitSetting]) -> tuple[GitSetting, ...]:
    """Return the settings of the filters that may run, as the user defines them."""
    names = _accepted.get(str(common.resolve())) if _accepted else None
    if not names:
        return ()
    wanted = {f"filter.{name}.{command}" for name in names for command in _COMMANDS}
    found = {one.name: one for one in known if one.is_users and one.name in wanted and one.value}
    for name in names:  # without the program, git would store a file as it is, and nobody would see it
        whole = f"filter.{name}.process" in found or {f"filter.{name}.clean", f"filter.{name}.smudge"} <= found.keys()
        if whole:
            required = f"filter.{name}.required"
            found[required] = GitSetting("global", required, "true")
    return tuple(found.values())


def kept_by_filters(filters: Iterable[GitSetting]) -> list[str]:
    """Return the directories in which these filters keep what must outlive one call of git."""
    return [name for name in _KEEPING if any(one.name.startswith(f"filter.{name}.") for one in filters)]
