"""Git's configuration is listed once for the same files, and a change of any of them counts at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git.kept import is_ref_name
from interlock.world.git.private import opened
from interlock.world.git.settings import find, settings

from .repositories import git, made

_starts: list[object] = []


@pytest.fixture(scope="module", autouse=True)
def _counted() -> None:
    sys.addaudithook(lambda event, about: _starts.append(about) if event == "subprocess.Popen" else None)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "home").mkdir()
    return made(tmp_path / "repository")


def names(root: Path) -> dict[str, str]:
    return {one.name: one.value for one in settings(root, find(root)[1])}


def test_the_same_files_are_listed_once(root: Path) -> None:
    first = settings(root, find(root)[1])
    before = len(_starts)
    assert settings(root, find(root)[1]) == first
    assert len(_starts) == before


def _local(root: Path) -> None:
    git("config", "x.y", "1", cwd=root)


def _same_size_and_time(root: Path) -> None:
    path = root / ".git" / "config"
    seen = path.stat()
    path.write_text(path.read_text().replace("filemode = true", "filemode = TRUE"))
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _home(root: Path) -> None:
    (root.parent / "home" / ".gitconfig").write_text("[x]\n\ty = 1\n")


def _xdg(root: Path) -> None:
    (root.parent / "home" / ".config" / "git").mkdir(parents=True)
    (root.parent / "home" / ".config" / "git" / "config").write_text("[x]\n\ty = 1\n")


def _included(root: Path) -> None:
    (root / "more").write_text("[x]\n\ty = 1\n")
    git("config", "include.path", str(root / "more"), cwd=root)


@pytest.mark.parametrize("change", [_local, _same_size_and_time, _home, _xdg, _included])
def test_a_change_of_any_file_counts_at_once(root: Path, change: Callable[[Path], None]) -> None:
    before = names(root)
    change(root)
    after = names(root)
    assert after != before
    assert after.get("x.y", "1") == "1"


def test_a_change_of_an_included_file_counts_at_once(root: Path) -> None:
    _included(root)
    assert names(root)["x.y"] == "1"
    (root / "more").write_text("[x]\n\ty = 2\n")
    assert names(root)["x.y"] == "2"


def test_the_settings_of_a_work_tree_are_its_own(root: Path) -> None:
    git("worktree", "add", "-q", root.parent / "beside", cwd=root)
    git("config", "extensions.worktreeConfig", "true", cwd=root)
    names(root.parent / "beside")
    git("config", "--worktree", "x.y", "1", cwd=root.parent / "beside")
    assert names(root.parent / "beside")["x.y"] == "1"
    assert "x.y" not in names(root)


def test_another_file_of_the_user_is_another_configuration(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names(root)
    (root.parent / "other").write_text("[x]\n\ty = 1\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(root.parent / "other"))
    assert names(root)["x.y"] == "1"


def test_a_configuration_that_is_no_plain_file_is_left_to_git(root: Path) -> None:
    (root.parent / "home" / ".gitconfig").mkdir()
    with pytest.raises(InterlockError) as raised:
        names(root)
    assert raised.value.code == "git_failed"


@pytest.mark.parametrize(
    ("ref", "is_one"),
    [
        ("refs/heads/ralf/a-1", True),
        ("refs/heads/ralf/a_b.c", True),
        ("refs/heads/ralf/..", False),
        ("refs/heads/ralf/a b", False),
        ("refs/heads/ralf/a.lock", False),
        ("refs/heads/ralf/", False),
        ("refs/heads/ralf/a\n", False),
    ],
)
def test_a_ref_has_the_names_that_git_accepts(root: Path, ref: str, is_one: bool) -> None:
    with opened(root) as repository:
        assert is_ref_name(repository, ref) is is_one
