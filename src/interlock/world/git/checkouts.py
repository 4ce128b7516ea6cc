"""A checkout and the tree of an agent, brought together: files put in place, and edits of a person merged.

Nothing here moves a branch or changes an index: what is brought shows as uncommitted changes, as if it was typed there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from interlock.world.git.kept import OURS, ref_of, refuse_half_done
from interlock.world.git.locks import locked
from interlock.world.git.moves import clear_stage, exchange, fingerprint, refuse_blocked, same_as_staged, staging
from interlock.world.git.objects import GITLINK, LINK, TreeDifference, differences, files_of, read, tree_of
from interlock.world.git.private import GitRoot, Repository, as_input, opened
from interlock.world.git.status import branch_of, ignored_among, statuses
from interlock.world.git.taking import TreeTaking
from interlock.world.git.trees import refuse_filters, take_up, take_up_everything
from interlock.world.git.underway import MoveInProgress, begin, end, underway

__all__ = ["keep_tree", "merge_trees", "newly_ignored", "put_tree", "tree_of_checkout", "tree_under"]

_LARGEST = 1 << 23
"""The most bytes of a file that is merged line by line."""


def put_tree(place: Path, tree: str, expected: str, *, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Make the files of a work tree those of a tree. False, and nothing is touched, unless they are `expected`.

    Ignored files, submodules and the index stay as they are. After a crash it can be called again. Refuses with
    `git_conflict` if an ignored file is in the way, and with `git_unsafe` what only a filter could write.
    """
    with opened(place) as repository, locked(repository, sleep):
        now, move = _tree_now(repository), MoveInProgress("put", expected, tree)
        if now == tree:
            there = underway(repository)
            if there is not None and (there.verb, there.commit) == (move.verb, tree):  # its process died at the end
                end(repository)
            clear_stage(repository)
            return True
        if now != expected and not (underway(repository) == move and _is_between(repository, now, expected, tree)):
            return False
        changes = [one for one in differences(repository, now, tree) if not _is_submodule(one)]
        put = [os.fsdecode(one.path) for one in changes if one.new is not None]
        index = repository.private / "index.put"
        repository.run("read-tree", tree, index=index)
        if not repository.is_own:  # in an agent's tree, files come out as they are stored
            refuse_filters(repository, put, ("smudge", "process"), index=index)
        with staging(repository) as stage:
            feed = as_input(put)
            repository.run("checkout-index", "-z", "--stdin", feed=feed, directory=stage, index=index)
            going = [os.fsdecode(one.path) for one in changes if one.old is not None]
            root = repository.work_tree
            seen = {path: fingerprint(root, path) for path in going if _is_file(root / path)}
            seen |= same_as_staged(root, stage, put)
            refuse_blocked(root, put, seen)
            begin(repository, move)
            exchange(root, stage, remove=seen, put=put)
        end(repository)
        return True


def tree_of_checkout(place: Path, branch: str, *, sleep: Callable[[float], None] = time.sleep) -> str | None:
    """Return the tree of a checkout's files; None if another branch is checked out there.

    The index is held, so no `git switch` of the person is half done in these files. Refuses with `git_conflict` while
    a merge or the like is under way, or a conflict is not solved.
    """
    with opened(place) as repository, locked(repository, sleep):
        changed = statuses(repository)
        refuse_half_done(repository, changed, "bringing it together with the agent's files")
        take_up(repository, changed)
        tree = repository.line("write-tree")
    with opened(place) as repository:  # git moves HEAD after it has let go of the index
        return tree if branch_of(repository) == branch else None


def _tree_now(repository: Repository) -> str:
    if repository.is_own:
        return TreeTaking().take(repository).tree
    take_up_everything(repository)
    return repository.line("write-tree")


def _is_between(repository: Repository, now: str, old: str, new: str) -> bool:
    """True if every file is as in one of two trees, or gone: so a call that died has left it."""
    changes = {one.path: one for one in differences(repository, old, new)}
    for one in differences(repository, old, now):
        known = changes.get(one.path)
        if known is None or one.new not in (None, known.new):
            return False
    return True


def _is_submodule(one: TreeDifference) -> bool:
    return GITLINK in (one.old and one.old.mode, one.new and one.new.mode)


