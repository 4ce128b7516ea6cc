"""The user's index is changed under its lock, and whose lock it is can be told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import commit, park, state
from interlock.world.git.locks import locked
from interlock.world.git.private import opened
from interlock.world.processes import mark
from patience import SECONDS
from world.git.repositories import ADA, git, made, write
from world.namespaces import UNSHARE, needs_namespaces


def test_a_lock_of_another_is_waited_for(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    lock = root / ".git" / "index.lock"
    lock.touch()
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            lock.unlink()

    write(root, {"a": "2"})
    assert commit(root, "waited", author=ADA, sleep=sleep)
    assert len(waits) == 3


def test_a_lock_that_stays_is_told_with_its_holder(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    (root / ".git" / "index.lock").touch()
    waits: list[float] = []
    write(root, {"a": "2"})
    with pytest.raises(InterlockError) as caught:
        park(root, "p", sleep=waits.append)
    assert caught.value.code == "git_failed"
    assert "no process that can be seen" in caught.value.message
    assert 1 < len(waits) < 100
    process = subprocess.Popen(["git", "cat-file", "--batch"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"HEAD\n")
    process.stdin.flush()
    process.stdout.readline()  # it runs
    with pytest.raises(InterlockError) as caught:
        commit(root, "no", author=ADA, sleep=waits.append)
    process.communicate(timeout=SECONDS)
    assert f"git (pid {process.pid})" in caught.value.message or not Path("/proc").exists()
    assert (root / ".git" / "index.lock").exists()
    assert not list((root / ".git").glob("index.ralph-*"))


def test_our_own_lock_is_told_with_its_pid(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    with opened(root) as repository, locked(repository, lambda _: None):
        with pytest.raises(InterlockError) as caught:
            commit(root, "no", author=ADA, sleep=lambda _: None)
        assert f"ralph (pid {os.getpid()})" in caught.value.message
        assert (root / ".git" / "index.lock").exists()
    assert not (root / ".git" / "index.lock").exists()


def _left_by_the_dead(root: Path, commit: str = "", place: str | None = None) -> None:
    """What a process that is gone leaves: its mark and the lock, both one file."""
    process = subprocess.Popen(["true"])
    process.wait(timeout=SECONDS)
    here = mark().split("-", 2)[2] if place is None else place
    left = root / ".git" / f"index.ralph-{process.pid}-12345-{here}{'-' if here else ''}token{commit}"
    left.write_bytes((root / ".git" / "index").read_bytes())
    (root / ".git" / "index.lock").hardlink_to(left)


@pytest.mark.parametrize("place", ["", "0123456789abcdef-0123-4026532999"], ids=["older version", "another container"])
def test_a_lock_whose_holder_cannot_be_seen_is_told_and_stays(tmp_path: Path, place: str) -> None:
    root = made(tmp_path / "r")
    _left_by_the_dead(root, place=place)
    write(root, {"a": "2"})
    with pytest.raises(InterlockError) as caught:
        commit(root, "no", author=ADA, sleep=lambda _: None)
    assert caught.value.code == "git_failed"
    assert "cannot be seen from here" in caught.value.message
    assert "remove it" in caught.value.hint
    assert len(list((root / ".git").glob("index.ralph-*"))) == 1
    assert (root / ".git" / "index.lock").exists()


@needs_namespaces
def test_a_lock_that_is_held_in_another_pid_namespace_is_not_ended(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    program = """
import sys
from pathlib import Path
from interlock.world.git.locks import locked
from interlock.world.git.private import opened
with opened(Path(sys.argv[1])) as repository, locked(repository, lambda _: None):
    print("held", flush=True)
    sys.stdin.read()
"""
    words = [*UNSHARE, sys.executable, "-c", program, str(root)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        write(root, {"a": "2"})
        with pytest.raises(InterlockError) as caught:
            commit(root, "no", author=ADA, sleep=lambda _: None)
        assert caught.value.code == "git_failed"
        holder.communicate(timeout=SECONDS)
    assert commit(root, "now", author=ADA, sleep=lambda _: None)


@pytest.mark.parametrize("suffix", ["", "-" + "0" * 40])
def test_a_lock_of_ours_whose_holder_is_dead_is_dropped(tmp_path: Path, suffix: str) -> None:
    root = made(tmp_path / "r")
    _left_by_the_dead(root, suffix)
    write(root, {"a": "2"})
    assert commit(root, "on", author=ADA, sleep=lambda _: None)
    assert [path.name for path in (root / ".git").glob("index*")] == ["index"]
    assert state(root).is_clean


def test_an_index_whose_commit_is_on_the_branch_takes_effect(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "1"})
    write(root, {"a": "2"})
    old = (root / ".git" / "index").read_bytes()
    git("commit", "-qam", "two", cwd=root)
    _left_by_the_dead(root, "-" + git("rev-parse", "HEAD", cwd=root))
    (root / ".git" / "index").write_bytes(old)
    assert state(root).staged == ("a",)
    assert commit(root, "nothing", author=ADA, sleep=lambda _: None) is None
    assert state(root).is_clean


def test_two_at_once_never_lose_a_commit(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    program = """
import sys
from pathlib import Path
from interlock.world.git import Identity, commit
root, who = Path(sys.argv[1]), sys.argv[2]
for number in range(5):
    (root / f"{who}{number}").write_text(who)
    assert commit(root, f"{who} {number}", author=Identity(who, "x@y"), paths=[f"{who}{number}"])
"""
    words = [sys.executable, "-c", program, str(root)]
    processes = [subprocess.Popen([*words, who], stderr=subprocess.PIPE, text=True) for who in ("a", "b")]
    for process in processes:
        assert process.communicate(timeout=SECONDS)[1] == ""
    assert len(git("log", "--format=%H", cwd=root).split()) == 11
    assert state(root).is_clean
