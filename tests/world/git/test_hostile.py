"""A repository that names a program wherever it can: no verb runs one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world import git as verbs
from interlock.world.git.call import call
from world.git.repositories import ADA, environment, git, made, write
from world.git.traps import arm, trap

Verb = Callable[[Path], object]
VERBS: dict[str, Verb] = {
    "state": verbs.state,
    "tree_hash": verbs.tree_hash,
    "commit": lambda root: verbs.commit(root, "x\n\nevent: 1", author=ADA),
    "commit as the user": lambda root: verbs.commit(root, "x", author=verbs.identity(root)),
    "commit paths": lambda root: verbs.commit(root, "x", author=ADA, paths=["plain", "new"]),
    "find_commit": lambda root: verbs.find_commit(root, "event: 1"),
    "keep": lambda root: verbs.keep(root, "k"),
    "park": lambda root: verbs.park(root, "k"),
    "park and restore": lambda root: (verbs.park(root, "k"), verbs.restore(root, "k")),
    "changed_between": lambda root: verbs.changed_between(root, "HEAD~1", "HEAD"),
    "diff": verbs.diff,
    "diff of commits": lambda root: verbs.diff(root, "HEAD~1", "HEAD"),
    "log": verbs.log,
    "files": verbs.files,
    "merged_at": lambda root: verbs.merged_at(root, git("rev-parse", "HEAD", cwd=root.parent / "clean"), "main"),
    "identity": verbs.identity,
    "user_email": verbs.user_email,
    "baseline": verbs.baseline,
    "begin_branch": lambda root: _begun(root),
    "go_back": lambda root: verbs.go_back(root, _begun(root), THREAD, "k"),
    "go_back and undo": lambda root: (verbs.go_back(root, _begun(root), THREAD, "k"), verbs.undo(root, "k")),
    "squash": lambda root: _squashed(root),
    "squash and undo": lambda root: (_squashed(root), verbs.undo(root, "k")),
    "delete_branch": lambda root: _deleted(root),
    "export_tree": lambda root: verbs.export_tree(root, _clean(root, "HEAD~1^{tree}"), root.parent / "out"),
    "contents": lambda root: verbs.contents(root, "HEAD", ["old.evil"]),
    "fingerprint_of_settings": verbs.fingerprint_of_settings,
    "add_work_tree": lambda root: _added(root),
    "remove_work_tree": lambda root: verbs.remove_work_tree(root, _added(root), "k"),
    "remove_work_tree and undo": lambda root: (
        verbs.remove_work_tree(root, _added(root), "k"),
        verbs.undo(root, "k"),
    ),
}
THREAD = "ralf/01jb"

REFUSED = {
    "tree_hash",
    "commit",
    "commit as the user",
    "park",
    "park and restore",
    "diff",
    "go_back",
    "go_back and undo",
    "squash",
    "squash and undo",
}
"""What needs the content that only the filter can make."""


def _clean(root: Path, revision: str) -> str:
    """A hash, asked of a clone that names no program."""
    return git("rev-parse", revision, cwd=root.parent / "clean")


def _begun(root: Path) -> verbs.StartingPoint:
    """A thread's branch one commit after the base, made by our own verbs alone."""
    base = verbs.baseline(root)
    verbs.begin_branch(root, THREAD, base.commit)
    write(root, {"agent": "1"})
    verbs.commit(root, "agent", author=ADA, paths=["agent"])
    return base


def _squashed(root: Path) -> str:
    base = _begun(root)
    return verbs.squash(root, THREAD, base.commit, verbs.tree_hash(root), "x", "k", author=ADA)


def _deleted(root: Path) -> None:
    base = _begun(root)
    verbs.keep(root, "k")
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    verbs.delete_branch(root, THREAD, "k")
    assert verbs.baseline(root) == base


