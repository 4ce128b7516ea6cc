"""A work tree looked at again and again: every look sees what one that begins anew would see."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import Looking, changed_by, commit, files, identity, log, opened, state, tree_hash
from world.git.repositories import ADA, git, made, write

OWN = ("progress.txt", "stories")


def _prepared(tmp_path: Path) -> Path:
    return made(
        tmp_path / "r",
        {"a": "1", "b": "1", "d/c": "1", "progress.txt": "1", "stories/x": "1", ".gitignore": "*.log\n"},
    )


def _seen(looking: Looking, root: Path) -> None:
    """What a look sees is what is there."""
    found = looking.look(root, OWN)
    assert found.tree == tree_hash(root, exclude=OWN)
    now = state(root)
    there = {*now.staged, *now.unstaged, *now.untracked}
    assert set(found.changed) == {one for one in there if one != "progress.txt" and not one.startswith("stories/")}


def _change_without_a_trace(root: Path) -> None:
    """Another content of the same size, with the times put back."""
    seen = (root / "b").stat()
    (root / "b").write_text("9")
    os.utime(root / "b", ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _replace_by_a_directory(root: Path) -> None:
    (root / "a").unlink()
    write(root, {"a/b": "1"})


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda root: None,
    "a change": lambda root: write(root, {"a": "2"}),
    "a change of the same size": lambda root: write(root, {"a": "3"}),
    "a change without a trace": _change_without_a_trace,
    "a change back": lambda root: write(root, {"a": "1"}),
    "a new file": lambda root: write(root, {"n/new": "1"}),
    "its own files": lambda root: write(root, {"progress.txt": "2", "stories/y": "1"}),
    "a removed file": lambda root: (root / "d" / "c").unlink(),
    "a directory where a file was": _replace_by_a_directory,
    "an ignored file": lambda root: write(root, {"x.log": "1"}),
    "an ignored file, tracked": lambda root: git("add", "-f", "x.log", cwd=root),
    "all staged": lambda root: git("add", "-A", cwd=root),
    "a commit": lambda root: commit(root, "x", author=ADA),
    "an ignored file, forgotten": lambda root: git("rm", "-q", "--cached", "x.log", cwd=root),
    "a mode": lambda root: (root / "b").chmod(0o755),
    "a link": lambda root: (root / "link").symlink_to("/nowhere"),
    "a commit of somebody else": lambda root: (git("add", "-A", cwd=root), git("commit", "-qm", "y", cwd=root)),
    "another branch": lambda root: git("checkout", "-q", "-b", "other", "HEAD~1", cwd=root),
}


def test_every_look_sees_what_is_there(tmp_path: Path) -> None:
    root, looking = _prepared(tmp_path), Looking()
    for name, change in CHANGES.items():
        change(root)
        before = (root / ".git" / "index").read_bytes()
        try:
            _seen(looking, root)
        except AssertionError as error:
            raise AssertionError(name) from error
        assert before == (root / ".git" / "index").read_bytes()
    (root / ".git" / "index").unlink()
    assert looking.look(root, OWN).tree == tree_hash(root, exclude=OWN)


def test_after_a_commit_of_its_own_it_sees_what_is_there(tmp_path: Path) -> None:
    root, looking = _prepared(tmp_path), Looking()
    for number in range(3):
        write(root, {"a": f"{number}+", f"new-{number}": "1", "progress.txt": f"{number}+"})
        _seen(looking, root)
        if number == 1:
            write(root, {"x.log": "1"})
            git("add", "-f", "x.log", cwd=root)  # between the look and the commit
        assert commit(root, "x", author=ADA, looking=looking) is not None
        _seen(looking, root)


def test_a_filter_that_was_configured_between_two_looks_is_refused(tmp_path: Path) -> None:
    root, looking = _prepared(tmp_path), Looking()
    write(root, {".gitattributes": "*.big filter=big\n", "x.big": "1"})
    _seen(looking, root)
    git("config", "filter.big.clean", "false", cwd=root)
    write(root, {"x.big": "2"})
    with pytest.raises(InterlockError) as refused:
        looking.look(root, OWN)
    assert refused.value.code == "git_unsafe"
    write(root, {"x.big": "1"})
    git("config", "--unset", "filter.big.clean", cwd=root)
    _seen(looking, root)


def test_a_repository_that_is_open_is_taken_as_it_is_now(tmp_path: Path) -> None:
    root = _prepared(tmp_path)
    git("config", "user.name", "Ada", cwd=root)
    git("config", "user.email", "ada@example.org", cwd=root)
    with opened(root) as repository:
        author = identity(repository)
        write(root, {"a": "2", "new": "1"})
        first = commit(repository, "one", author=author)
        assert first is not None
        assert sorted(one.path for one in changed_by(repository, first)) == ["a", "new"]
        assert state(repository) == state(root)
        git("checkout", "-q", "-b", "other", cwd=root)
        write(root, {"b": "2"})
        git("add", "b", cwd=root)
        assert state(repository) == state(root)
        assert tree_hash(repository) == tree_hash(root)
        assert files(repository) == files(root)
        second = commit(repository, "two", author=author)
        assert [one.hash for one in log(repository, most=2)] == [second, first]
    assert git("rev-parse", "other", cwd=root) == second
    assert git("rev-parse", "main", cwd=root) == first


def test_the_first_commit_changed_all_that_it_has(tmp_path: Path) -> None:
    root = _prepared(tmp_path)
    first = git("rev-parse", "HEAD", cwd=root)
    assert {one.status for one in changed_by(root, first)} == {"A"}
    with pytest.raises(InterlockError) as refused:
        changed_by(root, "--output=/tmp/x")
    assert refused.value.code == "git_failed"
