"""Random repositories: what is committed, what is dirty, what happens to the base branch meanwhile."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
from hypothesis import strategies as st

from interlock.world.git import StartingPoint
from world.git.repositories import environment, git, index_of, picture, write

__all__ = ["PLANS", "Change", "File", "Plan", "be_dirty", "commit", "go_on", "whole"]

ODD = ("sp ace", "new\nline", "-x", ":(glob)*", os.fsdecode(b"\xff"), "é/ü", '"q"', "a\\b")
NAMES = st.sampled_from(["a", "b", "d", "d/x", "d/e/z", "u.log", "d/v.log", "t.txt", *ODD])
CONTENTS = st.one_of(st.binary(max_size=8), st.sampled_from([b"1\r\n2\n", b"\r\n", b"\n", b"", b"x" * 300]))
MODES = st.sampled_from([0o644, 0o755, 0o600, 0o444, 0o640])


class File(msgspec.Struct, frozen=True):
    name: str
    content: bytes
    mode: int
    is_link: bool


FILES = st.lists(st.builds(File, NAMES, CONTENTS, MODES, st.booleans()), max_size=5)


class Change(msgspec.Struct, frozen=True):
    """One thing that somebody does to a work tree: writes, removes, renames, stages."""

    files: list[File]
    gone: list[str]
    renamed: tuple[str, str] | None
    staged: list[str]
    is_all_staged: bool


CHANGES = st.builds(
    Change,
    FILES,
    st.lists(NAMES, max_size=2),
    st.none() | st.tuples(NAMES, NAMES),
    st.lists(NAMES, max_size=3),
    st.booleans(),
)


class Plan(msgspec.Struct, frozen=True):
    """A repository: what is first, what agents commit, what is dirty, what happens to the base branch meanwhile."""

    attributes: str
    ignored: str
    first: Change
    agents: list[Change]
    dirty: list[Change]
    base_goes_on: Change | None
    submodule: str
    is_merging: bool
    hidden: str | None
    is_packed: bool
    is_linked: bool = msgspec.field(default=False)


PLANS = st.builds(
    Plan,
    st.sampled_from(["", "* text=auto\n", "* text eol=crlf\n", "*.txt ident eol=crlf\n"]),
    st.sampled_from(["*.log\n", "", "d/\n"]),
    CHANGES,
    st.lists(CHANGES, max_size=2),
    st.lists(CHANGES, max_size=2),
    st.none() | CHANGES,
    st.sampled_from(["none", "none", "there", "moved", "staged"]),
    st.sampled_from([False, False, False, True]),
    st.none() | st.none() | NAMES,
    st.booleans(),
    st.booleans(),
)


def _put(root: Path, file: File) -> None:
    path = root / file.name
    for above in reversed(path.relative_to(root).parents[:-1]):
        if (root / above).is_symlink() or (root / above).is_file():
            (root / above).unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        return
    path.unlink(missing_ok=True)
    if file.is_link:
        path.symlink_to(os.fsdecode(file.content.replace(b"\0", b"")[:50] or b"x"))
    else:
        path.write_bytes(file.content)
        path.chmod(file.mode)


def _try(root: Path, *words: str) -> None:
    """What may fail, such as staging a file that is not there."""
    done = ["git", "-c", "core.safecrlf=false", "--literal-pathspecs", *words]
    subprocess.run(done, cwd=root, env=environment(root.parent), capture_output=True, timeout=60, check=False)


def _change(root: Path, change: Change) -> None:
    for file in change.files:
        _put(root, file)
    for name in change.gone:
        if (root / name).is_symlink() or (root / name).is_file():
            (root / name).unlink()
    if change.renamed is not None:
        _try(root, "mv", "-f", "--", *change.renamed)
    for name in change.staged:
        _try(root, "add", "--", name)
    if change.is_all_staged:
        _try(root, "add", "-A", "--ignore-errors")


def commit(root: Path, change: Change, message: str) -> None:
    _change(root, change)
    _try(root, "add", "-A", "--ignore-errors")
    git("commit", "-q", "--allow-empty", "-m", message, cwd=root)


def go_on(root: Path, place: Path, base: StartingPoint, plan: Plan) -> None:
    """Let the base branch go on, in a work tree of its own."""
    if plan.base_goes_on is not None:
        git("worktree", "add", "-q", "--detach", place / "theirs", base.commit, cwd=root)
        commit(place / "theirs", plan.base_goes_on, "went on")
        git("update-ref", f"refs/heads/{base.branch}", git("rev-parse", "HEAD", cwd=place / "theirs"), cwd=root)
        git("worktree", "remove", "-f", place / "theirs", cwd=root)


def be_dirty(root: Path, plan: Plan, base: StartingPoint) -> None:
    if plan.submodule in ("moved", "staged") and (root / "lib" / ".git").exists():
        git("commit", "-q", "--allow-empty", "-m", "moved", cwd=root / "lib")
        write(root, {"lib/dirty": "1"})
        if plan.submodule == "staged":
            _try(root, "add", "lib")
    for change in plan.dirty:
        _change(root, change)
    if plan.hidden is not None:
        _try(root, "update-index", "--assume-unchanged", "--", plan.hidden)
        if (root / plan.hidden).is_file() and not (root / plan.hidden).is_symlink():
            (root / plan.hidden).chmod(0o644)
            (root / plan.hidden).write_bytes(b"hidden from git")
    if plan.is_merging:
        _try(root, "merge", "-q", "--no-commit", "--no-ff", base.branch)


def whole(root: Path) -> tuple[object, ...]:
    git_directory = Path(git("rev-parse", "--absolute-git-dir", cwd=root))
    inner = git("rev-parse", "HEAD", cwd=root / "lib") if (root / "lib" / ".git").exists() else ""
    return (
        picture(root),
        index_of(root),
        git("status", "--porcelain", "-z", cwd=root),
        (git_directory / "HEAD").read_text(),
        git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", cwd=root),
        (git_directory / "MERGE_HEAD").exists(),
        inner,
    )
