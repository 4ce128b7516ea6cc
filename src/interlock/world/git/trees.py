"""The tree that a commit of the files as they are would have, made in a private index."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from interlock.errors import InterlockError
from interlock.world.git.private import Repository, as_input, opened
from interlock.world.git.status import Status, statuses

__all__ = ["lies_in", "refuse_filters", "take_up", "take_up_everything", "tree_hash"]

_ENOUGH = 3


def tree_hash(root: Path, *, exclude: Sequence[str] = ()) -> str:
    """The hash of the tree that a commit of everything would have: tracked and untracked files, ignored ones not.

    What is at or below a path of `exclude` is left out altogether, so that it has no say in the hash. The user's
    index is untouched; the objects stay in the repository until git collects them.
    """
    with opened(root) as repository:
        take_up_everything(repository, exclude)
        if exclude:
            listed = [os.fsdecode(name) for name in repository.run("ls-files", "-z").split(b"\0") if name]
            left_out = [path for path in listed if lies_in(path, exclude)]
            repository.run("update-index", "-z", "--force-remove", "--stdin", feed=as_input(left_out))
        return repository.line("write-tree")


def lies_in(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of those places, or below one."""
    return any(path == place or path.startswith(f"{place.rstrip('/')}/") for place in places)


def take_up_everything(repository: Repository, exclude: Sequence[str] = ()) -> None:
    """Make the private index what the work tree is, but for what is excluded."""
    take_up(repository, [one for one in statuses(repository) if not lies_in(one.path, exclude)])


def take_up(repository: Repository, changed: Collection[Status], index: Path | None = None) -> None:
    """Make those paths in a private index what they are in the work tree."""
    absent = [one.path for one in changed if one.is_absent]
    present = [one.path for one in changed if not one.is_absent and not one.is_nested]
    refuse_filters(repository, present, ("clean", "process"))
    repository.run("update-index", "-z", "--force-remove", "--stdin", feed=as_input(absent), index=index)
    repository.run("update-index", "-z", "--add", "--replace", "--stdin", feed=as_input(present), index=index)


def refuse_filters(
    repository: Repository, paths: Sequence[str], kinds: Collection[str], *, index: Path | None = None
) -> None:
    """Refuse paths whose content only a program can make, because that program is not run.

    Line endings, `$Id$` and encodings are built into git and work. With an `index`, its attributes count, not those
    of the work tree.
    """
    drivers = {one.name: one.value for one in repository.settings if one.name.startswith("filter.") and one.value}
    if not drivers:
        return
    source = ("--cached",) if index is not None else ()
    told = repository.run("check-attr", "-z", *source, "--stdin", "filter", feed=as_input(list(paths)), index=index)
    parts = [os.fsdecode(part) for part in told.split(b"\0")]
    named = zip(parts[::3], parts[2::3], strict=False)
    found = [(path, f"filter.{driver}.{kind}") for path, driver in named for kind in kinds]
    unsafe = [(path, setting) for path, setting in found if setting in drivers]
    if unsafe:
        names = ", ".join(repr(path) for path, _ in unsafe[:_ENOUGH])
        more = f" and {len(unsafe) - _ENOUGH} more" if len(unsafe) > _ENOUGH else ""
        setting = unsafe[0][1]
        message = f"The setting {setting} would run {drivers[setting]!r} for {names}{more}; it is not run."
        hint = "Commit such files yourself, or take the filter out of .gitattributes."
        raise InterlockError("git_unsafe", message, hint, {"setting": setting, "paths": [path for path, _ in unsafe]})
