"""The verbs of threads as scenarios, and a process that dies in the middle of one.

    python -m world.git.dying SCENARIO ROOT POINT

dies at the given step that changes something which others see; at point 0 it lives, and says how many steps there are.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from interlock.errors import InterlockError
from interlock.world.git import (
    StartingPoint,
    TreeTaking,
    add_work_tree,
    adopt_commits,
    baseline,
    begin_branch,
    commit,
    commit_approved,
    export_tree,
    find_commit,
    forward_branch,
    go_back,
    keep_commits,
    keep_tree,
    log,
    make_own_tree,
    merge_trees,
    put_tree,
    remove_own_tree,
    remove_work_tree,
    show_commit,
    squash,
    state,
    tree_hash,
    undo,
)
from interlock.world.repository import exclude_state, own_tree
from world.git.repositories import ADA, git, index_of, made, picture, write

THREAD, NEW = "ralf/01jb", "ralf/new"
CHANGES = {"os.remove", "os.rename", "os.link", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "os.symlink"}
TELLING = {"update-ref", "symbolic-ref"}
"""The calls of git that change what others see; the others add objects, or work on copies."""


class Scenario(msgspec.Struct, frozen=True):
    """What is there before, the call that may die, and what must hold when it was called again."""

    call: Callable[[Path], object]
    holds: Callable[[Path], None]
    before: Callable[[Path], object] = lambda _: None
    moves_main: bool = False


def origin(root: Path) -> Path:
    """A thread's branch with an agent's commit and every kind of change on it; the base branch has moved on."""
    made(root, {"a": "1", "b": "1", "gone": "1", "d/x": "1", "crlf.txt": "1\n", ".gitignore": "*.log\n"})
    begin_branch(root, THREAD, baseline(root).commit)
    write(root, {"a": "2", "agent/made": "1", "forced.log": "1"})
    git("add", "-f", "forced.log", cwd=root)
    commit(root, "agent", author=ADA)
    git("switch", "-q", "main", cwd=root)
    write(root, {"b": "theirs", "theirs": "1"})
    commit(root, "went on", author=ADA)
    git("switch", "-q", THREAD, cwd=root)
    write(root, {"a": "3", "n/new": "1", "crlf.txt": b"1\r\n2\n", "x.log": "ignored"})
    write(root, {".gitignore": "*.log\nbuild/\n", "build/out": "ignored by a rule that is not committed"})
    git("add", "a", cwd=root)
    write(root, {"a": "4"})
    (root / "gone").unlink()
    (root / "agent" / "made").chmod(0o600)
    (root / "d" / "x").unlink()
    (root / "d").rmdir()
    write(root, {"d": "a file now"})
    return root


def whole(root: Path) -> tuple[object, ...]:
    """All that must come back."""
    heads = git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", cwd=root)
    return picture(root), index_of(root), git("status", "--porcelain", cwd=root), state(root).branch, heads


def first_commit(root: Path) -> str:
    return git("rev-list", "--max-parents=0", "main", cwd=root)


def _base(root: Path) -> StartingPoint:
    return StartingPoint("main", first_commit(root))


def _tree_of(root: Path) -> Path:
    """A place for a work tree beside the repository."""
    return root.with_name(f"{root.name}-tree")


def _seen(root: Path) -> Path:
    return root.with_name(f"{root.name}-seen")


def _look(root: Path, at: Path | None = None) -> None:
    _seen(root).write_text(repr(whole(at or root)), encoding="utf-8", errors="surrogateescape")


def _is_as_seen(root: Path, at: Path | None = None) -> None:
    assert repr(whole(at or root)) == _seen(root).read_text(encoding="utf-8", errors="surrogateescape")


def _nothing_is_left(root: Path) -> None:
    assert {path.name for path in (root / ".git").glob("*ralph*")} == set()
    assert {path.name for path in (root / ".git").glob("*.lock")} == set()
    git("fsck", cwd=root)


def _begin(root: Path) -> None:
    begin_branch(root, NEW, git("rev-parse", "HEAD", cwd=root), sleep=never)


def _has_begun(root: Path) -> None:
    assert state(root).branch == NEW
    git("switch", "-q", THREAD, cwd=root)
    git("branch", "-d", NEW, cwd=root)
    _is_as_seen(root)


def _back(root: Path) -> None:
    go_back(root, _base(root), THREAD, "k", sleep=never)


def _is_back(root: Path) -> None:
    assert state(root).branch == "main"
    assert git("status", "--porcelain", cwd=root) == "?? build/"
    assert git("branch", "--format=%(refname:short)", cwd=root) == "main"
    assert (root / "x.log").read_text() == "ignored"
    _nothing_is_left(root)
    kept = go_back(root, _base(root), THREAD, "k", sleep=never)
    assert kept is not None
    assert kept.name == "k"
    undo(root, "k", sleep=never)
    _is_as_seen(root)


def _squash(root: Path) -> None:
    squash(root, THREAD, first_commit(root), tree_hash(root), "one", "k", author=ADA, sleep=never)


def _is_squashed(root: Path) -> None:
    assert [one.message for one in log(root)] == ["one", "first"]
    assert git("status", "--porcelain", cwd=root) == ""
    assert git("for-each-ref", "--format=%(refname)", "refs/ralf", cwd=root) == "refs/ralf/k"
    _nothing_is_left(root)
    undo(root, "k", sleep=never)
    _is_as_seen(root)


def _add(root: Path) -> None:
    add_work_tree(root, _tree_of(root), NEW, git("rev-parse", "main", cwd=root), sleep=never)


def _is_added(root: Path) -> None:
    listed = git("worktree", "list", "--porcelain", cwd=root)
    assert f"worktree {_tree_of(root)}\n" in listed
    assert "locked" not in listed
    assert listed.count("worktree ") == 2
    assert git("status", "--porcelain", cwd=_tree_of(root)) == ""
    assert sorted(picture(_tree_of(root))) == [".gitignore", "a", "b", "crlf.txt", "d/x", "gone", "theirs"]
    _nothing_is_left(root)


def _work_there(root: Path) -> None:
    _add(root)
    write(_tree_of(root), {"a": "2", "n/new": "1", "b": "2", "x.log": "ignored"})
    git("add", "b", cwd=_tree_of(root))
    (_tree_of(root) / "gone").unlink()
    _look(root, _tree_of(root))


def _remove(root: Path) -> None:
    remove_work_tree(root, _tree_of(root), "k", sleep=never)


def _is_removed(root: Path) -> None:
    removed = remove_work_tree(root, _tree_of(root), "k", sleep=never)
    assert removed.left == ("x.log",)
    assert removed.kept is not None
    assert removed.kept.name == "k"
    assert git("worktree", "list", cwd=root).count("\n") == 0
    _nothing_is_left(root)
    undo(root, "k", sleep=never)
    _is_as_seen(root, _tree_of(root))


def _work_there_and_remove(root: Path) -> None:
    _work_there(root)
    _remove(root)


def _export(root: Path) -> None:
    export_tree(root, git("rev-parse", "main^{tree}", cwd=root), root.with_name(f"{root.name}-out"))


def _is_exported(root: Path) -> None:
    out = root.with_name(f"{root.name}-out")
    assert sorted(picture(out)) == [".gitignore", "a", "b", "crlf.txt", "d/x", "gone", "theirs"]
    assert [one.name for one in root.parent.glob("*partial*")] == []
    _is_as_seen(root)


def _own(root: Path) -> Path:
    """The files of an agent's tree in the repository."""
    return own_tree(root / ".ralf", "01jb")


