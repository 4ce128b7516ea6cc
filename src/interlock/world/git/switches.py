"""The files of another commit, put in the place of those that are there.

Everything is made ready and checked first, beside the work tree; then files are removed and moved in. Ignored files,
repositories inside the work tree and submodules are left alone: one that is in the way is a reason to refuse.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from interlock.errors import InterlockError
from interlock.world.git.entries import has_unseen_entries
from interlock.world.git.kept import refuse_half_done
from interlock.world.git.moves import (
    Fingerprint,
    exchange,
    fingerprint,
    make_directories,
    refuse_blocked,
    same_as_staged,
)
from interlock.world.git.objects import GITLINK, TreeDifference, differences, files_of, tree_of
from interlock.world.git.private import Repository, as_input
from interlock.world.git.status import PathStatus, head_of, hidden_of, statuses
from interlock.world.git.trees import refuse_filters
from interlock.world.repository import STATE_DIRECTORY

__all__ = ["Switch", "prepare", "tracked_changes"]


class Switch(msgspec.Struct, frozen=True):
    """What is ready: the files on the stage, the new index, and what has to go from the work tree."""

    repository: Repository
    stage: Path
    index: Path
    changed: tuple[PathStatus, ...]
    """What differed from HEAD when it was made ready; all of it goes but what was to be spared."""
    remove: dict[str, Fingerprint]
    put: tuple[str, ...]
    submodules: tuple[str, ...]

    def make(self) -> None:
        """Put the files in place, and let the new index know them; refuses where a file changed since."""
        exchange(self.repository.work_tree, self.stage, remove=self.remove, put=self.put)
        make_directories(self.repository.work_tree, self.submodules)
        self.repository.ask("update-index", "-q", "--refresh", index=self.index)


def prepare(
    repository: Repository,
    stage: Path,
    commit: str,
    verb: str,
    *,
    may_go: Collection[str] | None = None,
    leaving_out: Collection[str] = (),
    index: Path | None = None,
) -> Switch:
    """Make ready the files of a commit; touches nothing of the work tree.

    Refuses with `git_unsafe` what only a filter could write, and with `git_conflict` in a merge or the like, or where
    a file is in the way that would not be kept. Of untracked files, all go, or only those that may; the others stay,
    and are in the way where another one has to go. What is left out goes and is not put: something else is to come.

    Every file is read, unless there is an `index` of ours with stat data that git may trust.
    """
    root = repository.work_tree
    now = differences(repository, _tree_of_head(repository), tree_of(repository, commit))
    differing = {os.fsdecode(one.path): one for one in now}
    # Seen before git looks: what git then calls unchanged was so when it was seen.
    heads = (path for path, one in differing.items() if one.old is not None and _is_file(root / path))
    seen = {path: fingerprint(root, path) for path in heads}
    changed = tuple(one for one in statuses(repository, index) if not (one.is_nested or _is_state(one)))
    refuse_half_done(repository, changed, verb)
    going = [one for one in changed if not _stays(one, may_go)]
    paths = {*differing, *(one.path for one in going)}
    _refuse_hidden(repository, paths)
    untouched = {one.path for one in changed if one.is_absent or _stays(one, may_go)}
    remove = {path: mark for path, mark in seen.items() if path not in untouched}
    remove |= {one.path: fingerprint(root, one.path) for one in going if not one.is_absent}
    index = _index(repository, stage, commit, index or repository.index)
    wanted, submodules = _wanted(repository, commit, index, paths, differing)
    put = [path for path in wanted if path not in leaving_out]
    refuse_filters(repository, put, ("smudge", "process"), index=index)
    repository.run("checkout-index", "-z", "--stdin", feed=as_input(put), directory=stage, index=index)
    _forget(repository, index, put, differing)
    remove = same_as_staged(root, stage, put) | remove
    refuse_blocked(root, put, remove)
    return Switch(repository, stage, index, changed, remove, tuple(put), tuple(submodules))


def _is_state(one: PathStatus) -> bool:
    """Whether it is a file of our own state, which is never to be moved, even where somebody made git see it."""
    return one.is_untracked and one.path.startswith(f"{STATE_DIRECTORY}/")


def _stays(one: PathStatus, may_go: Collection[str] | None) -> bool:
    return one.is_submodule or (one.is_untracked and may_go is not None and one.path not in may_go)


def _tree_of_head(repository: Repository) -> str | None:
    head = head_of(repository)
    return tree_of(repository, head) if head is not None else None


def _index(repository: Repository, stage: Path, commit: str, now: Path) -> Path:
    """The index of a commit; what it has in common with the present one keeps what git knows of the files."""
    index = repository.private / "index.switch"
    if now.exists():
        shutil.copy2(now, index)
    # With `-i`, git does not compare the files that it was told not to look at with stat data, which there is none of.
    repository.run("read-tree", "-i", "--reset", commit, index=index)
    if (repository.setting("core.sparsecheckout") or "false").lower() == "true":
        # With nothing but the stage to write to, it only marks what sparse rules leave out.
        repository.run("read-tree", "-m", "-u", commit, directory=stage, index=index)
    return index


def _forget(repository: Repository, index: Path, put: Collection[str], differing: Mapping[str, TreeDifference]) -> None:
    """Let the new index know nothing of the files that were there: by their size, git would call new ones changed.

    It knows nothing of those that differ, whose entries are new.
    """
    wanted = {os.fsencode(path) for path in put if path not in differing}
    listed = repository.run("ls-files", "-s", "-z", index=index).split(b"\0") if wanted else []
    anew = [line for line in listed if line.partition(b"\t")[2] in wanted]
    if anew:
        repository.run("update-index", "-z", "--index-info", feed=b"\0".join(anew) + b"\0", index=index)


def _wanted(
    repository: Repository, commit: str, index: Path, paths: set[str], differing: Mapping[str, TreeDifference]
) -> tuple[list[str], list[str]]:
    """The paths that the commit has as files, and those that it has as submodules; sparse rules leave some out."""
    if paths - differing.keys():
        all_files = files_of(repository, tree_of(repository, commit))
        modes = {path: one.mode for path in paths if (one := all_files.get(os.fsencode(path))) is not None}
    else:
        modes = {path: one.new.mode for path, one in differing.items() if one.new is not None}
    left_out = _skipped(repository, index)
    put = sorted(path for path, mode in modes.items() if mode != GITLINK and path not in left_out)
    return put, sorted(path for path, mode in modes.items() if mode == GITLINK)


def _skipped(repository: Repository, index: Path) -> set[str]:
    """The paths that an index says are not to be there, as sparse rules do."""
    if not has_unseen_entries(index.read_bytes(), repository.algorithm):
        return set()
    tagged = repository.run("ls-files", "-t", "-z", index=index).split(b"\0")
    return {os.fsdecode(line[2:]) for line in tagged if line[:1] == b"S"}


def _refuse_hidden(repository: Repository, paths: set[str]) -> None:
    hidden = [path for path in hidden_of(repository) if path in paths]
    if hidden:
        message = f"{hidden[0]!r} in {repository.work_tree} is changed, and git was told not to look at it."
        hint = "Let git look: `git update-index --no-assume-unchanged --no-skip-worktree FILE`."
        raise InterlockError("git_conflict", message, hint, {"paths": hidden})


def _is_file(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def tracked_changes(changed: Sequence[PathStatus]) -> list[str]:
    """The paths of tracked files that differ from HEAD; a submodule is looked after by nobody here."""
    return [one.path for one in changed if not one.is_untracked and not one.is_submodule]
