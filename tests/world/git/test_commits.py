"""Commits: everything or some paths, once, on the branch that is checked out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import Identity, commit, find_commit, identity, state, tree_hash
from world.git.repositories import ADA, environment, git, made, write


def test_everything_is_committed(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "1", "gone": "1"})
    write(root, {"a": "2", "new": "1", os.fsdecode(b"\xff\n"): "odd"})
    (root / "gone").unlink()
    tree = tree_hash(root)
    found = commit(root, "story 1\n\nRalph-Event: 42\n", author=ADA)
    assert found == git("rev-parse", "HEAD", cwd=root)
    assert git("rev-parse", "HEAD^{tree}", cwd=root) == tree
    assert git("show", "-s", "--format=%an %ae %cn %s", cwd=root) == "Ada ada@example.org Ada story 1"
    assert state(root).is_clean
    assert git("status", "--porcelain", cwd=root) == ""
    assert "commit: story 1" in git("reflog", cwd=root)
    git("fsck", "--strict", cwd=root)


def test_nothing_to_commit_is_none_and_touches_nothing(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    before = (root / ".git" / "index").read_bytes()
    assert commit(root, "nothing", author=ADA) is None
    assert (root / ".git" / "index").read_bytes() == before
    assert [path.name for path in (root / ".git").glob("index*")] == ["index"]


def test_an_empty_unborn_branch_has_nothing_to_commit_and_then_a_first_commit(tmp_path: Path) -> None:
    git("init", "-q", "-b", "main", tmp_path, cwd=tmp_path)
    assert commit(tmp_path, "nothing", author=ADA) is None
    write(tmp_path, {"a": "1"})
    found = commit(tmp_path, "first", author=ADA)
    assert git("log", "--format=%H %P", cwd=tmp_path).split() == [found]
    assert state(tmp_path).is_clean


def test_some_paths_are_committed_and_the_rest_stays_staged(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"progress.txt": "1", "loop/a": "1", "loop/b": "1", "mine": "1", "out": "1"})
    write(root, {"progress.txt": "2", "loop/a": "2", "loop/new": "1", "mine": "2", "other": "1"})
    (root / "loop" / "b").unlink()
    git("add", "mine", cwd=root)
    git("rm", "-q", "--cached", "out", cwd=root)
    found = commit(root, "progress", author=ADA, paths=["progress.txt", "loop", "absent"])
    assert found is not None
    changed = git("show", "--format=", "--name-status", "--no-renames", found, cwd=root).split("\n")
    assert changed == ["M\tloop/a", "D\tloop/b", "A\tloop/new", "M\tprogress.txt"]
    now = state(root)
    assert (now.staged, now.unstaged, now.untracked) == (("mine", "out"), (), ("other", "out"))
    assert commit(root, "again", author=ADA, paths=["progress.txt", "loop"]) is None


def test_a_path_that_is_staged_and_gone_is_committed_as_it_is_now(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "1", "b": "1"})
    git("rm", "-q", "a", cwd=root)
    git("rm", "-q", "--cached", "b", cwd=root)
    write(root, {"b": "2"})
    assert commit(root, "as it is", author=ADA, paths=["a", "b"]) is not None
    assert git("ls-tree", "--name-only", "HEAD", cwd=root) == "b"
    assert git("show", "HEAD:b", cwd=root) == "2"


def test_a_detached_head_is_refused(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    git("checkout", "-q", "--detach", cwd=root)
    write(root, {"a": "2"})
    with pytest.raises(InterlockError) as caught:
        commit(root, "lost", author=ADA)
    assert caught.value.code == "git_detached"


def test_another_branch_than_the_one_that_is_meant_is_refused(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    git("checkout", "-q", "-b", "mine", cwd=root)
    write(root, {"a": "2"})
    with pytest.raises(InterlockError) as caught:
        commit(root, "x", author=ADA, branch="main")
    assert caught.value.code == "git_failed"
    assert "git switch main" in (caught.value.hint or "")
    assert commit(root, "x", author=ADA, branch="mine") == git("rev-parse", "mine", cwd=root)


def test_a_merge_under_way_and_an_unsolved_conflict_are_refused(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"f": "0\n"})
    git("checkout", "-q", "-b", "other", cwd=root)
    write(root, {"f": "1\n"})
    git("commit", "-qam", "other", cwd=root)
    git("checkout", "-q", "main", cwd=root)
    write(root, {"f": "2\n"})
    git("commit", "-qam", "main", cwd=root)
    merge = ["git", "merge", "-q", "other"]
    subprocess.run(merge, cwd=root, env=environment(tmp_path), capture_output=True, check=False, timeout=60)
    with pytest.raises(InterlockError) as caught:
        commit(root, "half", author=ADA)
    assert caught.value.code == "git_conflict"
    (root / ".git" / "MERGE_HEAD").unlink()
    with pytest.raises(InterlockError) as caught:
        commit(root, "half", author=ADA)
    assert (caught.value.code, caught.value.details["paths"]) == ("git_conflict", ["f"])


def test_a_commit_is_found_by_its_trailer_only(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    assert find_commit(root, "Ralph-Event: 1") is None
    write(root, {"a": "1"})
    first = commit(root, "one\n\nsome text\n\nRalph-Event: 1\nOther: x", author=ADA)
    write(root, {"a": "2"})
    commit(root, "two\n\nIt quotes:\n\nRalph-Event: 2\n\nand goes on", author=ADA)
    write(root, {"a": "3"})
    commit(root, "three\n\nRalph-Event: 11", author=ADA)
    assert find_commit(root, "Ralph-Event: 1") == first
    assert find_commit(root, "Ralph-Event: 2") is None
    assert find_commit(root, "Ralph-Event: 1", most=2) is None


def test_an_unborn_branch_has_no_commit_to_find(tmp_path: Path) -> None:
    git("init", "-q", tmp_path, cwd=tmp_path)
    assert find_commit(tmp_path, "Ralph-Event: 1") is None


@pytest.mark.parametrize("message", ["$(touch x)", "--amend", "-F/etc/passwd", "", "# a comment\n#more", "é" * 1000])
def test_a_message_is_only_text(tmp_path: Path, message: str) -> None:
    root = made(tmp_path / "r")
    write(root, {"a": "2"})
    commit(root, message, author=ADA)
    assert git("show", "-s", "--format=%B", cwd=root).rstrip("\n") == message


def test_a_linked_work_tree_commits_on_its_own_branch(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    git("pack-refs", "--all", cwd=root)
    git("worktree", "add", "-q", "-b", "side", tmp_path / "side", cwd=root)
    write(tmp_path / "side", {"a.txt": "changed\n"})
    found = commit(tmp_path / "side", "side", author=ADA)
    assert git("rev-parse", "side", cwd=root) == found != git("rev-parse", "main", cwd=root)
    assert state(tmp_path / "side").is_clean
    assert state(root).is_clean


def test_a_sparse_checkout_keeps_what_is_outside(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"in/a": "1", "out/b": "1"})
    git("sparse-checkout", "set", "--sparse-index", "in", cwd=root)
    write(root, {"in/a": "2"})
    commit(root, "sparse", author=ADA)
    assert git("ls-tree", "-r", "--name-only", "HEAD", cwd=root).split() == ["in/a", "out/b"]
    assert not (root / "out").exists()
    assert git("status", "--porcelain", cwd=root) == ""


def test_a_split_index_is_read_and_written(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    git("update-index", "--split-index", cwd=root)
    write(root, {"a.txt": "2", "n": "1"})
    assert commit(root, "split", author=ADA)
    assert git("status", "--porcelain", cwd=root) == ""


def test_who_commits_is_read_from_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made(tmp_path / "r")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    with pytest.raises(InterlockError) as caught:
        identity(root)
    assert caught.value.code == "git_failed"
    git("config", "-f", tmp_path / "global", "user.name", "Ada", cwd=root)
    git("config", "-f", tmp_path / "global", "user.email", "ada@home", cwd=root)
    git("config", "user.email", "ada@work", cwd=root)
    assert identity(root) == Identity("Ada", "ada@work")


def test_the_user_signs_and_the_repository_has_no_say_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made(tmp_path / "r")
    key = tmp_path / "key"
    generate = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    try:
        subprocess.run(generate, check=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("not run: ssh-keygen is missing")
    canary = tmp_path / "canary"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {canary}\n")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    users = {"user.name": "Ada", "user.email": "a@b", "commit.gpgsign": "true", "gpg.format": "ssh"}
    for name, value in {**users, "user.signingkey": str(key)}.items():
        git("config", "-f", tmp_path / "global", name, value, cwd=root)
    for name in ("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"):
        git("config", name, str(program), cwd=root)
    write(root, {"a": "2"})
    commit(root, "signed", author=identity(root))
    assert "-----BEGIN SSH SIGNATURE-----" in git("cat-file", "commit", "HEAD", cwd=root)
    git("config", "-f", tmp_path / "global", "commit.gpgsign", "false", cwd=root)
    git("config", "commit.gpgsign", "true", cwd=root)
    write(root, {"a": "3"})
    commit(root, "not signed", author=identity(root))
    assert "SIGNATURE" not in git("cat-file", "commit", "HEAD", cwd=root)
    assert not canary.exists()
