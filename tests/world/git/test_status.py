"""What git says of a work tree: every shape of it, and names of any bytes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import Operation, state
from world.git.repositories import environment, git, made, write

ODD = ["with space", "new\nline", "tab\there", "-x", ":(glob)*", "é", os.fsdecode(b"\xff\xfe"), 'quo"te', "back\\slash"]


def test_a_clean_tree_is_clean(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    found = state(root)
    assert (found.head, found.branch, found.operation) == (git("rev-parse", "HEAD", cwd=root), "main", None)
    assert found.is_clean
    assert (found.nested, found.hidden) == ((), ())


def test_an_unborn_branch_has_no_head(tmp_path: Path) -> None:
    git("init", "-q", "-b", "trunk", tmp_path, cwd=tmp_path)
    write(tmp_path, {"a": "1"})
    found = state(tmp_path)
    assert (found.head, found.branch, found.untracked) == (None, "trunk", ("a",))


def test_a_detached_head_has_no_branch(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    git("checkout", "-q", "--detach", cwd=root)
    assert state(root).branch is None


def test_what_differs_is_told_apart(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"staged": "1", "unstaged": "1", "both": "1", "gone": "1", "ignored.log": "1"})
    write(root, {"staged": "2", "both": "2", ".gitignore": "*.log\n", "new": "1", "x.log": "1"})
    git("add", "staged", "both", cwd=root)
    write(root, {"unstaged": "2", "both": "3", "ignored.log": "2"})
    (root / "gone").unlink()
    found = state(root)
    assert found.staged == ("both", "staged")
    assert found.unstaged == ("both", "gone", "ignored.log", "unstaged")
    assert found.untracked == (".gitignore", "new")
    assert not found.is_clean


def test_names_of_any_bytes_come_back_as_they_are(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    write(root, dict.fromkeys(ODD, "1"))
    assert sorted(state(root).untracked) == sorted(ODD)
    git("add", "-A", cwd=root)
    assert sorted(state(root).staged) == sorted(ODD)


@pytest.mark.parametrize("operation", list(Operation))
def test_what_is_under_way_is_seen(tmp_path: Path, operation: Operation) -> None:
    root = made(tmp_path / "r", {"f": "0\n"})
    git("checkout", "-q", "-b", "other", cwd=root)
    write(root, {"f": "1\n"})
    git("commit", "-qam", "other", cwd=root)
    git("checkout", "-q", "main", cwd=root)
    write(root, {"f": "2\n"})
    git("commit", "-qam", "main", cwd=root)
    words = ["revert", "--no-edit", "HEAD~1"] if operation is Operation.REVERT else [operation.value, "other"]
    if operation is Operation.REVERT:
        git("cherry-pick", "--no-commit", "--strategy=ours", "other", cwd=root)
        git("reset", "-q", "--hard", cwd=root)
        words = ["revert", "--no-edit", "other"]
    subprocess.run(["git", *words], cwd=root, env=environment(tmp_path), capture_output=True, check=False, timeout=60)
    found = state(root)
    assert found.operation is operation
    assert found.conflicts == ("f",)


def test_what_git_was_told_not_to_look_at_is_told(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"assumed": "1", "skipped": "1", "left": "1"})
    git("update-index", "--assume-unchanged", "assumed", "left", cwd=root)
    git("update-index", "--skip-worktree", "skipped", cwd=root)
    write(root, {"assumed": "22", "skipped": "22"})
    found = state(root)
    assert found.hidden == ("assumed", "skipped")
    assert found.is_clean


def test_a_change_within_the_clocks_grain_is_seen(tmp_path: Path) -> None:
    """Same size, same time as the index: only the index's own time tells that git must look."""
    root = made(tmp_path / "r", {"f": "1"})
    time = (root / "f").stat().st_mtime_ns
    git("update-index", "--refresh", cwd=root)
    (root / "f").write_text("2")
    os.utime(root / "f", ns=(time, time))
    os.utime(root / ".git" / "index", ns=(time, time))
    assert state(root).unstaged == ("f",)


def test_a_linked_work_tree_has_its_own_state(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    git("worktree", "add", "-q", "-b", "side", tmp_path / "side", cwd=root)
    write(tmp_path / "side", {"a.txt": "changed\n"})
    assert state(root).is_clean
    found = state(tmp_path / "side")
    assert (found.branch, found.unstaged) == ("side", ("a.txt",))


def test_files_outside_a_sparse_checkout_are_not_missing(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"in/a": "1", "out/b": "1", "top": "1"})
    git("sparse-checkout", "set", "in", cwd=root)
    assert not (root / "out").exists()
    assert state(root).is_clean
    assert state(root).hidden == ()


def test_a_submodule_is_looked_at_from_outside_only(tmp_path: Path) -> None:
    library, root = made(tmp_path / "library"), made(tmp_path / "r")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib", cwd=root)
    git("commit", "-qm", "lib", cwd=root)
    write(root / "lib", {"a.txt": "dirty\n"})
    assert state(root).is_clean
    git("commit", "-qam", "moved", cwd=root / "lib")
    assert state(root).unstaged == ("lib",)
    assert state(root / "lib").is_clean


def test_a_repository_inside_is_told_as_such(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    made(root / "inner")
    found = state(root)
    assert found.nested == ("inner/",)
    assert found.is_clean


def test_a_repository_of_somebody_else_can_be_asked(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    if os.geteuid() != 0:
        pytest.skip("not run: only root can give a file away")
    for path in (root, root / ".git", *(root / ".git").rglob("*")):
        os.chown(path, 12345, 12345)
    assert state(root).is_clean


def test_from_below_and_outside(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    assert state(root / "d").is_clean
    with pytest.raises(InterlockError) as caught:
        state(tmp_path)
    assert caught.value.code == "no_repository"


def test_a_bare_repository_has_no_files(tmp_path: Path) -> None:
    git("init", "-q", "--bare", tmp_path / "bare", cwd=tmp_path)
    with pytest.raises(InterlockError) as caught:
        state(tmp_path / "bare")
    assert caught.value.code == "no_repository"


def test_a_broken_head_is_said_and_not_taken_for_an_unborn_branch(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    (root / ".git" / "HEAD").write_text("0" * 39 + "1\n")
    with pytest.raises(InterlockError) as caught:
        state(root)
    assert caught.value.code == "git_failed"