def _is_file(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def merge_trees(root: GitRoot, base: str, ours: str, theirs: str) -> str:
    """Return the tree with the changes of both since the base; where they contradict each other, theirs count."""
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    with opened(root) as repository:
        index = repository.private / "index.merge"
        index.unlink(missing_ok=True)
        repository.run("read-tree", "-i", "-m", "--aggressive", base, ours, theirs, index=index)
        sides = _unmerged(repository, index)
        lines = []
        for path, stages in sides.items():
            mode, name = _merged(repository, stages, is_in_the_way=_is_in_the_way(path, sides))
            lines.append(f"{mode} {name}\t".encode() + path + b"\0")
        if lines:
            repository.run("update-index", "-z", "--index-info", feed=b"".join(lines), index=index)
        return repository.line("write-tree", index=index)


def _unmerged(repository: Repository, index: Path) -> dict[bytes, dict[int, tuple[str, str]]]:
    """The mode and hash of each side of what git did not merge by itself: 1 is the base, 2 ours, 3 theirs."""
    found: dict[bytes, dict[int, tuple[str, str]]] = {}
    for line in repository.run("ls-files", "-u", "-z", index=index).split(b"\0"):
        if line:
            said, _, path = line.partition(b"\t")
            mode, name, stage = said.decode("ascii").split()
            found.setdefault(path, {})[int(stage)] = (mode, name)
    return found


def _is_in_the_way(path: bytes, sides: dict[bytes, dict[int, tuple[str, str]]]) -> bool:
    """True if one of their files is where a directory of the path must be, or below the path."""
    return any(
        3 in stages and (path.startswith(one + b"/") or one.startswith(path + b"/")) for one, stages in sides.items()
    )


def _merged(repository: Repository, stages: dict[int, tuple[str, str]], *, is_in_the_way: bool) -> tuple[str, str]:
    theirs = stages.get(3)
    if theirs is None and set(stages) == {2} and not is_in_the_way:
        return stages[2]  # new from us
    if theirs is None:  # they removed it
        return "0", "0" * len(next(iter(stages.values()))[1])
    if set(stages) != {1, 2, 3} or {LINK, GITLINK} & {mode for mode, _ in stages.values()}:
        return theirs
    mode = theirs[0] if theirs[0] != stages[1][0] else stages[2][0]
    if stages[1][1] in (stages[2][1], theirs[1]):
        return mode, theirs[1] if stages[1][1] == stages[2][1] else stages[2][1]
    content = read(repository, [stages[one][1] for one in (1, 2, 3)])
    if any(content[stages[one][1]].size > _LARGEST for one in (1, 2, 3)):
        return mode, theirs[1]
    places = []
    for one in (2, 1, 3):
        place = repository.private / f"merge.{one}"
        place.write_bytes(content[stages[one][1]].bytes)
        places.append(str(place))
    answer = repository.ask("merge-file", "-p", "-q", "--theirs", *places, directory=repository.private)
    if answer.status != 0:
        return mode, theirs[1]
    made = repository.line("hash-object", "-w", "--no-filters", "--stdin", feed=answer.output)
    return mode, made


def keep_tree(root: GitRoot, name: str, tree: str, *, adds: bool = False) -> None:
    """Keep a tree under `refs/ralf/<name>`, in the place of one that is kept there, or after it if it `adds`."""
    with opened(root) as repository:
        ref, feed = ref_of(repository, name), b"A tree, kept by ralph\n"
        last = repository.found("rev-parse", "--verify", "--quiet", ref) if adds else None
        words = ("commit-tree", *(("-p", last) if last is not None else ()), "-F", "-", tree)
        made = repository.run(*words, feed=feed, environment=OURS).decode("ascii").strip()
        repository.run("update-ref", "-m", "kept by ralph", ref, made, environment=OURS)


def tree_under(root: GitRoot, name: str) -> str | None:
    """The tree that is kept under `refs/ralf/<name>`; None if there is none."""
    with opened(root) as repository:
        commit = repository.found("rev-parse", "--verify", "--quiet", ref_of(repository, name))
        return None if commit is None else tree_of(repository, commit)


def newly_ignored(root: GitRoot, base: str, tree: str, ignored: Collection[str]) -> tuple[str, ...]:
    """Those ignored paths of a tree's files that the rules of the base would not ignore."""
    with opened(root) as repository:
        before, after = (files_of(repository, tree_of(repository, one)) for one in (base, tree))
        rules = [path for path in before.keys() | after.keys() if path.rpartition(b"/")[2] == b".gitignore"]
        if not ignored or all(before.get(path) == after.get(path) for path in rules):
            return ()
        place = repository.private / "rules"
        texts = read(repository, [before[path].hash for path in rules if path in before and before[path].mode != LINK])
        for path in rules:
            if path in before and before[path].mode != LINK:
                rule = place / os.fsdecode(path)
                rule.parent.mkdir(parents=True, exist_ok=True)
                rule.write_bytes(texts[before[path].hash].bytes)
        for name in ignored:
            if name.endswith("/"):
                with suppress(OSError):
                    (place / name).mkdir(parents=True, exist_ok=True)
        place.mkdir(exist_ok=True)
        still = ignored_among(repository, [os.fsencode(name) for name in ignored], place)
        return tuple(name for name in sorted(ignored) if os.fsencode(name) not in still)
