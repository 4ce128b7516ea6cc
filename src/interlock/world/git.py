"""Git, asked so that nothing of the repository runs: no hooks, no file watcher, no user's configuration.

Only questions that never look into a file are asked here; comparing contents would run the filters that a hostile
repository names.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from interlock.errors import InterlockError

__all__ = ["files", "merged_at", "user_email"]

_SECONDS = 30
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never")
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}


def files(work_tree: Path) -> list[str]:
    """Every file of a work tree that is not ignored, relative to it, tracked or not."""
    listed = _git(work_tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return list(dict.fromkeys(os.fsdecode(name) for name in listed.split(b"\0") if name))


def user_email(directory: Path) -> str | None:
    """The e-mail address that git would put into a commit here; None where there is none."""
    try:
        command = ("git", *_SAFE, "config", "--get", "user.email")
        done = subprocess.run(command, cwd=directory, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None


def merged_at(directory: Path, commit: str, branch: str) -> float | None:
    """When a commit was made that a branch has, here or at the origin as last fetched; None where neither has it."""
    if re.fullmatch(r"[0-9a-f]{7,64}", commit) is None:
        return None
    for reference in (f"refs/heads/{branch}", f"refs/remotes/origin/{branch}"):
        try:
            _git(directory, "merge-base", "--is-ancestor", commit, reference)
            return float(_git(directory, "show", "--no-patch", "--format=%ct", commit, "--"))
        except (InterlockError, ValueError):
            continue  # there is no such commit or branch, or the one is not in the other
    return None


def _git(work_tree: Path, *arguments: str) -> bytes:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ("git", *_SAFE, *arguments)
    try:
        done = subprocess.run(
            command, cwd=work_tree, env=kept | _ENVIRONMENT, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InterlockError("git_failed", f"git {arguments[0]} did not finish: {error}.", "Try again.") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[:300]
        raise InterlockError("git_failed", f"git {arguments[0]} failed in {work_tree}: {said}.", "Look at it with git.")
    return done.stdout
