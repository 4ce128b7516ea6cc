"""The way back from a thread's branch, and undone: nothing is lost, and nothing of the user's moves."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import (
    KeptWork,
    StartingPoint,
    baseline,
    begin_branch,
    commit,
    go_back,
    keep,
    restore,
    state,
    undo,
)
from world.git.repositories import ADA, environment, git, index_of, made, picture, write

THREAD = "ralf/01jb"
FILES = dict.fromkeys("staged both unstaged uncached removed gone mode kind d/x f same".split(), "1")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made(tmp_path / "r", {**FILES, ".gitignore": "*.log\n"})


def _thread(root: Path) -> StartingPoint:
    """A branch with a commit of an agent, and every way for a path to differ from it."""
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    write(root, {"committed": "1", "same": "2", "deep/committed": "1"})
    commit(root, "agent", author=ADA)
    write(root, {"x.log": "ignored", "staged": "2", "both": "2", "unstaged": "2", "new": "1", "deep/er/new": "1"})
    git("add", "staged", "both", cwd=root)
    write(root, {"both": "3", "ita": "1"})
    git("add", "-N", "ita", cwd=root)
    git("rm", "-q", "--cached", "uncached", cwd=root)
    git("rm", "-q", "removed", cwd=root)
    git("mv", "mode", "moved", cwd=root)
    (root / "gone").unlink()
    (root / "new").chmod(0o600)
    (root / "kind").unlink()
    (root / "kind").symlink_to("nowhere")
    (root / "d" / "x").unlink()
    (root / "d").rmdir()
    write(root, {"d": "a file now"})
    (root / "f").unlink()
    write(root, {"f/inner": "a directory now"})
    return base


def _all(root: Path) -> tuple[object, ...]:
    return picture(root), index_of(root), git("status", "--porcelain", cwd=root), state(root).branch, _heads(root)


def _heads(root: Path) -> str:
    return git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", cwd=root)


def _move_main(root: Path, files: dict[str, str | bytes]) -> None:
    """Somebody else commits on main, without a work tree of it."""
    other = root.parent / "other"
    git("clone", "-q", "--branch", "main", root, other, cwd=root.parent)
    write(other, files)
    git("add", "-A", cwd=other)
    git("commit", "-q", "-m", "went on", cwd=other)
    git("fetch", "-q", other, "main:main", cwd=root)


def _refused(call: Callable[[], object], code: str) -> InterlockError:
    with pytest.raises(InterlockError) as caught:
        call()
    assert caught.value.code == code, caught.value.message
    assert caught.value.hint
    return caught.value


def test_everything_is_kept_and_the_base_branch_is_as_it_was(root: Path) -> None:
    clean, main = picture(root), git("rev-parse", "main", cwd=root)
    base = _thread(root)
    tip, before = git("rev-parse", THREAD, cwd=root), _all(root)
    kept = go_back(root, base, THREAD, "t/1")
    assert kept is not None
    assert (kept.ref, kept.name, kept.head) == ("refs/ralf/t/1", "t/1", tip)
    assert state(root).branch == "main"
    assert git("status", "--porcelain", cwd=root) == ""
    assert {**picture(root), "x.log": 0} == {**clean, "x.log": 0}
    assert (root / "x.log").read_text() == "ignored"
    assert _heads(root) == f"refs/heads/main {main}"
    assert go_back(root, base, THREAD, "t/1") == kept, "it can be called again"
    git("gc", "-q", "--prune=now", cwd=root)
    assert undo(root, "t/1") == kept
    assert _all(root) == before
    assert undo(root, "t/1") == kept, "it can be called again"
    assert _all(root) == before
    assert {path.name for path in (root / ".git").glob("*ralph*")} == set()
    git("fsck", "--strict", cwd=root)


def test_the_files_are_those_that_the_base_branch_has_now(root: Path) -> None:
    base = _thread(root)
    before = _all(root)
    _move_main(root, {"staged": "theirs", "committed": "theirs", "d/y": "theirs", "new": "theirs"})
    main = git("rev-parse", "main", cwd=root)
    go_back(root, base, THREAD, "k")
    assert git("status", "--porcelain", cwd=root) == ""
    assert (root / "new").read_text() == (root / "committed").read_text() == "theirs"
    undo(root, "k")
    assert _all(root)[:4] == before[:4]
    assert git("rev-parse", "main", cwd=root) == main


def test_the_same_name_again_keeps_the_other_work_beside(root: Path) -> None:
    base = _thread(root)
    go_back(root, base, THREAD, "k")
    undo(root, "k")
    write(root, {"new": "more"})
    before = _all(root)
    kept = go_back(root, base, THREAD, "k")
    assert kept is not None
    assert kept.name == "k-2"
    undo(root, kept.name)
    assert _all(root) == before


def test_a_branch_that_is_clean_goes_and_comes_back(root: Path) -> None:
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    before = _all(root)
    assert go_back(root, base, THREAD, "k") is not None
    assert _heads(root) == f"refs/heads/main {base.commit}"
    undo(root, "k")
    assert _all(root) == before


def test_no_branch_is_nothing_to_go_back_from(root: Path) -> None:
    write(root, {"new": "mine"})
    before = _all(root)
    assert go_back(root, baseline(root), THREAD, "k") is None
    assert _all(root) == before


def test_on_the_base_branch_no_file_is_touched(root: Path) -> None:
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    write(root, {"same": "agent"})
    commit(root, "agent", author=ADA)
    tip = git("rev-parse", "HEAD", cwd=root)
    git("switch", "-q", "main", cwd=root)
    write(root, {"new": "mine", "same": "mine"})
    before = _all(root)
    kept = go_back(root, base, THREAD, "k")
    assert _all(root)[:4] == before[:4]
    assert _heads(root) == f"refs/heads/main {base.commit}"
    assert go_back(root, base, THREAD, "k") == kept
    undo(root, "k")
    assert _all(root) == before
    assert git("rev-parse", THREAD, cwd=root) == tip


def test_a_third_branch_and_a_detached_head_are_left_alone(root: Path) -> None:
    base = _thread(root)
    keep(root, "mine")
    git("switch", "-qfc", "feature", cwd=root)
    write(root, {"same": "mine"})
    before = _all(root)
    assert "feature" in _refused(lambda: go_back(root, base, THREAD, "k"), "git_conflict").message
    git("checkout", "-q", "--detach", cwd=root)
    _refused(lambda: go_back(root, base, THREAD, "k"), "git_detached")
    git("switch", "-q", "feature", cwd=root)
    assert _all(root) == before
    assert git("for-each-ref", "refs/ralf/k*", cwd=root) == ""


def test_a_merge_in_progress_is_refused(root: Path) -> None:
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    write(root, {"same": "agent"})
    commit(root, "agent", author=ADA)
    _move_main(root, {"same": "theirs"})
    words = ["git", "merge", "-q", "main"]
    subprocess.run(words, cwd=root, env=environment(root.parent), capture_output=True, check=False, timeout=60)
    before = _all(root)
    _refused(lambda: go_back(root, base, THREAD, "k"), "git_conflict")
    (root / ".git" / "MERGE_HEAD").unlink()
    assert _refused(lambda: go_back(root, base, THREAD, "k"), "git_conflict").details["paths"] == ["same"]
    assert _all(root) == before


def test_an_ignored_file_in_the_way_is_left(root: Path) -> None:
    base = _thread(root)
    _move_main(root, {".gitignore": "", "x.log": "theirs"})
    before = _all(root)
    assert _refused(lambda: go_back(root, base, THREAD, "k"), "git_conflict").details["paths"] == ["x.log"]
    assert _all(root) == before
    assert git("for-each-ref", "refs/ralf", cwd=root) == ""


def test_a_change_that_git_was_told_not_to_see_is_not_overwritten(root: Path) -> None:
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    write(root, {"same": "agent"})
    commit(root, "agent", author=ADA)
    git("update-index", "--assume-unchanged", "same", cwd=root)
    write(root, {"same": "hidden"})
    assert _refused(lambda: go_back(root, base, THREAD, "k"), "git_conflict").details["paths"] == ["same"]
    assert (root / "same").read_text() == "hidden"
    (root / "same").unlink()
    assert state(root).hidden == ("same",)
    assert _refused(lambda: go_back(root, base, THREAD, "k"), "git_conflict").details["paths"] == ["same"]
    assert not (root / "same").exists()
    git("update-index", "--no-assume-unchanged", "same", cwd=root)
    git("checkout", "-q", "same", cwd=root)
    write(root, {"d/x": "agent"})
    commit(root, "agent", author=ADA)
    git("update-index", "--assume-unchanged", "d/x", cwd=root)
    (root / "d").rename(root.parent / "elsewhere")
    (root / "d").symlink_to(root.parent / "elsewhere")
    assert _refused(lambda: go_back(root, base, THREAD, "k"), "git_conflict").details["paths"] == ["d/x"]


def test_files_ignored_by_the_agents_own_rule_stay_and_do_not_stop_undo(root: Path) -> None:
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    write(root, {".gitignore": "*.log\nbuild/\n", "build/out": "made"})
    before = _all(root)
    go_back(root, base, THREAD, "k")
    assert state(root).untracked == ("build/out",)
    undo(root, "k")
    assert _all(root) == before


def test_ignored_files_where_the_branch_has_a_file_do_not_stop_undo(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "1", ".gitignore": "d/\n"})
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    write(root, {"d": "a file"})
    commit(root, "agent", author=ADA)
    (root / "d").unlink()
    write(root, {"d/out": "ignored"})
    before = _all(root)
    go_back(root, base, THREAD, "k")
    assert (root / "d" / "out").read_text() == "ignored"
    undo(root, "k")
    assert _all(root) == before


def test_our_own_state_is_not_moved_even_where_git_sees_it(root: Path) -> None:
    base = _thread(root)
    write(root, {".ralf/journal.db": "the truth"})
    kept = go_back(root, base, THREAD, "k")
    assert (root / ".ralf" / "journal.db").read_text() == "the truth"
    assert kept is not None
    assert ".ralf/journal.db" not in kept.paths
    write(root, {".ralf/journal.db": "the truth, and more"})
    undo(root, "k")
    assert (root / ".ralf" / "journal.db").read_text() == "the truth, and more"


def test_undo_overwrites_no_other_work(root: Path) -> None:
    base = _thread(root)
    go_back(root, base, THREAD, "k")
    for change, path in (({"same": "mine"}, "same"), ({"new": "mine"}, "new"), ({"deep": "mine"}, "deep")):
        write(root, change)
        before = _all(root)
        assert _refused(lambda: undo(root, "k"), "git_conflict").details["paths"] == [path]
        assert _all(root) == before
        git("checkout", "-q", "same", cwd=root)
        git("clean", "-qfd", cwd=root)
    write(root, {"beside": "mine"})
    undo(root, "k")
    assert (root / "beside").read_text() == "mine", "what is not in the way stays"
    assert (root / "new").read_text() == "1"


def test_undo_takes_no_branch_over(root: Path) -> None:
    base = _thread(root)
    go_back(root, base, THREAD, "k")
    git("branch", THREAD, cwd=root)
    before = _all(root)
    _refused(lambda: undo(root, "k"), "git_branch_exists")
    assert _all(root) == before
    git("branch", "-D", THREAD, cwd=root)
    git("checkout", "-q", "--detach", cwd=root)
    _refused(lambda: undo(root, "k"), "git_detached")


def test_undo_of_what_was_only_kept_restores_it(root: Path) -> None:
    write(root, {"new": "1", "same": "2"})
    before = _all(root)
    keep(root, "k")
    git("checkout", "-q", "same", cwd=root)
    git("clean", "-qfd", cwd=root)
    undo(root, "k")
    assert _all(root) == before
    _refused(lambda: undo(root, "never"), "git_failed")


def test_a_base_branch_that_is_gone_is_said_with_how_to_make_it(root: Path) -> None:
    base = _thread(root)
    git("branch", "-D", "main", cwd=root)
    before = _all(root)
    assert base.commit in _refused(lambda: go_back(root, base, THREAD, "k"), "git_failed").hint
    assert _all(root) == before


def test_branches_that_are_checked_out_elsewhere_do_not_move(root: Path, tmp_path: Path) -> None:
    base = _thread(root)
    side = tmp_path / "side"
    git("worktree", "add", "-q", side, "main", cwd=root)
    before = _all(root)
    assert str(side) in _refused(lambda: go_back(root, base, THREAD, "k"), "git_conflict").message
    assert _all(root) == before
    git("worktree", "remove", side, cwd=root)
    go_back(root, base, THREAD, "k")
    git("worktree", "add", "-q", "-b", THREAD, side, _tip(root, "k"), cwd=root)
    assert str(side) in _refused(lambda: undo(root, "k"), "git_conflict").message


def _tip(root: Path, name: str) -> str:
    return git("rev-parse", f"refs/ralf/{name}^", cwd=root)


def test_it_works_in_a_linked_and_sparse_work_tree(tmp_path: Path) -> None:
    main = made(tmp_path / "r", {"in/a": "1", "out/b": "1"})
    root = tmp_path / "side"
    git("worktree", "add", "-q", "-b", "feature", root, cwd=main)
    git("sparse-checkout", "set", "in", cwd=root)
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    write(root, {"in/a": "2", "in/n": "1"})
    commit(root, "agent", author=ADA)
    write(root, {"in/a": "3", "in/u": "1"})
    git("branch", "-f", "elsewhere", "feature", cwd=main)
    git("switch", "-q", "elsewhere", cwd=main)
    write(main, {"out/b": "2", "out/c": "2", "in/c": "2"})
    git("add", "-A", cwd=main)
    git("commit", "-qm", "went on", cwd=main)
    git("update-ref", "refs/heads/feature", "elsewhere", cwd=main)
    before = _all(root)
    go_back(root, base, THREAD, "k")
    assert sorted(picture(root)) == ["in/a", "in/c"]
    assert git("status", "--porcelain", cwd=root) == ""
    undo(root, "k")
    assert _all(root)[:4] == before[:4]
    assert state(main).branch == "elsewhere"


def test_submodules_are_never_moved(tmp_path: Path) -> None:
    library, root = made(tmp_path / "library"), made(tmp_path / "r")
    adding = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library))
    git(*adding, "lib", cwd=root)
    git("commit", "-qm", "lib", cwd=root)
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    git("commit", "-q", "--allow-empty", "-m", "moved", cwd=root / "lib")
    write(root, {"lib/a.txt": "dirty", "new": "1"})
    git(*adding, "second", cwd=root)
    git("commit", "-qm", "second", cwd=root)
    before, inner = _all(root), git("rev-parse", "HEAD", cwd=root / "lib")
    go_back(root, base, THREAD, "k")
    assert git("rev-parse", "HEAD", cwd=root / "lib") == inner
    assert (root / "second" / "a.txt").exists(), "a repository inside stays"
    assert git("status", "--porcelain", cwd=root) == " M lib\n?? second/"
    undo(root, "k")
    assert _all(root) == before


def test_line_endings_and_attributes_of_both_sides_hold(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {".gitattributes": "* text eol=lf\n", "a.txt": "1\n", "b.txt": "1\n"})
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    write(root, {".gitattributes": "* text eol=crlf\n", "a.txt": b"1\r\n2\r\n"})
    commit(root, "agent", author=ADA)
    write(root, {"a.txt": b"mixed\r\nends\n", "b.txt": b"2\n"})
    before = _all(root)
    go_back(root, base, THREAD, "k")
    assert (root / "a.txt").read_bytes() == (root / "b.txt").read_bytes() == b"1\n"
    assert git("status", "--porcelain", cwd=root) == ""
    undo(root, "k")
    assert _all(root) == before


def test_nothing_is_written_through_a_link(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"x": "not ours"})
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    (root / "d" / "x").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to(outside)
    commit(root, "agent", author=ADA)
    before = _all(root)
    go_back(root, base, THREAD, "k")
    assert (root / "d" / "x").read_text() == "1"
    undo(root, "k")
    assert _all(root) == before
    assert (outside / "x").read_text() == "not ours"


@pytest.mark.parametrize("branch", ["main", "feature", "ralf/..", "-x", ""])
def test_only_a_threads_branch_is_ever_removed(root: Path, branch: str) -> None:
    base = _thread(root)
    git("branch", "feature", cwd=root)
    before = _all(root)
    _refused(lambda: go_back(root, base, branch, "k"), "invalid_argument")
    _refused(lambda: go_back(root, StartingPoint(THREAD, base.commit), THREAD, "k"), "invalid_argument")
    _refused(lambda: go_back(root, base, THREAD, "../k"), "invalid_argument")
    assert _all(root) == before


def test_a_false_word_about_what_is_under_way_loses_nothing(root: Path) -> None:
    base = _thread(root)
    kept = keep(root, "k")
    tip = git("rev-parse", THREAD, cwd=root)
    before = _all(root)
    for word in (
        "nonsense",
        "[]",
        f'{{"verb": "go_back", "branch": "{THREAD}", "commit": "{tip}", "ref": "{kept.ref}"}}',
    ):
        write(root, {".git/ralph-move": word})
        gone = go_back(root, base, THREAD, "k")
        assert isinstance(gone, KeptWork)
        undo(root, gone.name)
        assert _all(root) == before


def test_what_was_gone_back_from_can_be_taken_up_by_restore(root: Path) -> None:
    """On a branch at the same commit: what is kept is kept as always."""
    base = _thread(root)
    pictured = picture(root), index_of(root)
    go_back(root, base, THREAD, "k")
    git("switch", "-qc", "ralf/other", _tip(root, "k"), cwd=root)
    restore(root, "k")
    assert (picture(root), index_of(root)) == pictured
