"""One commit of exactly the approved tree, and the commits before it kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import Identity, baseline, begin_branch, commit, log, squash, state, tree_hash, undo
from world.git.repositories import ADA, git, index_of, made, picture, write

THREAD = "ralf/01jb"
MESSAGE = "feat: greet\n\nBecause: $(touch canary) `x`\n\nThread: 01jb"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A thread's branch with two commits, and work that is staged, changed, new and removed."""
    root = made(tmp_path / "r", {"a": "1", "b": "1", "gone": "1", ".gitignore": "*.log\n"})
    begin_branch(root, THREAD, baseline(root).commit)
    for number in "23":
        write(root, {"a": number})
        commit(root, f"wip {number}", author=ADA)
    write(root, {"a": "4", "b": "2", "new": "1", "x.log": "ignored"})
    git("add", "a", cwd=root)
    (root / "gone").unlink()
    return root


def test_one_commit_of_exactly_the_tree_on_the_base(root: Path) -> None:
    base, tip, tree = git("rev-parse", "main", cwd=root), git("rev-parse", "HEAD", cwd=root), tree_hash(root)
    before, index = picture(root), index_of(root)
    made_now = squash(root, THREAD, base, tree, MESSAGE, "t/commits", author=ADA)
    [newest, *_] = log(root)
    assert (newest.hash, newest.parents, newest.message, newest.author) == (made_now, (base,), MESSAGE, "Ada")
    assert git("rev-parse", "HEAD^{tree}", cwd=root) == tree
    assert git("rev-parse", "main", "refs/ralf/t/commits^1", cwd=root).split() == [base, tip]
    assert (picture(root), git("status", "--porcelain", cwd=root)) == (before, "")
    assert state(root).branch == THREAD
    assert squash(root, THREAD, base, tree, MESSAGE, "t/commits", author=ADA) == made_now, "it finds its own commit"
    assert len(git("for-each-ref", "--format=%(refname)", "refs/ralf", cwd=root).split()) == 1
    git("gc", "-q", "--prune=now", cwd=root)
    undo(root, "t/commits")
    assert (git("rev-parse", "HEAD", cwd=root), picture(root), index_of(root)) == (tip, before, index)
    assert squash(root, THREAD, base, tree, MESSAGE, "t/commits", author=ADA) == made_now, "the same is made again"


def test_another_message_is_another_commit(root: Path) -> None:
    base, tree = git("rev-parse", "main", cwd=root), tree_hash(root)
    first = squash(root, THREAD, base, tree, "one", "k", author=ADA)
    second = squash(root, THREAD, base, tree, "two", "k", author=ADA)
    assert first != second
    assert git("log", "--format=%s", f"{base}..HEAD", cwd=root) == "two"
    assert git("rev-parse", "refs/ralf/k-2^1", cwd=root) == first


def test_the_user_commits_where_nobody_is_named(root: Path) -> None:
    for name, value in (("user.name", "Grace"), ("user.email", "grace@example.org")):
        git("config", name, value, cwd=root)
    squash(root, THREAD, git("rev-parse", "main", cwd=root), tree_hash(root), "x", "k")
    assert git("log", "-1", "--format=%an <%ae> %cn", cwd=root) == "Grace <grace@example.org> Grace"


def test_files_that_are_another_tree_are_refused(root: Path) -> None:
    base, tree = git("rev-parse", "main", cwd=root), tree_hash(root)
    write(root, {"late": "1"})
    before = picture(root), index_of(root), git("for-each-ref", cwd=root)
    for given in (tree, git("rev-parse", "main^{tree}", cwd=root), "nonsense", "0" * 40):
        with pytest.raises(InterlockError) as caught:
            squash(root, THREAD, base, given, "x", "k", author=ADA)
        assert caught.value.code == "git_conflict"
    assert (picture(root), index_of(root), git("for-each-ref", cwd=root)) == before


def test_another_branch_a_merge_and_false_names_are_refused(root: Path) -> None:
    base, tree, who = git("rev-parse", "main", cwd=root), tree_hash(root), Identity("A", "a@example.org")
    for branch, on, code in (
        ("main", base, "invalid_argument"),
        ("ralf/other", base, "git_conflict"),
        (THREAD, "main", "git_failed"),
        (THREAD, "0" * 40, "git_failed"),
    ):
        with pytest.raises(InterlockError) as caught:
            squash(root, branch, on, tree, "x", "k", author=who)
        assert caught.value.code == code
    write(root, {".git/MERGE_HEAD": f"{base}\n"})
    with pytest.raises(InterlockError) as caught:
        squash(root, THREAD, base, tree, "x", "k", author=who)
    assert caught.value.code == "git_conflict"
    assert git("for-each-ref", "refs/ralf", cwd=root) == ""
