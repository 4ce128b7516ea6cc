"""The tree of an agent: what it costs to make one, to take it after the first time, and how much disk it uses."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from bench.project import begun, environment
from bench.timing import Aim, Comparison, Effort, alone, at_most, compare
from interlock.world.git import TreeTaking, baseline, make_own_tree, show_commit
from interlock.world.repository import own_tree

__all__ = ["measure"]

_ROUNDS = 15
_AIM_TAKEN = at_most(60)


class _Size(msgspec.Struct, frozen=True):
    """A repository: so many files of so many bytes each."""

    name: str
    files: int
    bytes: int
    aim: Aim | None = None


_SIZES = (_Size("10,000 files, 100 MB", 10_000, 10_000, _AIM_TAKEN), _Size("20,000 files, 1 GB", 20_000, 50_000))


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """A repository of 100 MB and, unless in a hurry, one of 1 GB."""
    if shutil.which("git") is None:
        return
    place = directory.resolve() / "trees"
    for size in _SIZES if effort.sizes[-1] > 10_000 else _SIZES[:1]:
        root = place / str(size.files)
        _make(root, size)
        yield from _measured(root, size)
        shutil.rmtree(place)


def _make(root: Path, size: _Size) -> None:
    for number in range(size.files):
        path = root / f"part-{number // 100}" / f"file-{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size.bytes))
    begun(root)


def _measured(root: Path, size: _Size) -> Iterator[Comparison]:
    files = own_tree(root / ".ralf", "bench")
    with_git = root.with_name(f"{root.name}-worktree")
    bare = _seconds(lambda: _git(root, "worktree", "add", "-q", "--detach", str(with_git)))
    made = _seconds(lambda: make_own_tree(root, files, "ralf/bench", baseline(root).commit, root.parent / "objects"))
    title = f"making a tree, {size.name}"
    yield Comparison(title, "git worktree add", " ms", made * 1000, bare * 1000, made / bare)
    clone = sum(one.stat().st_size for one in (files / ".git").rglob("*") if one.is_file()) / 1e6
    yield alone(f"disk beside the files, {size.name}", clone, " MB")
    taking = TreeTaking()
    yield alone(f"taking it first, {size.name}", _seconds(lambda: taking.take(files)) * 1000, " ms")
    ours, theirs = [], []
    for number in range(_ROUNDS):
        for place in (files, with_git):
            (place / "part-0" / "file-0").write_text(f"round {number}\n")
            (place / f"new-{number}").write_text("new\n")
        ours.append(_seconds(lambda: taking.take(files)) * 1000)
        theirs.append(_seconds(lambda: _git(with_git, "add", "-A")) * 1000)
    spent = statistics.median(ours)
    yield compare(f"taking it after a change, {size.name}", "git add -A", ours, theirs, unit=" ms")
    yield alone(f"taking it after a change, {size.name}: in all", spent, " ms", aim=size.aim)
    shown = _seconds(lambda: show_commit(files, baseline(root).commit)) * 1000
    yield alone(f"showing a commit in the agent's repository, {size.name}", shown, " ms")


def _git(directory: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=directory, env=environment(), check=True)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
