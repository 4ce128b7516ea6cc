"""The tree that a commit of the files as they are would have, made in a private index."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from interlock.errors import InterlockError
from interlock.world.git.private import GitRoot, Repository, as_input, opened
from interlock.world.git.status import PathStatus, statuses

__all__ = ["below", "leave_out", "refuse_filters", "take_up", "take_up_everything", "tree_hash"]

_ENOUGH = 3


def tree_hash(root: GitRoot, *, exclude: Sequence[str] = ()) -> str:
    """The hash of the tree that a commit of everything would have: tracked and untracked files, ignored ones not.

    What is at or below a path of `exclude` is left out altogether, so that it has no say in the hash. The user's
    index is untouched; the objects stay in the repository until git collects them.
    """
    with opened(root) as repository:
        take_up_everything(repository, exclude)
        leave_out(repository, exclude)
        return repository.line("write-tree")


def below(places: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that is True for a path that is one of those places, or below one."""
    return _below(tuple(places))


@lru_cache(maxsize=4)
def _below(places: tuple[str, ...]) -> Callable[[str], bool]:
    names = {name for place in places for name in (place, place.rstrip("/"))}

    def is_below(path: str) -> bool:
        if not names or path in names:
            return bool(names)
        at = path.find("/")
        while at >= 0:
            if path[:at] in names:
                return True
            at = path.find("/", at + 1)
        return False

    return is_below


def leave_out(repository: Repository, places: Sequence[str], index: Path | None = None) -> None:
    """Take what is at or below those places out of a private index."""
    if places:
        listed = repository.run("ls-files", "-z", index=index).split(b"\0")
        left_out = list(filter(below(places), map(os.fsdecode, listed[:-1])))
        _update(repository, left_out, index, "--force-remove")


def take_up_everything(repository: Repository, exclude: Sequence[str] = ()) -> None:
    """Make the private index what the work tree is, but for what is excluded."""
    is_excluded = below(exclude)
    take_up(repository, [one for one in statuses(repository) if not is_excluded(one.path)])


def take_up(repository: Repository, changed: Collection[PathStatus], index: Path | None = None) -> None:
    """Make those paths in a private index what they are in the work tree."""
    absent = [one.path for one in changed if one.is_absent]
    present = [one.path for one in changed if not one.is_absent and not one.is_nested]
    refuse_filters(repository, present, ("clean", "process"))
    _update(repository, absent, index, "--force-remove")
    _update(repository, present, index, "--add", "--replace")


def _update(repository: Repository, paths: Sequence[str], index: Path | None, *how: str) -> None:
    if paths:
        repository.run("update-index", "-z", *how, "--stdin", feed=as_input(list(paths)), index=index)


def refuse_filters(
    repository: Repository, paths: Sequence[str], kinds: Collection[str], *, index: Path | None = None
) -> None:
    """Refuse paths whose content only a program can make that nobody accepted, because that program is not run.

    Line endings, `$Id$` and encodings are built into git and work. With an `index`, its attributes count, not those
    of the work tree.
    """
    accepted = {one.name for one in repository.filters}
    named = (one for one in repository.settings if one.name.startswith("filter.") and one.name not in accepted)
    drivers = {one.name: one.value for one in named if one.value}
    if not drivers or not paths:
        return
    source = ("--cached",) if index is not None else ()
    told = repository.run("check-attr", "-z", *source, "--stdin", "filter", feed=as_input(list(paths)), index=index)
    parts = [os.fsdecode(part) for part in told.split(b"\0")]
    paired = zip(parts[::3], parts[2::3], strict=False)
    found = [(path, f"filter.{driver}.{kind}") for path, driver in paired for kind in kinds]
    unsafe = [(path, setting) for path, setting in found if setting in drivers]
    if unsafe:
        names = ", ".join(repr(path) for path, _ in unsafe[:_ENOUGH])
        more = f" and {len(unsafe) - _ENOUGH} more" if len(unsafe) > _ENOUGH else ""
        setting = unsafe[0][1]
        message = f"The setting {setting} would run {drivers[setting]!r} for {names}{more}; it is not run."
        hint = "Commit such files yourself, or name the filter in git.filters of ralph.toml, and accept that."
        raise InterlockError("git_unsafe", message, hint, {"setting": setting, "paths": [path for path, _ in unsafe]})