def _objects(root: Path) -> Path:
    return root.with_name(f"{root.name}-objects") / "01jb"


def _make_own(root: Path) -> None:
    make_own_tree(root, _own(root), NEW, git("rev-parse", "main", cwd=root), _objects(root))


def _nothing_of_a_tree_is_left(root: Path, *trees: str) -> None:
    _nothing_is_left(root)
    assert sorted(one.name for one in (root / ".ralf" / "trees").iterdir()) == list(trees)
    assert sorted(one.name for one in _objects(root).parent.iterdir()) == list(trees)
    refs = git("for-each-ref", "--format=%(refname)", "refs/ralf/trees", cwd=root).split()
    assert [one for one in refs if not one.endswith("/taken")] == [f"refs/ralf/trees/{name}/base" for name in trees]
    assert {one.split("/")[3] for one in refs} == {*trees}


def _is_made(root: Path) -> None:
    _nothing_of_a_tree_is_left(root, "01jb")
    assert sorted(picture(_own(root))) == [".gitignore", "a", "b", "crlf.txt", "d/x", "gone", "theirs"]
    assert git("rev-parse", NEW, "main^0", cwd=root).split() == [git("rev-parse", "HEAD", cwd=_own(root))] * 2
    assert git("status", "--porcelain", cwd=_own(root)) == ""
    assert TreeTaking().take(_own(root)).tree == git("rev-parse", "main^{tree}", cwd=root)
    git("fsck", cwd=_own(root))


