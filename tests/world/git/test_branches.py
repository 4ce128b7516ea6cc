"""The branch of a thread: made where HEAD is, checked out, removed; and no branch of the user's moves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import StartingPoint, baseline, begin_branch, delete_branch, keep, state
from world.git.repositories import git, index_of, made, picture, write

THREAD = "ralf/01jb"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made(tmp_path / "r")


def _refs(root: Path) -> str:
    return git("for-each-ref", "--format=%(refname) %(objectname)", cwd=root) + git("rev-parse", "HEAD", cwd=root)


def _code(caught: pytest.ExceptionInfo[InterlockError]) -> str:
    assert caught.value.hint
    return caught.value.code


def test_the_baseline_is_the_branch_and_its_commit(root: Path) -> None:
    assert baseline(root) == StartingPoint("main", git("rev-parse", "HEAD", cwd=root))
    assert baseline(root / "d") == baseline(root)


def test_there_is_no_baseline_without_a_branch_or_without_a_commit(root: Path, tmp_path: Path) -> None:
    git("checkout", "-q", "--detach", cwd=root)
    with pytest.raises(InterlockError) as caught:
        baseline(root)
    assert _code(caught) == "git_detached"
    empty = tmp_path / "empty"
    empty.mkdir()
    git("init", "-q", cwd=empty)
    with pytest.raises(InterlockError) as caught:
        baseline(empty)
    assert _code(caught) == "git_failed"
    assert "no commit yet" in caught.value.message


def test_a_branch_begins_where_head_is_and_files_and_index_stay(root: Path) -> None:
    write(root, {"a.txt": "2\n", "new": "1"})
    git("add", "a.txt", cwd=root)
    write(root, {"a.txt": "3\n"})
    before, at = (picture(root), index_of(root)), baseline(root)
    begin_branch(root, THREAD, at.commit)
    assert (picture(root), index_of(root)) == before
    assert baseline(root) == StartingPoint(THREAD, at.commit)
    assert git("rev-parse", "main", cwd=root) == at.commit
    assert git("reflog", "-1", "--format=%gs", cwd=root) == f"checkout: moving from main to {THREAD}"
    begin_branch(root, THREAD, at.commit)
    assert baseline(root) == StartingPoint(THREAD, at.commit), "it can be called again"
    git("switch", "-q", "-", cwd=root)
    assert state(root).branch == "main"
    assert {path.name for path in (root / ".git").glob("*ralph*")} == set()


@pytest.mark.parametrize("taken", [THREAD, "ralf", f"{THREAD}/below"])
def test_a_name_that_is_taken_is_refused(root: Path, taken: str) -> None:
    git("branch", taken, cwd=root)
    before = _refs(root)
    with pytest.raises(InterlockError) as caught:
        begin_branch(root, THREAD, baseline(root).commit)
    assert _code(caught) == "git_branch_exists"
    assert caught.value.details["branch"] == taken
    assert _refs(root) == before
    assert state(root).branch == "main"


@pytest.mark.parametrize(
    "name", ["main", "feature", "ralf/", "ralf/..", "ralf/a b", "ralf/x.lock", "-ralf/x", "", "ralf/\n"]
)
def test_only_branches_of_threads_are_made(root: Path, name: str) -> None:
    before = _refs(root)
    with pytest.raises(InterlockError) as caught:
        begin_branch(root, name, baseline(root).commit)
    assert _code(caught) == "invalid_argument"
    assert _refs(root) == before


@pytest.mark.parametrize("at", ["HEAD", "main", "--all", "0" * 40, "", "HEAD^{tree}"])
def test_a_branch_begins_at_a_whole_hash_of_a_commit(root: Path, at: str) -> None:
    with pytest.raises(InterlockError) as caught:
        begin_branch(root, THREAD, at)
    assert _code(caught) == "git_failed"


def test_a_branch_begins_at_head_and_nowhere_else(root: Path) -> None:
    first = baseline(root).commit
    git("commit", "-q", "--allow-empty", "-m", "second", cwd=root)
    with pytest.raises(InterlockError) as caught:
        begin_branch(root, THREAD, first)
    assert _code(caught) == "git_conflict"


def test_a_branch_does_not_begin_in_a_merge_nor_on_a_detached_head(root: Path) -> None:
    at = baseline(root).commit
    write(root, {".git/MERGE_HEAD": f"{at}\n"})
    with pytest.raises(InterlockError) as caught:
        begin_branch(root, THREAD, at)
    assert _code(caught) == "git_conflict"
    (root / ".git" / "MERGE_HEAD").unlink()
    git("checkout", "-q", "--detach", cwd=root)
    with pytest.raises(InterlockError) as caught:
        begin_branch(root, THREAD, at)
    assert _code(caught) == "git_detached"


def test_a_branch_begins_in_a_linked_work_tree_of_its_own(root: Path, tmp_path: Path) -> None:
    side = tmp_path / "side"
    git("worktree", "add", "-q", "-b", "other", side, cwd=root)
    begin_branch(side, THREAD, baseline(side).commit)
    assert (state(side).branch, state(root).branch) == (THREAD, "main")


def test_head_that_somebody_else_is_moving_is_said(root: Path) -> None:
    (root / ".git" / "HEAD.lock").touch()
    with pytest.raises(InterlockError) as caught:
        begin_branch(root, THREAD, baseline(root).commit)
    assert _code(caught) == "git_failed"
    assert "HEAD.lock" in caught.value.message
    (root / ".git" / "HEAD.lock").unlink()
    begin_branch(root, THREAD, baseline(root).commit)
    assert state(root).branch == THREAD, "the branch that it made before is its own"


def test_a_branch_is_removed_when_its_commits_are_kept(root: Path) -> None:
    begin_branch(root, THREAD, baseline(root).commit)
    git("commit", "-q", "--allow-empty", "-m", "agent", cwd=root)
    tip = baseline(root).commit
    with pytest.raises(InterlockError) as caught:
        delete_branch(root, THREAD, "k")
    assert _code(caught) == "git_conflict"
    git("switch", "-q", "main", cwd=root)
    with pytest.raises(InterlockError) as caught:
        delete_branch(root, THREAD, "k")
    assert _code(caught) == "git_conflict"
    git("switch", "-q", THREAD, cwd=root)
    keep(root, "k")
    git("switch", "-q", "main", cwd=root)
    git("pack-refs", "--all", cwd=root)
    delete_branch(root, THREAD, "k")
    delete_branch(root, THREAD, "k")
    assert "heads/ralf" not in _refs(root)
    assert git("rev-parse", "refs/ralf/k^", cwd=root) == tip


def test_a_branch_that_another_work_tree_has_is_not_removed(root: Path, tmp_path: Path) -> None:
    git("branch", THREAD, cwd=root)
    keep(root, "k")
    side = tmp_path / "side"
    git("worktree", "add", "-q", side, THREAD, cwd=root)
    with pytest.raises(InterlockError) as caught:
        delete_branch(root, THREAD, "k")
    assert _code(caught) == "git_conflict"
    assert str(side) in caught.value.message
    assert os.path.lexists(side / ".git")


def test_a_users_branch_is_never_removed(root: Path) -> None:
    git("branch", "feature", cwd=root)
    keep(root, "k")
    with pytest.raises(InterlockError) as caught:
        delete_branch(root, "feature", "k")
    assert _code(caught) == "invalid_argument"
