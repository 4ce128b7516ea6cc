"""The tree that a commit of everything would have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import tree_hash
from world.git.repositories import git, made, write
from world.git.test_status import ODD


def _as_git_has_it(root: Path) -> str:
    git("add", "-A", cwd=root)
    return git("write-tree", cwd=root)


def test_it_is_the_tree_that_git_would_commit(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "1", "gone": "1", "d/deep/b": "1", ".gitignore": "*.log\n"})
    write(root, {"a": "2", "new/file": "1", "x.log": "1", **dict.fromkeys(ODD, "odd")})
    (root / "gone").unlink()
    (root / "link").symlink_to("/nowhere/at/all")
    (root / "tool").write_text("#!/bin/sh\n")
    (root / "tool").chmod(0o755)
    before = (root / ".git" / "index").read_bytes()
    found = tree_hash(root)
    assert found == tree_hash(root)
    assert (root / ".git" / "index").read_bytes() == before
    assert found == _as_git_has_it(root)


def test_a_file_becomes_a_directory_and_a_directory_a_link(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"f": "1", "d/x": "1", "d/y": "1"})
    outside = tmp_path / "outside"
    write(outside, {"x": "not ours"})
    (root / "f").unlink()
    write(root, {"f/inner": "1"})
    for name in ("x", "y"):
        (root / "d" / name).unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to(outside)
    assert tree_hash(root) == _as_git_has_it(root)


def test_what_is_excluded_has_no_say(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "1", "progress.txt": "1", "loop/x": "1", "loopy": "1"})
    exclude = ("progress.txt", "loop")
    before = tree_hash(root, exclude=exclude)
    write(root, {"progress.txt": "2", "loop/y": "2"})
    (root / "loop" / "x").unlink()
    assert tree_hash(root, exclude=exclude) == before
    assert git("ls-tree", "-r", "--name-only", before, cwd=root).split() == ["a", "loopy"]
    write(root, {"loopy": "2"})
    assert tree_hash(root, exclude=exclude) != before


def test_a_staged_state_makes_no_difference(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    write(root, {"a.txt": "staged", "b": "1"})
    before = tree_hash(root)
    git("add", "-A", cwd=root)
    assert tree_hash(root) == before
    git("add", "-N", ".", cwd=root)
    write(root, {"ita": "1"})
    git("add", "-N", "ita", cwd=root)
    assert tree_hash(root) == _as_git_has_it(root)


def test_line_endings_are_as_attributes_say(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {".gitattributes": "*.txt text eol=crlf\n*.bin binary\n"})
    write(root, {"a.txt": b"one\r\ntwo\r\n", "b.bin": b"one\r\ntwo\r\n"})
    found = tree_hash(root)
    assert found == _as_git_has_it(root)
    assert git("cat-file", "blob", f"{found}:a.txt", cwd=root) == "one\ntwo"


def test_an_unborn_branch_and_an_empty_one(tmp_path: Path) -> None:
    git("init", "-q", tmp_path, cwd=tmp_path)
    assert tree_hash(tmp_path) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    write(tmp_path, {"a": "1"})
    assert tree_hash(tmp_path) == _as_git_has_it(tmp_path)


def test_a_repository_inside_is_left_out(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    before = tree_hash(root)
    git("init", "-q", root / "inner", cwd=root)
    write(root / "inner", {"x": "1"})
    assert tree_hash(root) == before


def test_sparse_and_linked_trees_and_submodules(tmp_path: Path) -> None:
    library, root = made(tmp_path / "library"), made(tmp_path / "r", {"in/a": "1", "out/b": "1"})
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib", cwd=root)
    git("commit", "-qm", "lib", cwd=root)
    git("worktree", "add", "-q", tmp_path / "side", cwd=root)
    side = tmp_path / "side"
    git("sparse-checkout", "set", "in", cwd=side)
    write(side, {"in/new": "1"})
    found = tree_hash(side)
    names = git("ls-tree", "-r", "--name-only", found, cwd=root).split()
    assert names == [".gitmodules", "in/a", "in/new", "lib", "out/b"]


def test_a_repository_with_sha256(tmp_path: Path) -> None:
    git("init", "-q", "--object-format=sha256", tmp_path, cwd=tmp_path)
    write(tmp_path, {"a": "1"})
    found = tree_hash(tmp_path)
    assert len(found) == 64
    assert found == _as_git_has_it(tmp_path)


def test_ten_thousand_files(tmp_path: Path) -> None:
    """A few calls of git, however many files: arguments go through its input."""
    root = made(tmp_path / "r", {f"d{number % 100}/f{number}": str(number) for number in range(5_000)})
    write(root, {f"e{number % 100}/g{number}": str(number) for number in range(5_000)})
    for number in range(0, 5_000, 2):
        (root / f"d{number % 100}" / f"f{number}").write_text("changed")
    assert tree_hash(root, exclude=["e7"]) != tree_hash(root) == _as_git_has_it(root)


@pytest.mark.parametrize("kind", ["clean", "process"])
def test_a_file_that_a_filter_must_make_is_refused(tmp_path: Path, kind: str) -> None:
    root = made(tmp_path / "r", {".gitattributes": "*.big filter=lfs\n", "old.big": "pointer"})
    git("config", f"filter.lfs.{kind}", "git-lfs something", cwd=root)
    tree_hash(root)  # what is not changed needs no filter
    write(root, {"new.big": "content"})
    with pytest.raises(InterlockError) as caught:
        tree_hash(root)
    assert caught.value.code == "git_unsafe"
    assert f"filter.lfs.{kind}" in caught.value.message
    assert caught.value.details["paths"] == ["new.big"]
    assert tree_hash(root, exclude=["new.big"])


def test_a_filter_that_nobody_configured_is_none(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {".gitattributes": "*.big filter=lfs\n"})
    write(root, {"new.big": "content", os.fsdecode(b"\xff.big"): "1"})
    assert tree_hash(root) == _as_git_has_it(root)
