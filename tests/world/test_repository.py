"""Where the repository is, in every shape that git makes, and that finding it runs nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.repository import STATE_DIRECTORY, find_root, state_directory


def _git(*words: str | Path, cwd: Path) -> None:
    """Run git as nobody in particular, with nobody's settings."""
    identity = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1", **identity}
    done = subprocess.run(["git", *words], cwd=cwd, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory in no repository, by its real path."""
    return tmp_path.resolve()


@pytest.fixture
def repository(place: Path) -> Path:
    """A repository with one commit."""
    directory = place / "repository"
    _git("init", "-q", directory, cwd=place)
    _git("commit", "-q", "--allow-empty", "-m", "first", cwd=directory)
    return directory


def _refused(start: Path) -> InterlockError:
    with pytest.raises(InterlockError) as caught:
        find_root(start)
    assert caught.value.code == "no_repository"
    assert caught.value.hint
    return caught.value


def test_a_repository_is_found_from_its_root(repository: Path) -> None:
    assert find_root(repository) == (repository, repository / ".git")
    assert state_directory(repository) == repository / STATE_DIRECTORY
    assert STATE_DIRECTORY == ".ralf"


def test_a_repository_is_found_from_below(repository: Path) -> None:
    deep = repository / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert find_root(deep)[0] == repository
    assert state_directory(deep) == repository / ".ralf"


def test_a_repository_is_found_from_a_path_that_is_not_absolute(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "a").mkdir()
    monkeypatch.chdir(repository / "a")
    assert find_root(Path()) == (repository, repository / ".git")


def test_a_repository_inside_another_is_its_own(repository: Path) -> None:
    inner = repository / "inner"
    _git("init", "-q", inner, cwd=repository)
    assert state_directory(inner) == inner / ".ralf"


def test_from_inside_the_git_directory_the_state_directory_is_the_same(repository: Path) -> None:
    assert state_directory(repository / ".git") == repository / ".ralf"
    assert state_directory(repository / ".git" / "refs") == repository / ".ralf"


def test_a_linked_work_tree_shares_the_main_trees_directory(repository: Path, place: Path) -> None:
    linked = place / "linked"
    _git("worktree", "add", "-q", linked, cwd=repository)
    (linked / "deep").mkdir()
    assert find_root(linked) == (repository, repository / ".git")
    assert state_directory(linked / "deep") == state_directory(repository)


def test_a_linked_work_tree_with_relative_paths_is_found_too(repository: Path, place: Path) -> None:
    linked = place / "linked"
    _git("worktree", "add", "-q", linked, cwd=repository)
    (linked / ".git").write_text("gitdir: ../repository/.git/worktrees/linked\n", encoding="utf-8")
    assert state_directory(linked) == repository / ".ralf"


def test_a_bare_repository_keeps_it_in_itself(place: Path) -> None:
    bare = place / "bare.git"
    _git("init", "-q", "--bare", bare, cwd=place)
    assert find_root(bare) == (None, bare)
    assert state_directory(bare / "refs" / "heads") == bare / ".ralf"


def test_a_work_tree_of_a_bare_repository_keeps_it_in_the_repository(repository: Path, place: Path) -> None:
    bare, linked = place / "bare.git", place / "linked"
    _git("clone", "-q", "--bare", repository, bare, cwd=place)
    _git("worktree", "add", "-q", linked, cwd=bare)
    assert find_root(linked) == (None, bare)
    assert state_directory(linked) == state_directory(bare) == bare / ".ralf"


def test_a_submodule_keeps_it_in_its_git_directory(repository: Path, place: Path) -> None:
    outer = place / "outer"
    _git("init", "-q", outer, cwd=place)
    _git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repository, "inner", cwd=outer)
    assert find_root(outer / "inner") == (None, outer / ".git" / "modules" / "inner")
    assert state_directory(outer / "inner") == outer / ".git" / "modules" / "inner" / ".ralf"
    assert state_directory(outer) == outer / ".ralf"


def test_a_git_directory_that_lies_elsewhere_is_found(place: Path) -> None:
    _git("init", "-q", "--separate-git-dir", place / "elsewhere", place / "tree", cwd=place)
    assert find_root(place / "tree") == (None, place / "elsewhere")


# No repository


def test_where_there_is_none_it_says_where_it_looked(place: Path) -> None:
    error = _refused(place)
    assert str(place) in error.message
    assert "git init" in error.hint


def test_an_empty_git_directory_is_none(place: Path) -> None:
    (place / ".git").mkdir()
    _refused(place)


def test_an_empty_git_directory_inside_a_repository_is_passed_by(repository: Path) -> None:
    (repository / "a" / ".git").mkdir(parents=True)
    assert find_root(repository / "a")[0] == repository


POINTERS = {
    "nothing": b"",
    "no pointer": b"hello\n",
    "nowhere": b"gitdir: /nowhere/at/all\n",
    "a file": b"gitdir: file\n",
    "a directory that is no git directory": b"gitdir: directory\n",
    "itself": b"gitdir: .git\n",
    "no text": b"gitdir: \xff\xfe\n",
    "a NUL": b"gitdir: a\x00b\n",
    "a circle": b"gitdir: circle/x\n",
    "a very long name": b"gitdir: " + b"x" * 3000,
    "a very long file": b"gitdir: " + b"x/" * 50_000,
}


@pytest.mark.parametrize("content", POINTERS.values(), ids=POINTERS)
def test_a_pointer_that_leads_nowhere_is_named(content: bytes, place: Path) -> None:
    (place / "file").write_text("", encoding="utf-8")
    (place / "directory").mkdir()
    (place / "circle").symlink_to("circle")
    (place / ".git").write_bytes(content)
    error = _refused(place)
    assert str(place / ".git") in error.message
    assert "git worktree repair" in error.hint


def test_a_pointer_that_is_a_pipe_is_not_waited_for(place: Path) -> None:
    os.mkfifo(place / ".git")
    _refused(place)


@pytest.mark.parametrize("content", [b"", b"/nowhere", b"a\x00b", b"../../../nowhere", b"/"], ids=ascii)
def test_a_common_directory_that_is_none_is_no_repository(content: bytes, repository: Path, place: Path) -> None:
    linked = place / "linked"
    _git("worktree", "add", "-q", linked, cwd=repository)
    (repository / ".git" / "worktrees" / "linked" / "commondir").write_bytes(content)
    _refused(linked)


# Nothing runs


def test_finding_it_runs_nothing_that_a_hostile_repository_names(repository: Path, place: Path) -> None:
    canary = place / "canary"
    script = place / "script"
    script.write_text(f"#!/bin/sh\necho ran >> {canary}\n", encoding="utf-8")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.hooksPath", "diff.external"):
        _git("config", key, str(script), cwd=repository)
    _git("config", "alias.rev-parse", f"!{script}", cwd=repository)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "fsmonitor-watchman", "pre-auto-gc"):
        (hooks / hook).write_bytes(script.read_bytes())
        (hooks / hook).chmod(0o755)
    environment = {**os.environ, "HOME": str(place), "TMPDIR": str(place)}
    done = subprocess.run(
        ["git", "status"], cwd=repository, env=environment, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert canary.exists(), "the trap does not even catch git"
    canary.unlink()
    assert state_directory(repository) == repository / ".ralf"
    assert not canary.exists()