def _work_in_own(root: Path) -> None:
    _make_own(root)
    write(_own(root), {"a": "2", "n/new": "1", "b": "2", "x.log": "ignored", "odd\n": "1"})
    (_own(root) / "gone").unlink()
    (_own(root) / "d" / "x").unlink()
    (_own(root) / "d").rmdir()
    write(_own(root), {"d": "a file now"})
    _seen(root).write_text(TreeTaking().take(_own(root)).tree)


def _remove_own(root: Path) -> None:
    remove_own_tree(root, _own(root), "k", _objects(root))


def _is_own_removed(root: Path) -> None:
    _nothing_of_a_tree_is_left(root)
    kept = remove_own_tree(root, _own(root), "k", _objects(root))
    assert kept is not None
    assert kept.name == "k"
    assert git("for-each-ref", "--format=%(refname)", "refs/ralf", cwd=root) == "refs/ralf/k"
    undo(root, "k", sleep=never)
    _is_own_back(root)


def _is_own_back(root: Path) -> None:
    _nothing_of_a_tree_is_left(root, "01jb")
    assert TreeTaking().take(_own(root)).tree == _seen(root).read_text()


def _work_in_own_and_remove(root: Path) -> None:
    _work_in_own(root)
    _remove_own(root)


def _work_in_own_and_look(root: Path) -> None:
    """An agent's work, and a checkout that nobody has changed."""
    exclude_state(root)
    _work_in_own(root)
    shutil.rmtree(root / "build")  # which the agent's rules do not ignore
    git("add", "-A", cwd=root)
    git("commit", "-qm", "all", cwd=root)
    base = tree_hash(root)
    root.with_name(f"{root.name}-expected").write_text(base)


def _put(root: Path) -> None:
    put_tree(root, _seen(root).read_text(), root.with_name(f"{root.name}-expected").read_text())


def _is_put(root: Path) -> None:
    assert tree_hash(root) == _seen(root).read_text()
    assert git("diff", "--cached", "--name-only", cwd=root) == ""
    assert (root / "x.log").read_text() == "ignored"
    _nothing_is_left(root)


def _approve(root: Path) -> None:
    base = git("rev-parse", "main", cwd=root)
    commit_approved(root, NEW, base, _seen(root).read_text(), "one\n", "k", author=ADA)


def _take(root: Path) -> None:
    """What a thread does after each iteration, and before the next one."""
    tree = TreeTaking().take(_own(root)).tree
    keep_tree(root, "k/iteration", tree)
    keep_commits(_own(root), "k/commits")


def _commit_in_own(root: Path) -> None:
    _work_in_own(root)
    git("add", "-A", cwd=_own(root))
    git("commit", "-qm", "agent's", cwd=_own(root))


def _is_taken(root: Path) -> None:
    tree = _seen(root).read_text()
    assert git("rev-parse", "refs/ralf/k/iteration^{tree}", cwd=root) == tree
    assert git("rev-parse", "refs/ralf/trees/01jb/taken^{tree}", cwd=root) == tree
    assert git("log", "--format=%s", "refs/ralf/k/commits", cwd=root).splitlines()[:1] == ["agent's"]
    assert TreeTaking().take(_own(root)).tree == tree
    _nothing_of_a_tree_is_left_but(root, "refs/ralf/k/commits", "refs/ralf/k/iteration")


def _nothing_of_a_tree_is_left_but(root: Path, *kept: str) -> None:
    _nothing_of_a_tree_is_left(root, "01jb")
    assert sorted(one.name for one in (_own(root).parent).iterdir()) == ["files", "git"]
    ours = {one.name for one in (_own(root).parent / "git").iterdir()}
    assert ours <= {"HEAD", "commondir", "index", "info", "logs", "objects", "unusual", "ralph-clock"}, ours
    refs = git("for-each-ref", "--format=%(refname)", "refs/ralf", cwd=root).split()
    assert [one for one in refs if not one.startswith("refs/ralf/trees/")] == list(kept)
    git("fsck", "--strict", cwd=root)


