"""The token that GitHub knows us by. It goes into one header of a request, and into no message, repr or log."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from interlock.errors import TrackerError

__all__ = ["HOST", "find_token"]

HOST = "github.com"
_NAMES = ("RALPH_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
_SECONDS = 15
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")
"""What an agent's configuration hands on for a variable that is not set."""
_TOKEN = re.compile(r"[!-~]{1,1000}")
_HINT = (
    "Run `gh auth login` and `gh auth refresh -s project`, or set GH_TOKEN to a token with the scopes repo and project."
)


def find_token(environment: Mapping[str, str], host: str = HOST) -> str:
    """The token from the environment, or else the one that `gh` keeps for the host."""
    for name in _NAMES:
        value = environment.get(name, "").strip()
        if value and not _PLACEHOLDER.fullmatch(value):
            return _checked(value, name)
    value = _kept_by_gh(environment, host)
    if not value:
        raise TrackerError("tracker_unauthorized", f"There is no token for {host}.", _HINT)
    return _checked(value, "`gh auth token`")


def _checked(value: str, source: str) -> str:
    """The token, if it can be one: what no header may hold would come back in the complaint about the header."""
    if not _TOKEN.fullmatch(value):
        raise TrackerError("tracker_unauthorized", f"What {source} gives is no token.", _HINT)
    return value


def _kept_by_gh(environment: Mapping[str, str], host: str) -> str:
    try:
        done = subprocess.run(
            ("gh", "auth", "token", "--hostname", host),
            env={**environment, "GH_PROMPT_DISABLED": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