def _added(root: Path) -> Path:
    """A work tree of a commit whose files need no filter."""
    place = root.parent / "place"
    verbs.add_work_tree(root, place, THREAD, _clean(root, "HEAD~1"))
    write(place, {"plain": "3\n", "new": "1\n"})
    return place


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that is there if any program of the repository ran."""
    return tmp_path / "canary"


@pytest.fixture
def hostile(tmp_path: Path, canary: Path) -> Path:
    """A repository, dirty in every way, with every setting that names a program."""
    library = made(tmp_path / "library")
    root = made(tmp_path / "r", {"plain": "1\n", "old.evil": "1\n", "same.evil": "1\n"})
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib", cwd=root)
    write(root, {".gitattributes": "*.evil filter=evil diff=evil merge=evil\n*.txt diff=evil\n"})
    git("add", "-A", cwd=root)
    git("commit", "-qm", "second", cwd=root)
    git("clone", "-q", root, tmp_path / "clean", cwd=tmp_path)
    program = trap(tmp_path / "program", canary)
    for git_directory in (root / ".git", root / ".git" / "modules" / "lib"):
        arm(git_directory, program, tmp_path)
    write(root, {"plain": "2\n", "new": "1\n", "n.txt": "1\n", "lib/a.txt": "dirty\n"})
    return root


def test_the_trap_is_armed(hostile: Path, canary: Path) -> None:
    words = ["git", "--work-tree", str(hostile), "status"]
    subprocess.run(words, cwd=hostile, env=environment(hostile.parent), capture_output=True, check=False, timeout=60)
    assert canary.exists()


@pytest.mark.parametrize("name", VERBS)
def test_no_verb_runs_anything(hostile: Path, canary: Path, name: str) -> None:
    VERBS[name](hostile)
    assert not canary.exists(), canary.read_text()
    assert not (hostile.parent / "elsewhere").exists()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", VERBS)
def test_a_file_with_a_filter_is_refused_or_left_but_never_filtered(hostile: Path, canary: Path, name: str) -> None:
    write(hostile, {"old.evil": "2\n", "new.evil": "1\n"})
    before = {path: path.read_bytes() for path in hostile.glob("*.evil")}
    refused = None
    try:
        VERBS[name](hostile)
    except InterlockError as error:
        refused = error
    if name in REFUSED:
        assert refused is not None
        assert refused.code == "git_unsafe"
        assert "filter.evil." in refused.message
        assert {path: path.read_bytes() for path in hostile.glob("*.evil")} == before
    else:
        assert refused is None
    assert not canary.exists(), canary.read_text()


WRITERS: dict[str, Callable[[Path, Path], None]] = {
    "export_tree": lambda root, place: verbs.export_tree(root, _clean(root, "HEAD^{tree}"), place),
    "add_work_tree": lambda root, place: verbs.add_work_tree(root, place, THREAD, _clean(root, "HEAD")),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_tree_that_only_a_filter_could_write_is_not_written(hostile: Path, canary: Path, name: str) -> None:
    place = hostile.parent / "place"
    with pytest.raises(InterlockError) as caught:
        WRITERS[name](hostile, place)
    assert caught.value.code == "git_unsafe"
    assert not place.exists()
    assert not (hostile / ".git" / "refs" / "heads" / THREAD).exists()
    assert not canary.exists(), canary.read_text()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", VERBS)
def test_programs_in_the_environment_do_not_run_either(
    hostile: Path, canary: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = str(hostile.parent / "program")
    variables = "ASKPASS EDITOR EXTERNAL_DIFF PAGER PROXY_COMMAND SEQUENCE_EDITOR SSH SSH_COMMAND EXEC_PATH".split()
    for variable in variables:
        monkeypatch.setenv(f"GIT_{variable}", program)
    for variable, value in {
        "DIR": "/nowhere",
        "INDEX_FILE": "/nowhere",
        "WORK_TREE": "/",
        "TRACE": str(canary),
    }.items():
        monkeypatch.setenv(f"GIT_{variable}", value)
    for variable in ("EDITOR", "VISUAL", "PAGER", "SSH_ASKPASS"):
        monkeypatch.setenv(variable, program)
    VERBS[name](hostile)
    assert not canary.exists(), canary.read_text()


def test_a_file_that_never_ends_ends_in_time(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InterlockError) as caught:
        call(("hash-object", "fifo"), tmp_path, {}, seconds=0.5)
    assert caught.value.code == "git_failed"
    assert "git hash-object did not finish: it took longer than 0.5 s" in caught.value.message


def test_a_git_file_that_leads_nowhere_is_said(tmp_path: Path) -> None:
    for content in ("gitdir: /nowhere/at/all\n", "gitdir: \n", "nonsense", "\0" * 10):
        (tmp_path / ".git").write_text(content)
        with pytest.raises(InterlockError) as caught:
            verbs.state(tmp_path)
        assert caught.value.code in ("no_repository", "git_failed")