def _merge(root: Path) -> None:
    """What a checkout has since is brought into the agent's files."""
    taken, mine = TreeTaking().take(_own(root)).tree, tree_hash(root)
    merged = merge_trees(root, root.with_name(f"{root.name}-expected").read_text(), taken, mine)
    put_tree(_own(root), merged, taken)


def _work_in_both(root: Path) -> None:
    _work_in_own_and_look(root)
    write(root, {"a": "mine", "mine/deep": "1"})
    (root / "theirs").unlink(missing_ok=True)
    taken, mine = TreeTaking().take(_own(root)).tree, tree_hash(root)
    merged = merge_trees(root, root.with_name(f"{root.name}-expected").read_text(), taken, mine)
    assert merged not in (taken, mine)
    _seen(root).write_text(merged)


def _is_merged(root: Path) -> None:
    assert TreeTaking().take(_own(root)).tree == _seen(root).read_text()
    assert (_own(root) / "a").read_text() == "mine"
    assert (_own(root) / "x.log").read_text() == "ignored"
    _nothing_of_a_tree_is_left_but(root)


def _show(root: Path) -> None:
    show_commit(_own(root), git("rev-parse", NEW, cwd=root))


def _approved_in_own(root: Path) -> None:
    _work_in_own(root)
    _approve(root)


def _is_shown(root: Path) -> None:
    files, commit = _own(root), git("rev-parse", NEW, cwd=root)
    assert git("rev-parse", "HEAD", cwd=files) == commit
    assert git("status", "--porcelain", cwd=files) == ""
    assert TreeTaking().take(files).tree == _seen(root).read_text()
    assert git("rev-parse", "refs/ralf/trees/01jb/base", cwd=root) == commit
    _nothing_of_a_tree_is_left_but(root)
    git("fsck", cwd=files)


def _commits_and_work_in_own(root: Path) -> None:
    _work_in_own(root)
    tree = git("rev-parse", "main^{tree}", cwd=root)
    git("update-ref", f"refs/heads/{NEW}", git("commit-tree", "-p", "main", "-m", "agent", tree, cwd=root), cwd=root)


def _is_approved(root: Path) -> None:
    tree, base = git("rev-parse", f"{NEW}^{{tree}}", f"{NEW}^", cwd=root).split()
    assert (tree, base) == (_seen(root).read_text(), git("rev-parse", "main", cwd=root))
    assert git("log", "-1", "--format=%s", "refs/ralf/k", cwd=root) == "agent"
    refs = git("for-each-ref", "--format=%(refname)", "refs/ralf", cwd=root).split()
    assert refs == ["refs/ralf/k", "refs/ralf/trees/01jb/base", "refs/ralf/trees/01jb/taken"]
    _nothing_is_left(root)


def _clean_and_work_in_own(root: Path) -> None:
    """An agent's work on `main`, which is checked out as it was committed."""
    git("stash", "-qu", cwd=root)
    git("switch", "-q", "main", cwd=root)
    git("branch", "-qD", THREAD, cwd=root)
    git("stash", "drop", "-q", cwd=root)
    shutil.rmtree(root / "build", ignore_errors=True)
    exclude_state(root)
    _work_in_own(root)


def _commit_own(root: Path) -> None:
    """What a driver does: the commit of an earlier call is found by its trailer."""
    made = find_commit(_own(root), "Ralph-Event: 1")
    if made is None:
        commit(_own(root), "one\n\nRalph-Event: 1", author=ADA, branch=NEW, sleep=never)
    else:
        show_commit(_own(root), made)
    why = forward_branch(root, "main", NEW, sleep=never)
    if why is not None:
        raise InterlockError("git_failed", why, "Try again.")


def _is_committed(root: Path) -> None:
    names = ("main", NEW, "refs/ralf/trees/01jb/base")
    assert len(set(git("rev-parse", *names, cwd=root).split())) == 1
    assert git("rev-parse", "HEAD", cwd=_own(root)) == git("rev-parse", "main", cwd=root)
    assert git("rev-parse", "main^{tree}", cwd=root) == _seen(root).read_text()
    assert git("log", "--format=%s", "main", "--not", "main~1", cwd=root) == "one"
    for place in (root, _own(root)):
        assert git("status", "--porcelain", cwd=place) == ""
    _nothing_of_a_tree_is_left(root, "01jb")
    git("fsck", cwd=_own(root))


