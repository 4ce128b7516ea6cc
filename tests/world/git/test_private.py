"""The private git directories of processes: gone when their process is, however that ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.work.verification.places import sweep
from interlock.world.git import opened, sweep_private, tree_hash
from patience import SECONDS
from world.git.repositories import made

DIES = """
import os, signal, sys
from pathlib import Path
from interlock.world.git import opened
with opened(Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return made(tmp_path / "r")


def _left(root: Path) -> list[str]:
    return sorted(one.name for one in (root.parent / "tmp").iterdir())


def _killed(root: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(root.parent / "tmp")}
    done = subprocess.run([sys.executable, "-c", DIES, str(root)], env=environment, timeout=SECONDS, check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_private_directory_is_gone_afterwards(root: Path) -> None:
    with opened(root):
        assert len(_left(root)) == 1
    assert _left(root) == []


def test_what_a_killed_process_left_is_swept_and_nothing_of_one_that_lives(root: Path) -> None:
    beside = root.parent / "tmp" / "ralph-git-file"
    beside.write_text("no directory")
    (root.parent / "tmp" / "ralph-git-link").symlink_to(root)
    _killed(root)
    _killed(root)
    with opened(root) as repository:
        assert len(_left(root)) == 5
        sweep_private()
        assert {*_left(root)} == {"ralph-git-file", "ralph-git-link", repository.private.name}
        assert tree_hash(repository) == tree_hash(root)
    assert (root / "a.txt").exists()


def test_each_verification_sweeps(root: Path) -> None:
    _killed(root)
    sweep()
    assert _left(root) == []
