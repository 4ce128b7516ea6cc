"""A work tree of its own for a thread: git knows it, and it goes without losing anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import (
    add_work_tree,
    baseline,
    checked_out,
    commit,
    delete_branch,
    keep,
    remove_work_tree,
    state,
    tree_hash,
    undo,
)
from world.git.repositories import ADA, git, index_of, made, picture, write

THREAD = "ralf/01jb"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made(tmp_path / "r", {"a": "1", "d/b": "1", ".gitignore": "*.log\n", ".gitattributes": "*.txt eol=crlf\n"})


@pytest.fixture
def place(root: Path, tmp_path: Path) -> Path:
    place = tmp_path / "trees" / "01jb"
    add_work_tree(root, place, THREAD, baseline(root).commit)
    return place


def _code(call: object, *arguments: object) -> str:
    with pytest.raises(InterlockError) as caught:
        call(*arguments)  # type: ignore[operator]
    assert caught.value.hint
    return caught.value.code


def test_git_knows_a_work_tree_that_was_made(root: Path, place: Path) -> None:
    listed = git("worktree", "list", "--porcelain", cwd=root)
    assert f"worktree {place}\nHEAD {baseline(root).commit}\nbranch refs/heads/{THREAD}" in listed
    assert "locked" not in listed
    assert "prunable" not in listed
    assert picture(place) == picture(root)
    assert git("status", "--porcelain", cwd=place) == ""
    assert (state(place).branch, state(root).branch) == (THREAD, "main")
    write(place, {"a": "2"})
    commit(place, "agent", author=ADA)
    assert git("log", "-1", "--format=%s", THREAD, cwd=root) == "agent"
    assert git("status", "--porcelain", cwd=root) == ""
    git("worktree", "prune", cwd=root)
    git("fsck", cwd=place)
    git("worktree", "remove", place, cwd=root)


def test_one_that_a_killed_process_made_in_part_has_no_branch_until_it_is_whole(root: Path, place: Path) -> None:
    assert checked_out(place) == THREAD
    lock = root / ".git" / "worktrees" / "ralf-01jb" / "locked"
    lock.write_text("ralph is making it\n")
    (place / "a").unlink()
    assert checked_out(place) is None
    add_work_tree(root, place, THREAD, baseline(root).commit)
    assert (checked_out(place), (place / "a").read_text()) == (THREAD, "1")
    lock.write_text("the person keeps it\n")
    assert checked_out(place) == THREAD


def test_it_can_be_made_again_and_twice_beside(root: Path, place: Path, tmp_path: Path) -> None:
    write(place, {"a": "mine"})
    commit(place, "agent", author=ADA)
    write(place, {"a": "mine"})
    add_work_tree(root, place, THREAD, baseline(root).commit)
    assert (place / "a").read_text() == "mine"
    add_work_tree(root, tmp_path / "second", "ralf/02", baseline(root).commit)
    assert tree_hash(tmp_path / "second") == tree_hash(root)
    tip = git("rev-parse", THREAD, cwd=root)
    assert _code(add_work_tree, root, tmp_path / "third", THREAD, tip) == "git_conflict"
    assert not (tmp_path / "third").exists()


def test_what_is_in_the_way_is_left(root: Path, tmp_path: Path) -> None:
    at = baseline(root).commit
    (tmp_path / "file").write_text("mine")
    assert _code(add_work_tree, root, tmp_path / "file", "ralf/1", at) == "invalid_argument"
    other = made(tmp_path / "other")
    assert _code(add_work_tree, root, other, "ralf/2", at) == "git_conflict"
    assert _code(add_work_tree, root, root, "ralf/3", at) == "git_conflict"
    write(tmp_path / "full", {"a": "mine", "beside": "mine"})
    assert _code(add_work_tree, root, tmp_path / "full", "ralf/4", at) == "git_conflict"
    assert sorted(picture(tmp_path / "full")) == ["a", "beside"]
    assert (tmp_path / "full" / "a").read_text() == "mine"
    assert git("branch", "--format=%(refname:short)", cwd=root) == "main"
    assert not (root / ".git" / "worktrees").exists()
    (tmp_path / "full" / "a").unlink()
    add_work_tree(root, tmp_path / "full", "ralf/4", at)
    assert (tmp_path / "full" / "a").read_text() == "1"
    assert (tmp_path / "full" / "beside").read_text() == "mine"


def test_names_that_are_taken_or_no_threads_are_refused(root: Path, tmp_path: Path) -> None:
    first = baseline(root).commit
    git("branch", THREAD, cwd=root)
    git("commit", "-q", "--allow-empty", "-m", "second", cwd=root)
    second = baseline(root).commit
    assert _code(add_work_tree, root, tmp_path / "x", THREAD, second) == "git_branch_exists"
    assert _code(add_work_tree, root, tmp_path / "x", "main", second) == "invalid_argument"
    assert _code(add_work_tree, root, tmp_path / "x", "ralf/new", "HEAD") == "git_failed"
    git("switch", "-q", THREAD, cwd=root)
    assert _code(add_work_tree, root, tmp_path / "x", THREAD, first) == "git_conflict"
    assert not (tmp_path / "x").exists()
    assert not (root / ".git" / "worktrees").exists()


def test_a_work_tree_goes_and_comes_back(root: Path, place: Path) -> None:
    write(place, {"a": "2", "n.txt": b"lf\n"})
    commit(place, "agent", author=ADA)
    tip = git("rev-parse", THREAD, cwd=root)
    write(place, {"a": "3", "new/x": "1"})
    (place / "d" / "b").unlink()
    (place / ".gitignore").chmod(0o600)
    git("add", "a", cwd=place)
    before = picture(place), index_of(place), git("status", "--porcelain", cwd=place)
    removed = remove_work_tree(root, place, "t/tree")
    assert removed.kept is not None
    assert (removed.kept.head, removed.left) == (tip, ())
    assert not place.exists()
    assert str(place) not in git("worktree", "list", cwd=root)
    assert git("rev-parse", THREAD, cwd=root) == tip
    assert remove_work_tree(root, place, "t/tree") == removed, "it can be called again"
    delete_branch(root, THREAD, "t/tree")
    git("gc", "-q", "--prune=now", cwd=root)
    for _ in range(2):
        assert undo(root, "t/tree") == removed.kept
        assert (picture(place), index_of(place), git("status", "--porcelain", cwd=place)) == before
    assert git("rev-parse", THREAD, cwd=root) == tip
    assert state(place).branch == THREAD


def test_what_nobody_keeps_is_left(root: Path, place: Path) -> None:
    write(place, {"x.log": "ignored", "deps/y.log": "ignored", "new": "1"})
    made(place / "inner")
    removed = remove_work_tree(root, place, "k")
    assert removed.left == ("deps", "inner", "x.log")
    assert (place / "x.log").read_text() == "ignored"
    assert git("log", "--format=%s", cwd=place / "inner") == "first"
    assert remove_work_tree(root, place, "k") == removed
    undo(root, "k")
    assert (place / "new").read_text() == "1"
    assert state(place).nested == ("inner/",)


def test_only_a_linked_work_tree_that_is_not_held_is_removed(root: Path, place: Path, tmp_path: Path) -> None:
    before = picture(root)
    plain = tmp_path / "plain"
    (plain / "empty").mkdir(parents=True)
    other = made(tmp_path / "other")
    git("worktree", "add", "-q", tmp_path / "foreign", cwd=other)
    keep(root, "k")
    for wrong in (root, plain, other, tmp_path / "foreign", tmp_path / "missing"):
        assert _code(remove_work_tree, root, wrong, "k") == "invalid_argument"
    assert (plain / "empty").exists()
    assert (tmp_path / "foreign" / ".git").exists()
    git("worktree", "lock", place, cwd=root)
    assert _code(remove_work_tree, root, place, "k") == "git_conflict"
    git("worktree", "unlock", place, cwd=root)
    write(root, {".git/worktrees/ralf-01jb/MERGE_HEAD": f"{baseline(root).commit}\n"})
    assert _code(remove_work_tree, root, place, "k") == "git_conflict"
    assert picture(root) == before
    assert (place / "a").exists()


def test_a_work_tree_of_the_users_can_be_removed_too_and_its_branch_stays(root: Path, tmp_path: Path) -> None:
    side = tmp_path / "side"
    git("worktree", "add", "-q", "-b", "feature", side, cwd=root)
    write(side, {"a": "2"})
    removed = remove_work_tree(root, side, "k")
    assert removed.kept is not None
    assert removed.kept.paths
    assert git("show", "refs/ralf/k:work/a", cwd=root) == "2"
    assert git("rev-parse", "feature", cwd=root) == baseline(root).commit


def test_a_work_tree_reached_by_a_link_is_the_one_it_leads_to(root: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    add_work_tree(root, tmp_path / "link" / "t", THREAD, baseline(root).commit)
    assert str(tmp_path / "real" / "t") in git("worktree", "list", cwd=root)
    assert remove_work_tree(root, tmp_path / "link" / "t", "k").left == ()
