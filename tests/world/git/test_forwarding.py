"""A person's branch that follows the commits of an agent's tree, and their commits taken into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import adopt_commits, commit, forward_branch
from world.git.own import BRANCH, OwnTree, lives, made_own, taken
from world.git.repositories import ADA, git, index_of, picture, write

LINES = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
def own(tmp_path: Path) -> OwnTree:
    return made_own(tmp_path / "r", {"a": LINES, "d/b": "1", "gone": "1", ".gitignore": "*.log\n"})


def _work(own: OwnTree) -> str:
    """What an agent did, as one commit on its branch."""
    write(own.files, {"a": LINES.replace("line 3\n", "agent's\n"), "new/x": "1", "odd\nname": "1"})
    (own.files / "gone").unlink()
    (own.files / "d" / "b").chmod(0o755)
    made = commit(own.files, "agent", author=ADA, branch=BRANCH)
    assert made is not None
    return made


def _forward(own: OwnTree) -> str | None:
    return forward_branch(own.root, "main", BRANCH)


def _picture(root: Path) -> dict[str, tuple[str, bytes, int]]:
    return {name: one for name, one in picture(root).items() if not name.startswith(".ralf/")}


def _is_at(own: OwnTree, made: str) -> None:
    assert git("rev-parse", "main", cwd=own.root) == made
    assert git("status", "--porcelain", cwd=own.root) == ""
    assert _picture(own.root).keys() == _picture(own.files).keys()


def test_a_clean_checkout_follows_with_its_index(own: OwnTree) -> None:
    write(own.root, {"x.log": "ignored"})
    made = _work(own)
    assert _forward(own) is None
    (own.root / "x.log").unlink()
    _is_at(own, made)
    assert git("log", "-1", "--format=%gs", "-g", "main", cwd=own.root) == "forward by ralph"
    assert _forward(own) is None


@pytest.mark.parametrize("files", [{"d/b": "mine"}, {"mine": "1"}, {"new/x": "another"}], ids=str)
def test_a_checkout_with_changes_stays_as_it_is_and_so_does_its_branch(own: OwnTree, files: dict[str, str]) -> None:
    _work(own)
    write(own.root, files)
    before = picture(own.root), index_of(own.root), git("rev-parse", "main", cwd=own.root)
    why = _forward(own)
    if files == {"mine": "1"}:  # an untracked file is in nobody's way
        assert why is None
        assert git("status", "--porcelain", cwd=own.root) == "?? mine"
        return
    assert why is not None
    assert next(iter(files)) in why
    assert before == (picture(own.root), index_of(own.root), git("rev-parse", "main", cwd=own.root))


def test_what_is_staged_stays_staged(own: OwnTree) -> None:
    _work(own)
    write(own.root, {"d/b": "mine"})
    git("add", "d/b", cwd=own.root)
    before = index_of(own.root)
    assert _forward(own) is not None
    assert index_of(own.root) == before


def test_changes_that_the_commit_has_too_are_no_changes(own: OwnTree) -> None:
    made = _work(own)
    write(own.root, {"a": LINES.replace("line 3\n", "agent's\n"), "new/x": "1"})
    assert _forward(own) is None
    _is_at(own, made)


def test_an_ignored_file_in_the_way_is_kept(own: OwnTree) -> None:
    write(own.root, {"note.log": "mine"})
    write(own.files, {".gitignore": "", "note.log": "agent's"})
    assert commit(own.files, "agent", author=ADA, branch=BRANCH) is not None
    why = _forward(own)
    assert why is not None
    assert "note.log" in why
    assert (own.root / "note.log").read_text() == "mine"
    assert git("rev-parse", "main", cwd=own.root) == own.base


def test_a_branch_that_is_not_checked_out_moves_alone(own: OwnTree) -> None:
    git("switch", "-qc", "mine", cwd=own.root)
    write(own.root, {"a": "mine"})
    before = _picture(own.root), index_of(own.root)
    made = _work(own)
    assert _forward(own) is None
    assert git("rev-parse", "main", "mine", cwd=own.root).split() == [made, own.base]
    assert before == (_picture(own.root), index_of(own.root))


def test_a_branch_that_another_work_tree_has_stays(own: OwnTree, tmp_path: Path) -> None:
    git("switch", "-qc", "mine", cwd=own.root)
    git("worktree", "add", "-q", tmp_path / "w", "main", cwd=own.root)
    _work(own)
    assert str(tmp_path / "w") in (_forward(own) or "")
    assert git("rev-parse", "main", cwd=own.root) == own.base


def _diverge(root: Path) -> None:
    git("commit", "-q", "--allow-empty", "-m", "mine", cwd=root)


def _delete(root: Path) -> None:
    git("switch", "-qc", "mine", cwd=root)
    git("branch", "-D", "main", cwd=root)


def _merge(root: Path) -> None:
    (root / ".git" / "MERGE_HEAD").write_text(git("rev-parse", "HEAD", cwd=root) + "\n")


@pytest.mark.parametrize(("do", "says"), [(_diverge, "other commits"), (_delete, "gone"), (_merge, "merge")])
def test_a_branch_that_cannot_follow_is_not_touched(own: OwnTree, do: object, says: str) -> None:
    _work(own)
    assert callable(do)
    do(own.root)
    refs = git("for-each-ref", cwd=own.root)
    assert says in (_forward(own) or "")
    assert git("for-each-ref", cwd=own.root) == refs


def test_what_the_person_commits_comes_into_the_tree_and_the_agents_work_stays(own: OwnTree) -> None:
    write(own.files, {"a": LINES.replace("line 3\n", "agent's\n"), "n": "1"})
    write(own.root, {"a": LINES.replace("line 17\n", "mine\n"), "theirs": "1"})
    git("add", "-A", cwd=own.root)
    git("commit", "-qm", "mine", cwd=own.root)
    assert adopt_commits(own.files, "main")
    assert not adopt_commits(own.files, "main")
    assert git("rev-parse", BRANCH, cwd=own.root) == git("rev-parse", "main", cwd=own.root)
    assert (own.files / "a").read_text() == LINES.replace("line 3\n", "agent's\n").replace("line 17\n", "mine\n")
    assert git("status", "--porcelain", cwd=own.files) == " M a\n?? n"
    made = commit(own.files, "agent", author=ADA, branch=BRANCH)
    assert made is not None
    assert _forward(own) is None
    _is_at(own, made)
    lives(own)


def test_branches_with_different_commits_are_refused_and_nothing_is_touched(own: OwnTree) -> None:
    _work(own)
    _diverge(own.root)
    before = taken(own), git("for-each-ref", cwd=own.root)
    with pytest.raises(InterlockError) as caught:
        adopt_commits(own.files, "main")
    assert caught.value.code == "git_conflict"
    assert before[0] == taken(own)
    assert git("for-each-ref", "refs/heads", cwd=own.root) in before[1]


@pytest.mark.parametrize("branch", [BRANCH, "main", "gone"])
def test_without_newer_commits_there_is_nothing_to_take(own: OwnTree, branch: str) -> None:
    _work(own)
    assert not adopt_commits(own.files, branch)


def test_a_commit_that_undoes_what_somebody_put_on_the_trees_branch_is_refused(own: OwnTree) -> None:
    empty = git("hash-object", "-w", "-t", "tree", "/dev/null", cwd=own.root)
    theirs = git("commit-tree", "-p", BRANCH, "-m", "theirs", empty, cwd=own.root)
    git("update-ref", f"refs/heads/{BRANCH}", theirs, cwd=own.root)
    write(own.files, {"n": "1"})
    with pytest.raises(InterlockError) as caught:
        commit(own.files, "agent", author=ADA, branch=BRANCH)
    assert caught.value.code == "git_failed"
    assert own.base in caught.value.hint
    assert git("rev-parse", BRANCH, cwd=own.root) == theirs


def test_a_commit_moves_the_branch_and_what_protects_its_objects_at_once(own: OwnTree) -> None:
    made = _work(own)
    assert git("rev-parse", BRANCH, "refs/ralf/trees/01jb/base", cwd=own.root).split() == [made, made]
    assert git("rev-parse", "HEAD", cwd=own.files) == made
    assert git("status", "--porcelain", cwd=own.files) == ""
    lives(own)
