"""The repository of a project to measure on: begun with one commit, and without the user's settings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

__all__ = ["AUTHORIZED", "TOKEN", "begun", "environment"]

TOKEN = "the-token-of-every-server-that-is-measured"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
"""The header of a request to such a server."""


def environment() -> dict[str, str]:
    """What programs there are given."""
    return {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "RALPH_SERVE_TOKEN": TOKEN}


def begun(root: Path) -> None:
    """A repository of what is in a directory, all of it in one commit but for our own state."""
    (root / ".ralf").mkdir(exist_ok=True)
    (root / ".gitignore").write_text(".ralf/\n")
    for words in (
        ("init", "-q"),
        ("config", "user.name", "Ann"),
        ("config", "user.email", "ann@example.org"),
        ("add", "-A"),
        ("commit", "-qm", "start"),
    ):
        subprocess.run(["git", *words], cwd=root, env=environment(), check=True)
