"""The user's own state directory.

It holds facts that a repository must not be able to bring along, such as which journals this user trusts.
Plain text paths and few imports: the hook reads it before every tool call.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["user_state_directory"]


def user_state_directory(environment: Mapping[str, str]) -> str:
    """Return `$XDG_STATE_HOME/interlock`, by default `~/.local/state/interlock`; it may not exist yet.

    As the XDG specification asks, a relative path in the variable is ignored.
    """
    base = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        home = environment.get("HOME") or os.path.expanduser("~")
        base = os.path.join(home, ".local", "state")
    return os.path.join(base, "interlock")
