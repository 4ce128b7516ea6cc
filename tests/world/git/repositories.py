"""Real repositories, made with nobody's settings."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from interlock.world.git import Identity
from patience import SECONDS

ADA = Identity("Ada", "ada@example.org")


def environment(home: Path) -> dict[str, str]:
    identity = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", **identity}


def git(*words: str | Path, cwd: Path, feed: bytes = b"") -> str:
    """Run git as nobody in particular; what it says is returned with every byte of it."""
    done = subprocess.run(
        ["git", *words],
        cwd=cwd,
        env=environment(cwd.parent),
        input=feed,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return os.fsdecode(done.stdout).rstrip("\n")


def made(root: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """A repository with one commit of those files, on `main`."""
    root.mkdir(parents=True, exist_ok=True)
    git("init", "-q", "-b", "main", cwd=root)
    write(root, files if files is not None else {"a.txt": "one\n", "d/b.txt": "two\n"})
    git("add", "-A", cwd=root)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=root)
    return root


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def picture(root: Path) -> dict[str, tuple[str, bytes, int]]:
    """Every file of a work tree: kind, content, permissions; `.git` left out."""
    found = {}
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".git" and not (Path(directory) / name).is_symlink()]
        for name in {*files, *os.listdir(directory)} - {".git"}:  # noqa: PTH208
            path = Path(directory) / name
            seen = path.lstat()
            if stat.S_ISLNK(seen.st_mode):
                found[str(path.relative_to(root))] = ("link", os.fsencode(path.readlink()), 0)
            elif stat.S_ISREG(seen.st_mode):
                found[str(path.relative_to(root))] = ("file", path.read_bytes(), stat.S_IMODE(seen.st_mode))
    return dict(sorted(found.items()))


def index_of(root: Path) -> str:
    """Every entry of the index, with its flags."""
    tagged = git("ls-files", "-z", "-v", "--stage", cwd=root)
    return tagged + git("diff-files", "-z", "--name-only", "--diff-filter=A", cwd=root)
