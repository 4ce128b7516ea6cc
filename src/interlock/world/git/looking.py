"""A work tree looked at again and again: what it is, by hash, and what of it is not as HEAD has it.

The entries of the index are kept from one look to the next, in memory, where nothing that runs in between can write.
They hold no stat data: git reads every file at every look, because on some file systems a write through a memory
mapping does not change the times of a file.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from interlock.world.git.entries import entries_only
from interlock.world.git.private import GitRoot, Repository, opened
from interlock.world.git.references import protect_tree
from interlock.world.git.settings import GitSetting
from interlock.world.git.status import PathStatus, statuses
from interlock.world.git.trees import below, leave_out, take_up

__all__ = ["BEGAN", "Looking", "WorkTreeHash"]

BEGAN, SEEN = "began", "seen"
"""The refs of an agent's tree with what the work since the last commit began on, and with what was seen last."""


class WorkTreeHash(msgspec.Struct, frozen=True):
    """A work tree as it is now, without what was excluded: its hash, and every path that is not as HEAD has it."""

    tree: str
    changed: tuple[str, ...]


class _Basis(msgspec.Struct, frozen=True):
    """What an index of ours was made of; where it is another, so must the index be."""

    index: bytes
    """The user's: what is tracked there is, whatever is ignored."""
    exclude: tuple[str, ...]
    settings: tuple[GitSetting, ...]


class Looking(msgspec.Struct):
    """Looks at one work tree."""

    _basis: _Basis | None = None
    _index: bytes = b""
    _tree: str = ""

    def look(self, root: GitRoot, exclude: Sequence[str] = ()) -> WorkTreeHash:
        """The work tree now; `tree` is what `tree_hash` gives."""
        with opened(root) as repository:
            index = repository.private / "index.look"
            self._lay_out(repository, index, tuple(exclude))
            found = _found(repository, index, exclude)
            differing = [one for one in found if one.in_tree != "."]
            take_up(repository, differing, index)
            if any(one.in_index not in ".?" for one in differing) or len({one.path for one in found}) < len(found):
                found = _found(repository, index, exclude)  # changed twice, it may be as it was
            if differing or not self._tree:
                ref = SEEN if self._tree else BEGAN
                self._tree = repository.line("write-tree", index=index)
                if repository.is_own:  # nobody's `git gc` collects it
                    protect_tree(repository, ref, self._tree)
            if index.exists() and (differing or not self._index):
                self._index, _ = entries_only(index.read_bytes(), repository.algorithm)
            return WorkTreeHash(self._tree, tuple(sorted({one.path for one in found})))

    @property
    def tree(self) -> str:
        """The tree of the last look; empty before one."""
        return self._tree

    def carry_over(self, before: bytes, after: bytes) -> None:
        """The user's index was this, and is that since all that differs was committed: the same files are tracked."""
        if self._basis is not None and self._basis.index == before:
            self._basis = replace(self._basis, index=after)

    def _lay_out(self, repository: Repository, index: Path, exclude: tuple[str, ...]) -> None:
        """The index of the last look, or a new one from the user's."""
        users = repository.users_index
        basis = _Basis(users.read_bytes() if users.exists() else b"", exclude, repository.settings)
        index.unlink(missing_ok=True)
        if basis == self._basis and self._index:
            index.write_bytes(self._index)
            return
        self._basis, self._index, self._tree = None, b"", ""  # known once the look is done
        if repository.index.exists():
            shutil.copy2(repository.index, index)
        leave_out(repository, exclude, index)
        self._basis = basis


def _found(repository: Repository, index: Path, exclude: Sequence[str]) -> list[PathStatus]:
    is_excluded = below(exclude)
    return [one for one in statuses(repository, index, exclude) if not one.is_nested and not is_excluded(one.path)]
