"""Files of a tree, out of the repository: into a directory of their own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from interlock.errors import UsageError
from interlock.world.git.objects import GITLINK, files_of, prove, the_tree, tree_of
from interlock.world.git.private import Repository, opened
from interlock.world.git.trees import refuse_filters

__all__ = ["checkout_index", "export_tree"]


def export_tree(root: Path, tree: str, directory: Path, *, as_stored: bool = False) -> None:
    """Write the files of a tree or commit, given by its whole hash, into a directory that is empty or missing.

    They are what a checkout would write: line endings and encodings as the tree's attributes say, links as links,
    submodules as empty directories; `git_unsafe` where only a filter could make one, unless such files are wanted as
    they are stored. All files appear at once, and a
    directory that has exactly them already is left as it is, so that it can be called again after a crash. An object
    that is not what its name says is refused with `git_failed`.
    """
    with opened(root) as repository:
        index = checkout_index(repository, tree, as_stored=as_stored)
        files = files_of(repository, tree_of(repository, tree))
        prove(repository, (one.hash for one in files.values() if one.mode != GITLINK))
        place = directory.absolute()
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise UsageError("invalid_argument", f"{place} is no directory.", "Give one that is empty or missing.")
        if place.exists() and any(place.iterdir()):
            if _is_exactly(repository, index, place):
                return
            raise UsageError("invalid_argument", f"{place} is not empty.", "Give a directory that is.")
        place.mkdir(parents=True, exist_ok=True)
        partial = place.with_name(f"{place.name}.ralph-partial")
        shutil.rmtree(partial, ignore_errors=True)  # what a crash left
        partial.mkdir(mode=0o700)
        try:
            repository.run("checkout-index", "--all", directory=partial, index=index)
            partial.chmod(place.stat().st_mode & 0o7777)
            partial.replace(place)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def checkout_index(repository: Repository, tree: str, *, as_stored: bool = False) -> Path:
    """An index of a tree, given by its whole hash; refuses with `git_unsafe` where only a filter could write a file."""
    the_tree(repository, tree)
    index = repository.private / "index.export"
    repository.run("read-tree", tree, index=index)
    paths = [os.fsdecode(name) for name in repository.run("ls-files", "-z", index=index).split(b"\0") if name]
    if not as_stored:
        refuse_filters(repository, paths, ("smudge", "process"), index=index)
    return index


def _is_exactly(repository: Repository, index: Path, place: Path) -> bool:
    """Whether a directory has the files of an index and no others."""
    listing = ("ls-files", "-z", "--others", "--directory", "--no-empty-directory")
    if repository.run(*listing, directory=place, index=index):
        return False
    repository.ask("update-index", "-q", "--refresh", directory=place, index=index)
    looking = ("diff-files", "--quiet", "--ignore-submodules=all")
    return repository.ask(*looking, directory=place, index=index).status == 0
