"""Commits, what they changed, patches and files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import (
    PathChange,
    changed_between,
    changed_by,
    commit,
    diff,
    files,
    log,
    merged_at,
    tree_hash,
    user_email,
)
from world.git.repositories import ADA, git, made, write


def test_changes_between_two_commits_or_trees(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "1", "gone": "1", "kind": "1"})
    odd = os.fsdecode(b"\xff\n")
    write(root, {"a": "2", odd: "1"})
    (root / "gone").unlink()
    (root / "kind").unlink()
    (root / "kind").symlink_to("a")
    changes = [PathChange("a", "M"), PathChange("gone", "D"), PathChange("kind", "T"), PathChange(odd, "A")]
    assert changed_between(root, "HEAD", tree_hash(root)) == changes
    commit(root, "two", author=ADA)
    assert changed_between(root, "HEAD~1", "main") == changes
    assert changed_between(root, "HEAD", "HEAD") == []


@pytest.mark.parametrize("how", ["packed", "linked", "a pipe in its place"])
def test_changes_are_the_same_however_objects_are_stored(tmp_path: Path, how: str) -> None:
    root = made(tmp_path / "r", {"a": "1", "b/c": "2"})
    write(root, {"a": "3", "b/c": "4"})
    second = commit(root, "two", author=ADA)
    assert second is not None
    changes = [PathChange("a", "M"), PathChange("b/c", "M")]
    loose = root / ".git" / "objects" / second[:2] / second[2:]
    kept = loose.rename(tmp_path / "kept")
    if how == "linked":
        loose.symlink_to(kept)
    else:
        kept.rename(loose)
        git("repack", "-adq", cwd=root)
        assert not loose.exists()
    if how == "a pipe in its place":
        loose.parent.mkdir(exist_ok=True)
        os.mkfifo(loose)
    assert changed_by(root, second) == changed_between(root, f"{second}~1", second) == changes


@pytest.mark.parametrize("revision", ["nowhere", "--output=/tmp/x", "-p", "", "HEAD:a\n", "a..b", "HEAD\0"])
def test_a_revision_that_is_none_is_refused(tmp_path: Path, revision: str) -> None:
    root = made(tmp_path / "r")
    for ask in (lambda: log(root, revision), lambda: changed_between(root, revision, "HEAD")):
        with pytest.raises(InterlockError) as caught:
            ask()
        assert caught.value.code == "git_failed"


def test_a_patch_shows_untracked_files_too_and_is_cut(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "1\n"})
    write(root, {"a": "2\n", "new": "n\n"})
    found = diff(root)
    assert "-1\n+2\n" in found.text
    assert "+n\n" in found.text
    assert not found.is_cut
    assert diff(root, "HEAD", "HEAD").text == ""
    write(root, {"large": "x" * 100 + "\n"})
    cut = diff(root, most=150)
    assert cut.is_cut
    assert len(cut.text) == 150


def test_a_patch_of_an_unborn_branch_is_of_everything(tmp_path: Path) -> None:
    git("init", "-q", tmp_path, cwd=tmp_path)
    write(tmp_path, {"a": "1\n"})
    assert "+1\n" in diff(tmp_path).text


def test_the_log_is_newest_first(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    write(root, {"a": "2"})
    commit(root, "subject\n\nbody\n\nKey: value", author=ADA)
    newest, first = log(root)
    assert newest.hash == git("rev-parse", "HEAD", cwd=root)
    assert newest.parents == (first.hash,)
    assert (newest.author, newest.email) == ("Ada", "ada@example.org")
    assert newest.message == "subject\n\nbody\n\nKey: value"
    assert first.parents == ()
    assert log(root, most=1) == [newest]
    assert log(root, "HEAD~1") == [first]


def test_a_branch_without_commits_has_an_empty_log(tmp_path: Path) -> None:
    git("init", "-q", tmp_path, cwd=tmp_path)
    assert log(tmp_path) == []


def test_a_replaced_commit_is_what_its_hash_says(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    write(root, {"a": "2"})
    commit(root, "real", author=ADA)
    git("replace", "HEAD", "HEAD~1", cwd=root)
    assert log(root, most=1)[0].message == "real"


def test_files_are_those_that_are_not_ignored_below_where_is_asked(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "1", "d/b": "1", ".gitignore": "*.log\n"})
    write(root, {"d/new": "1", "x.log": "1"})
    assert sorted(files(root)) == [".gitignore", "a", "d/b", "d/new"]
    assert sorted(files(root / "d")) == ["b", "new"]


def test_when_a_commit_was_merged(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    found = git("rev-parse", "HEAD", cwd=root)
    assert merged_at(root, found, "main") == float(git("show", "-s", "--format=%ct", cwd=root))
    assert merged_at(root, found, "other") is None
    assert merged_at(root, "--help", "main") is None
    git("update-ref", "refs/remotes/origin/trunk", "HEAD", cwd=root)
    assert merged_at(root / ".git", found[:12], "trunk") is not None


def test_the_users_address_is_the_repositorys_or_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made(tmp_path / "r")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    assert user_email(root) is None
    git("config", "-f", tmp_path / "global", "user.email", "home@example.org", cwd=root)
    assert user_email(root) == user_email(tmp_path) == "home@example.org"
    git("config", "user.email", "work@example.org", cwd=root)
    assert user_email(root) == "work@example.org"
    (root / ".git" / "config").write_text("[broken")
    assert user_email(root) is None
