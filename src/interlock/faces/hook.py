"""`ralph-hook EVENT`: what a coding agent's hook runner calls before and after its tools.

It imports next to nothing, because it runs before every tool call. The calling agent's session is named by
RALPH_SESSION_ID; a process that belongs to no session of ours is none of our business, and everything passes.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_USAGE = 64


def main() -> None:
    """Let the call pass: exit 0. Exit 2, which blocks it, is for sessions whose state forbids the call."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: ralph-hook EVENT < the hook's JSON\n")
        raise SystemExit(_USAGE)
    while sys.stdin is not None and sys.stdin.buffer.read(65536):
        pass
