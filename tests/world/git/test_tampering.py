"""A change of what git would run shows; a change of anything else does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.world.git import commit, fingerprint_of_settings, keep
from world.git.repositories import ADA, git, made, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    library, root = made(tmp_path / "library"), made(tmp_path / "r")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib", cwd=root)
    git("commit", "-qm", "lib", cwd=root)
    write(root, {".git/included": "[core]\n\tpager = cat\n", ".git/hooks/pre-commit": "#!/bin/sh\n"})
    git("config", "include.path", "included", cwd=root)
    return root


CHANGES = {
    "config": "[core]\n\tfsmonitor = evil\n",
    "included": "[core]\n\tpager = evil\n",
    "config.worktree": "[core]\n\tfsmonitor = evil\n",
    "hooks/pre-commit": "#!/bin/sh\nevil\n",
    "hooks/post-commit": "#!/bin/sh\nevil\n",
    "info/attributes": "* filter=evil\n",
    "modules/lib/config": "[core]\n\tfsmonitor = evil\n",
    "modules/lib/hooks/post-checkout": "evil\n",
    "modules/lib/info/attributes": "* filter=evil\n",
}


@pytest.mark.parametrize("path", CHANGES)
def test_what_git_would_run_shows(root: Path, path: str) -> None:
    before = fingerprint_of_settings(root)
    place = root / ".git" / path
    old = place.read_bytes() if place.exists() else None
    place.parent.mkdir(exist_ok=True)
    with place.open("ab") as file:
        file.write(CHANGES[path].encode())
    assert fingerprint_of_settings(root) != before
    if old is None:
        place.unlink()
    else:
        place.write_bytes(old)
    assert fingerprint_of_settings(root) == before


def test_permissions_and_links_of_hooks_show(root: Path) -> None:
    before = fingerprint_of_settings(root)
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.chmod(0o755)
    executable = fingerprint_of_settings(root)
    hook.unlink()
    hook.symlink_to("/nowhere")
    link = fingerprint_of_settings(root)
    hook.unlink()
    os.mkfifo(hook)
    assert len({before, executable, link, fingerprint_of_settings(root)}) == 4


def test_everyday_work_does_not_show(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint_of_settings(root)
    write(root, {"a.txt": "2\n", ".gitattributes": "* text\n"})
    keep(root, "k")
    commit(root, "work", author=ADA)
    git("branch", "other", cwd=root)
    git("gc", "-q", cwd=root)
    write(tmp_path, {"users": "[core]\n\tpager = less\n"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "users"))
    assert fingerprint_of_settings(root) == before
    assert fingerprint_of_settings(root / "d") == before