def _clean_and_both_work(root: Path) -> None:
    _clean_and_work_in_own(root)
    write(root, {"theirs": "2", "new of theirs": "1"})
    git("add", "-A", cwd=root)
    git("commit", "-qm", "theirs", cwd=root)


def _adopt(root: Path) -> None:
    adopt_commits(_own(root), "main")


def _is_adopted(root: Path) -> None:
    names = (NEW, "main", "refs/ralf/trees/01jb/base")
    assert len(set(git("rev-parse", *names, cwd=root).split())) == 1
    assert git("rev-parse", "HEAD", cwd=_own(root)) == git("rev-parse", "main", cwd=root)
    changed = git("diff-tree", "-r", "--name-only", "main", TreeTaking().take(_own(root)).tree, cwd=root).splitlines()
    before = git("diff-tree", "-r", "--name-only", "main~1", _seen(root).read_text(), cwd=root).splitlines()
    assert changed == before
    _nothing_of_a_tree_is_left(root, "01jb")


def _undo(root: Path) -> None:
    undo(root, "k", sleep=never)


def _look_and_go_back(root: Path) -> None:
    _look(root)
    _back(root)


def _look_and_squash(root: Path) -> None:
    _look(root)
    _squash(root)


def _is_as_seen_there(root: Path) -> None:
    _is_as_seen(root, _tree_of(root))


def never(_: float) -> None:
    raise AssertionError("nobody alive holds the lock")


SCENARIOS = {
    "begin_branch": Scenario(_begin, _has_begun, _look),
    "go_back": Scenario(_back, _is_back, _look),
    "undo": Scenario(_undo, _is_as_seen, _look_and_go_back),
    "squash": Scenario(_squash, _is_squashed, _look),
    "undo of squash": Scenario(_undo, _is_as_seen, _look_and_squash),
    "add_work_tree": Scenario(_add, _is_added),
    "remove_work_tree": Scenario(_remove, _is_removed, _work_there),
    "undo of remove_work_tree": Scenario(_undo, _is_as_seen_there, _work_there_and_remove),
    "export_tree": Scenario(_export, _is_exported, _look),
    "make_own_tree": Scenario(_make_own, _is_made),
    "remove_own_tree": Scenario(_remove_own, _is_own_removed, _work_in_own),
    "undo of remove_own_tree": Scenario(_undo, _is_own_back, _work_in_own_and_remove),
    "put_tree": Scenario(_put, _is_put, _work_in_own_and_look),
    "commit and forward_branch": Scenario(_commit_own, _is_committed, _clean_and_work_in_own, moves_main=True),
    "adopt_commits": Scenario(_adopt, _is_adopted, _clean_and_both_work),
    "take": Scenario(_take, _is_taken, _commit_in_own),
    "merge into an agent's tree": Scenario(_merge, _is_merged, _work_in_both),
    "show_commit": Scenario(_show, _is_shown, _approved_in_own),
    "commit_approved": Scenario(_approve, _is_approved, _commits_and_work_in_own),
}


def main(name: str, root: Path, last: int) -> None:
    """Do what the scenario does, and die at the given step."""
    steps = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal steps
        if event == "subprocess.Popen":
            counts = bool(TELLING & {str(word) for word in arguments[1]})  # type: ignore[attr-defined]
        elif event == "open":
            flags = arguments[2]
            counts = isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR)) and _is_ours(arguments)
        else:
            counts = event in CHANGES and _is_ours(arguments)
        if counts:
            steps += 1
            if steps == last:
                os.kill(os.getpid(), signal.SIGKILL)

    def _is_ours(arguments: tuple[object, ...]) -> bool:
        where = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes | os.PathLike) else ""
        if not where.startswith("/") and os.path.lexists(f"/proc/self/fd/{arguments[-1]}"):
            where = os.readlink(f"/proc/self/fd/{arguments[-1]}")  # noqa: PTH115
        return not where.startswith("/") or where.startswith(str(root))  # else it is the private git directory

    sys.addaudithook(watch)
    SCENARIOS[name].call(root)
    sys.stdout.write(f"{steps}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
