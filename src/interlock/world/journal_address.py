"""The address of a journal that is on a server, for the programs that an agent starts for its session.

The address is not in an agent's environment. Its driver keeps it in a file of the user's own state directory, by the
session's id, for as long as the agent runs; `ralph mcp`, `ralph-hook` and `ralph` read it there. Plain text paths and
few imports: the hook reads it before every tool call.
"""

from __future__ import annotations

import os

from interlock.world.user_state import user_state_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BY_SESSION",
    "DATABASE_URL",
    "MARK",
    "SOCKET",
    "is_withheld",
    "keep_address",
    "kept_address",
    "remove_address",
]

DATABASE_URL = "RALPH_DATABASE_URL"
MARK = "RALPH_JOURNAL"
"""The name in the environment that says where the journal is, without opening it."""
BY_SESSION = "session"
"""The journal is on a server, and the session's file has its address."""
SOCKET = "RALPH_SOCKET"
"""The name of the variable with the path of a run's socket. It is set only in a sandbox, where there is no journal."""
_SESSION = "RALPH_SESSION_ID"
_DIRECTORY = "sessions"


def is_withheld(environment: Mapping[str, str]) -> bool:
    """True if the journal is on a server whose address is not in this environment."""
    return not environment.get(DATABASE_URL) and environment.get(MARK) == BY_SESSION


def kept_address(environment: Mapping[str, str]) -> str:
    """Return the address of the journal of this environment's session; empty where its driver has ended."""
    path = _file(environment, environment.get(_SESSION, ""))
    if path is None:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def keep_address(environment: Mapping[str, str], session: str, url: str) -> None:
    """Keep the journal's address for the programs of a session; only this user reads it."""
    path = _file(environment, session)
    if path is None:
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{url}\n")


def remove_address(environment: Mapping[str, str], session: str) -> None:
    """Take the address of a session away again."""
    path = _file(environment, session)
    if path is not None and os.path.lexists(path):
        os.unlink(path)


def _file(environment: Mapping[str, str], session: str) -> str | None:
    """The file of a session; None for an invalid id."""
    if not session.isascii() or not session.isalnum():
        return None
    return os.path.join(user_state_directory(environment), _DIRECTORY, session)
