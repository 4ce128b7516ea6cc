"""Killed at any point, `commit`, `park` and `restore` lose nothing and can be called again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exhaustive import EXHAUSTIVE
from interlock.errors import InterlockError
from interlock.world.git import commit, find_commit, park, restore, state, tree_hash
from patience import SECONDS
from world.git.repositories import ADA, git, index_of, made, picture, write

TRAILER = "Ralph-Event: 42"
STRIDE = 1 if EXHAUSTIVE else 8
KILLED_AT = """
import os, signal, sys
from pathlib import Path
from interlock.world.git import Identity, commit, park, restore

root, verb, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
EVENTS = {"os.remove", "os.rename", "os.link", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "subprocess.Popen"}
seen = 0

def watch(event, arguments):
    global seen
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if event not in EVENTS and not writes:
        return
    where = str(arguments[0])
    if not where.startswith("/") and os.path.exists(f"/proc/self/fd/{arguments[-1]}"):
        where = os.readlink(f"/proc/self/fd/{arguments[-1]}")
    if event == "subprocess.Popen" and "update-ref" not in arguments[1]:
        return  # the other calls of git add objects, and change nothing that is seen
    if event != "subprocess.Popen" and where.startswith("/") and not where.startswith(str(root)):
        return  # the private git directory
    seen += 1
    if seen == last:
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
if verb == "commit":
    commit(root, "story\\n\\nRalph-Event: 42", author=Identity("Ada", "ada@example.org"))
elif verb == "park":
    park(root, "p")
else:
    restore(root, "p")
"""


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    """A repository with a staged, a changed, a new and a removed file, and a file where a directory was."""
    root = made(tmp_path / "r", {"a": "1", "b": "1", "gone": "1", "d/x": "1", "crlf.txt": "1\n"})
    write(root, {"a": "2", "b": "2", "n/new": "1", "crlf.txt": b"1\r\n2\n"})
    git("add", "a", cwd=root)
    write(root, {"a": "3"})
    (root / "gone").unlink()
    (root / "d" / "x").unlink()
    (root / "d").rmdir()
    write(root, {"d": "file"})
    return root


def _killed(origin: Path, verb: str) -> Iterator[Path]:
    """A copy for each point at which the verb is killed, or each eighth, in turn, until it ends by itself."""
    point, died = 1 if EXHAUSTIVE else 1 + len(verb) % STRIDE, True
    while died:
        root = origin.with_name(f"{verb}-{point}")
        shutil.copytree(origin, root, symlinks=True)
        words = [sys.executable, "-c", KILLED_AT, str(root), verb, str(point)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
        died = done.returncode == -signal.SIGKILL
        assert died or done.returncode == 0, done.stderr
        yield root
        shutil.rmtree(root)
        point += STRIDE
    assert point > 5, "there were points to be killed at"


@pytest.mark.exhaustive
def test_a_commit_that_is_killed_is_made_once(dirty: Path) -> None:
    before, tree = picture(dirty), tree_hash(dirty)
    for root in _killed(dirty, "commit"):
        if find_commit(root, TRAILER) is None:
            assert picture(root) == before
            assert commit(root, f"story\n\n{TRAILER}", author=ADA, sleep=_never)
        assert git("log", "--format=%B", cwd=root).count(TRAILER) == 1
        assert git("rev-parse", "HEAD^{tree}", cwd=root) == tree
        assert state(root).is_clean
        assert picture(root) == before
        assert [path.name for path in (root / ".git").glob("index*")] == ["index"]


@pytest.mark.exhaustive
def test_what_is_parked_when_it_is_killed_is_never_lost(dirty: Path) -> None:
    before, index = picture(dirty), index_of(dirty)
    for root in _killed(dirty, "park"):
        park(root, "p", sleep=_never)
        assert state(root).is_clean
        restore(root, "p", sleep=_never)
        assert (picture(root), index_of(root)) == (before, index)
        assert not (root / ".git" / "ralph-stage").exists()


@pytest.mark.exhaustive
def test_what_is_put_back_when_it_is_killed_is_put_back_by_the_next_call(dirty: Path) -> None:
    before, index = picture(dirty), index_of(dirty)
    park(dirty, "p")
    for root in _killed(dirty, "restore"):
        restore(root, "p", sleep=_never)
        assert (picture(root), index_of(root)) == (before, index)


FAULTY = """#!/bin/sh
count=$(($(cat "$FAULT_COUNT") + 1))
echo $count > "$FAULT_COUNT"
[ $count = "$FAULT_AT" ] && kill -9 $$
exec "$FAULT_REAL" "$@"
"""


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], int]:
    """Makes one call of git die, the n-th from now; gives how many there were before."""
    real = shutil.which("git")
    assert real is not None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(FAULTY)
    (tmp_path / "bin" / "git").chmod(0o755)
    count = tmp_path / "count"
    count.write_text("0")
    monkeypatch.setenv("FAULT_REAL", real)
    monkeypatch.setenv("FAULT_COUNT", str(count))
    path = os.environ["PATH"]

    def arm(at: int) -> int:
        before = int(count.read_text())
        count.write_text("0")
        monkeypatch.setenv("FAULT_AT", str(at))
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{path}" if at else path)
        return before

    return arm


@pytest.mark.exhaustive
@pytest.mark.parametrize("verb", ["commit", "park", "restore"])
def test_a_call_of_git_that_dies_is_said_and_the_verb_can_be_called_again(
    dirty: Path, faulty: Callable[[int], int], verb: str
) -> None:
    before, index, tree = picture(dirty), index_of(dirty), tree_hash(dirty)
    if verb == "restore":
        park(dirty, "p")
    verbs: dict[str, Callable[[Path], object]] = {
        "commit": lambda root: find_commit(root, TRAILER) or commit(root, f"story\n\n{TRAILER}", author=ADA),
        "park": lambda root: park(root, "p"),
        "restore": lambda root: restore(root, "p"),
    }
    at = reached = 0
    while at == reached:
        at += STRIDE
        root = dirty.with_name(f"{verb}-{at}")
        shutil.copytree(dirty, root, symlinks=True)
        faulty(at)
        code = _code_of(lambda root=root: verbs[verb](root))  # type: ignore[misc]
        reached = faulty(0)
        assert code == ("git_failed" if reached == at else None)
        assert not (root / ".git" / "index.lock").exists()
        verbs[verb](root)
        if verb == "commit":
            assert git("log", "--format=%B", cwd=root).count(TRAILER) == 1
            assert git("rev-parse", "HEAD^{tree}", cwd=root) == tree
        elif verb == "park":
            assert state(root).is_clean
            restore(root, "p")
        if verb != "commit":
            assert (picture(root), index_of(root)) == (before, index)
        shutil.rmtree(root)
    assert at > 10


def _code_of(call: Callable[[], object]) -> str | None:
    try:
        call()
    except InterlockError as error:
        return error.code
    return None


def _never(_: float) -> None:
    raise AssertionError("nobody alive holds the lock")
